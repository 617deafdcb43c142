// Messages between the devices of an InProcessWorld: in order, under random delays, and an end
// with both ends' places whatever goes wrong.
#include "dialects/dist/Schedules/Schedules.h"
#include "test/runtime/support/Mail.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <random>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;
using runtime::test::Mail;
using runtime::test::withMail;
using runtime::test::withPlaces;

namespace {

Status onDevices(InProcessWorld &world, const std::function<Status(Mail)> &body) {
  return runtime::test::onDevices(world, {0, world.devices()}, withMail(body));
}

} // namespace

TEST_CASE("messages: each of two devices sends to the other before it receives") {
  InProcessWorld world(2, withPlaces());
  Status status = onDevices(world, [](Mail mail) {
    int64_t other = 1 - mail.device();
    for (uint32_t i = 0; i < 100; ++i) {
      MINIGPTC_RETURN_IF_ERROR(mail.send(2 * i + uint32_t(mail.device()), other, i));
      StatusOr<int64_t> got = mail.receive(2 * i + uint32_t(other), other);
      MINIGPTC_RETURN_IF_ERROR(got.status());
      if (*got != int64_t(i))
        return Status(StatusCode::internal, "another value");
    }
    return Status();
  });
  INFO(status.message());
  CHECK(status.ok());
}

TEST_CASE("messages: a sender may end before its message is received, and then who sends nothing "
          "is named") {
  InProcessWorld world(2, withPlaces());
  Status status = onDevices(world, [](Mail mail) {
    if (mail.device() == 0)
      return mail.send(3, 1, 7);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    StatusOr<int64_t> got = mail.receive(3, 0);
    return got ? mail.receive(4, 0).status() : got.status();
  });
  CHECK(status.message() == "device 0 has ended and does not send message 4 (i64[]) from device 0 "
                            "to device 1, which device 1 expects at model.cpp:104");
}

TEST_CASE("messages: one that is left out, or exchanged with another, is told with both ends") {
  InProcessWorld world(2, withPlaces());
  Status leftOut = onDevices(world, [](Mail mail) {
    if (mail.device() == 1)
      return mail.receive(1, 0).status();
    return mail.send(2, 1, 7);
  });
  CHECK(leftOut.message() == "device 1 expects message 1 (i64[]) from device 0 to device 1 at "
                             "model.cpp:101, but device 0 has sent message 2 (i64[]) from device 0 "
                             "to device 1 at model.cpp:2");
  // Sent before the other ends, and after.
  for (int64_t late : {1, 0}) {
    Status unread = onDevices(world, [&](Mail mail) {
      if (mail.device() == late)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return mail.device() == 0 ? mail.send(5, 1, 7) : Status();
    });
    CHECK(unread.message() == "device 1 has ended and does not receive message 5 (i64[]) from "
                              "device 0 to device 1, sent at model.cpp:5");
  }
  Status full = onDevices(world, [](Mail mail) {
    if (mail.device() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return Status();
    }
    Status first = mail.send(5, 1, 7);
    return first ? mail.send(6, 1, 7) : first;
  });
  CHECK_THAT(full.message(), Contains("device 1 has ended and does not receive message"));
}

TEST_CASE("messages: devices that wait for each other are told, though another still works") {
  InProcessWorld world(3, withPlaces());
  std::atomic<bool> told = false;
  Status status = onDevices(world, [&](Mail mail) {
    while (mail.device() == 2 && !told)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (mail.device() == 2)
      return Status();
    int64_t other = 1 - mail.device();
    Status own;
    for (uint32_t i = 0; own && i < 3; ++i) // There is room for one.
      own = mail.send(10 * uint32_t(mail.device()) + i, other, 0);
    told = true;
    return own;
  });
  CHECK_THAT(status.message(), Contains("devices wait for each other: device 0 in the sending of "
                                        "message 1 (i64[]) from device 0 to device 1 at "
                                        "model.cpp:1; device 1 in the sending of message 11"));
}

TEST_CASE("messages: a device that waits for a message is missed by a collective") {
  InProcessWorld world(2, withPlaces());
  CollectiveProblem sum{
      CollectiveKind::allReduce, ReduceKind::sum, {{1}, {2}}, {{DType::f32, 1, 1, 1}}, {}};
  Status status = onDevices(world, [&](Mail mail) {
    if (mail.device() == 0)
      return mail.receive(1, 1).status();
    float value = 0;
    void *data = &value;
    return mail.end.run(mail.queue, sum, {&data, 1}, {&data, 1}, {&sum, 9});
  });
  CHECK_THAT(status.message(), Contains("device 0 in the receiving of message 1") &&
                                   Contains("device 1 in all_reduce"));
  // The world can be used again.
  CHECK(onDevices(world, [&](Mail mail) {
          return mail.device() ? mail.receive(1, 0).status() : mail.send(1, 1, 1);
        }).ok());
}

TEST_CASE("messages: schedules, whatever the delays: 1,000 runs without a deadlock") {
  std::mt19937 random(5);
  int runs = 0;
  for (int round = 0; runs < 1000; ++round)
    for (dist::ScheduleKind kind :
         {dist::ScheduleKind::gpipe, dist::ScheduleKind::oneForwardOneBackward,
          dist::ScheduleKind::interleaved}) {
      dist::Pipeline pipeline{int64_t(1 + random() % 6), int64_t(2 + random() % 3), 1};
      if (kind == dist::ScheduleKind::interleaved) {
        pipeline.chunks = 2;
        pipeline.microBatches = pipeline.stages * int64_t(1 + random() % 2);
      }
      auto actions = dist::actionsOf(dist::makeSchedule(kind, pipeline));
      auto numberOf = [&](const dist::Message &message) {
        return uint32_t((message.boundary * pipeline.microBatches + message.microBatch) * 2 +
                        message.backward);
      };
      InProcessWorld world(pipeline.stages, withPlaces(round % 2 ? 5 : 0));
      uint32_t seed = uint32_t(random());
      Status status = onDevices(world, [&](Mail mail) {
        std::mt19937 delays(seed + uint32_t(mail.device()));
        for (const dist::StageAction &action : actions[size_t(mail.device())]) {
          if (delays() % 8 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(delays() % 60));
          uint32_t number = numberOf(action.message);
          if (action.kind == dist::ActionKind::send)
            MINIGPTC_RETURN_IF_ERROR(mail.send(number, action.peer, number));
          if (action.kind != dist::ActionKind::receive)
            continue;
          StatusOr<int64_t> got = mail.receive(number, action.peer);
          MINIGPTC_RETURN_IF_ERROR(got.status());
          if (*got != int64_t(number))
            return Status(StatusCode::internal, "another message's value");
        }
        return Status();
      });
      INFO(nameOf(kind) << ", " << pipeline.stages << " stages, " << pipeline.microBatches
                        << " micro-batches, seed " << seed << ": " << status.message());
      REQUIRE(status.ok());
      ++runs;
    }
}
