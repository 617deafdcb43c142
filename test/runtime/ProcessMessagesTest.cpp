// Messages between devices of several processes, and beside them those within one: in order, with
// room for one, and an end with both ends' places whatever goes wrong.
#include "runtime/collectives/ProcessWorld.h"
#include "test/runtime/support/InProcesses.h"
#include "test/runtime/support/Mail.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using test::Group;
using test::inProcesses;
using test::Mail;

namespace {

/// A run of that many devices, shared by two processes, each of which sends to any other; what the
/// processes end with.
std::vector<Status> shared(int64_t devices, const std::function<Status(Mail)> &body, int runs = 1) {
  std::vector<std::pair<int64_t, int64_t>> ways;
  for (int64_t from = 0; from < devices; ++from)
    for (int64_t to = 0; to < devices; ++to)
      if (from != to)
        ways.emplace_back(from, to);
  return inProcesses(2, [&](Group &group) -> Status {
    DeviceRange here = *group->devicesOf(group->rank(), devices);
    ProcessWorld world(*group, here, devices, test::withPlaces(), ways);
    for (int run = 0; run < runs; ++run)
      MINIGPTC_RETURN_IF_ERROR(test::onDevices(world, here, test::withMail(body)));
    return {};
  });
}

} // namespace

TEST_CASE("messages between processes: every device to every other, run after run") {
  test::checkAllWell(shared(
      4,
      [](Mail mail) -> Status {
        for (uint32_t i = 0; i < 20; ++i)
          for (int64_t shift = 1; shift < 4; ++shift) {
            int64_t to = (mail.device() + shift) % 4, from = (mail.device() + 4 - shift) % 4;
            MINIGPTC_RETURN_IF_ERROR(mail.send(i, to, mail.device() * 100 + i));
            MINIGPTC_RETURN_IF_ERROR(mail.expect(i, from, from * 100 + i));
          }
        return {};
      },
      /*runs=*/3));
}

TEST_CASE("messages between processes: of any size") {
  for (uint64_t bytes : {uint64_t(0), uint64_t(3), uint64_t(3) << 20})
    test::checkAllWell(shared(2, [&](Mail mail) -> Status {
      MessageProblem message{1, 0, 1, bytes, "i8"};
      std::vector<uint8_t> sent(bytes), got(bytes + 1, 7);
      std::iota(sent.begin(), sent.end(), uint8_t(1));
      if (mail.device() == 0)
        return mail.end.send(mail.queue, message, sent.data(), 1);
      MINIGPTC_RETURN_IF_ERROR(mail.end.receive(mail.queue, message, got.data(), 2));
      sent.push_back(7); // Nothing is written behind.
      return got == sent ? Status() : Status(StatusCode::internal, "other bytes");
    }));
}

TEST_CASE("messages between processes: there is room for one") {
  std::atomic<int> sent = 0;
  test::checkAllWell(shared(2, [&](Mail mail) -> Status {
    for (uint32_t i = 0; mail.device() == 0 && i < 3; ++i, ++sent)
      MINIGPTC_RETURN_IF_ERROR(mail.send(i, 1, i));
    for (uint32_t i = 0; mail.device() == 1 && i < 3; ++i) {
      std::this_thread::sleep_for(30ms);
      if (sent > int(i) + 1)
        return Status(StatusCode::internal, "sent " + std::to_string(sent) + " of which " +
                                                std::to_string(i) + " have been received");
      MINIGPTC_RETURN_IF_ERROR(mail.expect(i, 0, i));
    }
    return {};
  }));
}

TEST_CASE("messages between processes: what is left out, exchanged or not received is told") {
  auto checkBoth = [](const std::function<Status(Mail)> &body, const std::string &what) {
    for (const Status &status : shared(2, body))
      CHECK_THAT(status.message(), EndsWith(what));
  };
  checkBoth([](Mail mail) { return mail.device() == 0 ? Status() : mail.receive(4, 0).status(); },
            "device 0 has ended and does not send message 4 (i64[]) from device 0 to device 1, "
            "which device 1 expects at model.cpp:104");
  checkBoth(
      [](Mail mail) {
        return mail.device() == 0 ? mail.send(2, 1, 7) : mail.receive(1, 0).status();
      },
      "device 1 expects message 1 (i64[]) from device 0 to device 1 at model.cpp:101, but device 0 "
      "has sent message 2 (i64[]) from device 0 to device 1 at model.cpp:2");
  for (uint32_t more : {0, 1}) // Who sends has ended, or waits to send another one.
    checkBoth(
        [&](Mail mail) {
          Status status;
          for (uint32_t i = 0; mail.device() == 0 && status && i <= more; ++i)
            status = mail.send(5 + i, 1, 7);
          return status;
        },
        "device 1 has ended and does not receive message 5 (i64[]) from device 0 to device 1, sent "
        "at model.cpp:5");
  // Both at once: neither waits for the other.
  for (const Status &status :
       shared(2, [](Mail mail) { return mail.send(6, 1 - mail.device(), 7); }))
    CHECK_THAT(status.message(), Contains("has ended and does not receive message 6 (i64[])"));
}

TEST_CASE("messages between processes: a device that fails ends those who wait for it") {
  auto statuses = shared(4, [](Mail mail) {
    return mail.device() == 0 ? Status(StatusCode::internal, "no memory")
                              : mail.receive(1, mail.device() - 1).status();
  });
  CHECK(statuses[0].message() == "no memory");
  CHECK_THAT(statuses[1].message(), EndsWith("has failed: no memory"));
}
