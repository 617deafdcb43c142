//===- Mail.h - messages of eight bytes between devices ---------*- C++ -*-===//
//
// Message n is sent in line n of model.cpp, and received in line 100 + n.
//
//   onDevices(world, {0, 2}, withMail([](Mail mail) {
//     return mail.device() == 0 ? mail.send(5, 1, 42) : mail.receive(5, 0).status();
//   }));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_RUNTIME_SUPPORT_MAIL_H
#define MINIGPTC_TEST_RUNTIME_SUPPORT_MAIL_H

#include "runtime/collectives/InProcess.h"
#include "test/runtime/support/OnDevices.h"

namespace minigptc::runtime::test {

/// A device's end, with a queue.
struct Mail {
  Communicator &end;
  Queue &queue;

  int64_t device() const { return end.device(); }
  static MessageProblem problem(uint32_t number, int64_t from, int64_t to) {
    return {number, from, to, 8, "i64[]"};
  }
  Status send(uint32_t number, int64_t to, int64_t value) {
    return end.send(queue, problem(number, device(), to), &value, number);
  }
  StatusOr<int64_t> receive(uint32_t number, int64_t from) {
    int64_t value = -1;
    Status status = end.receive(queue, problem(number, from, device()), &value, 100 + number);
    return status ? StatusOr<int64_t>(value) : status;
  }
  /// Fails if it is another value.
  Status expect(uint32_t number, int64_t from, int64_t value) {
    StatusOr<int64_t> got = receive(number, from);
    if (!got || *got == value)
      return got.status();
    return Status(StatusCode::internal, "another value");
  }
};

inline std::function<Status(Communicator &, Queue &)> withMail(std::function<Status(Mail)> body) {
  return [body = std::move(body)](Communicator &end, Queue &queue) { return body({end, queue}); };
}

inline InProcessOptions withPlaces(int spin = 0) {
  return {spin, [](uint32_t line) { return "model.cpp:" + std::to_string(line); }};
}

} // namespace minigptc::runtime::test

#endif // MINIGPTC_TEST_RUNTIME_SUPPORT_MAIL_H
