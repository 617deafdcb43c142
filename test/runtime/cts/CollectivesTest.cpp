// What every communicator must do: kinds x types x sizes x groups, under random delays, and
// an end with a reason whatever goes wrong.
#include "runtime/collectives/InProcess.h"
#include "test/runtime/support/CollectiveCases.h"
#include "test/runtime/support/OnDevices.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <random>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using test::bytesOf;
using test::problemsOf;

namespace {

/// A device's end with a queue to submit to.
struct QueuedEnd {
  Communicator &end;
  Queue &queue;
  int64_t device() const { return end.device(); }
  Status run(const CollectiveProblem &problem, std::span<void *const> inputs,
             std::span<void *const> outputs, const CollectiveSite &site) {
    return end.run(queue, problem, inputs, outputs, site);
  }
};

using DeviceBody = std::function<Status(QueuedEnd &)>;

Status onDevices(InProcessWorld &world, const DeviceBody &body) {
  return test::onDevices(world, {0, world.devices()}, [&](Communicator &end, Queue &queue) {
    QueuedEnd queued{end, queue};
    return body(queued);
  });
}

/// One device's operands of a problem, and the call. All-reduces of odd operands are in place.
struct Call {
  std::vector<std::vector<std::byte>> inputs, outputs;
  std::vector<void *> inputPointers, outputPointers;

  Call(const CollectiveProblem &p, int64_t rank) {
    for (size_t i = 0; i < p.operands.size(); ++i) {
      inputs.push_back(test::inputOf(p, i, rank));
      outputs.emplace_back(p.outputBytes(i), std::byte(0xee));
    }
    for (size_t i = 0; i < p.operands.size(); ++i) {
      bool inPlace = p.kind == CollectiveKind::allReduce && i % 2 == 1;
      inputPointers.push_back(inputs[i].data());
      outputPointers.push_back(inPlace ? inputs[i].data() : outputs[i].data());
    }
  }
  bool isRight(const CollectiveProblem &p, int64_t rank) const {
    for (size_t i = 0; i < p.operands.size(); ++i) {
      std::vector<std::byte> wanted = test::outputOf(p, i, rank);
      if (!wanted.empty() && std::memcmp(outputPointers[i], wanted.data(), wanted.size()) != 0)
        return false;
    }
    return true;
  }
};

struct Shape2 {
  int64_t devices;
  std::vector<DeviceGroup> groups;
};

std::vector<Shape2> shapes() {
  return {{1, {{{}, {}}, {{1}, {1}}}},
          {3, {{{1}, {3}}}},
          {6, {{{2, 1}, {3, 2}}, {{1, 2}, {2, 3}}, {{1}, {2}}, {{2}, {3}}}},
          {8, {{{1}, {4}}, {{4}, {2}}, {{2}, {2}}}}};
}

} // namespace

TEST_CASE("cts: groups of a mesh") {
  DeviceGroup rows{{2}, {4}};
  CHECK(rows.size() == 4);
  CHECK(rows.rankOf(5) == 2);
  CHECK(rows.memberOf(5, 0) == 1);
  CHECK(rows.memberOf(5, 3) == 7);
  DeviceGroup swapped{{1, 2}, {2, 3}}; // the minor axis of a (3, 2) mesh counts more
  CHECK(swapped.rankOf(4) == 2);
  CHECK(swapped.memberOf(0, 2) == 4);
  CHECK(swapped.memberOf(4, 5) == 5);
}

/// Runs cases of a mesh, one after the other, with delays before some calls.
static void checkProblems(InProcessWorld &world, const std::vector<CollectiveProblem> &problems) {
  std::vector<int64_t> wrong(size_t(world.devices()), -1);
  Status status = onDevices(world, [&](QueuedEnd &end) {
    std::minstd_rand random(unsigned(end.device() + 1));
    for (size_t k = 0; k < problems.size(); ++k) {
      const CollectiveProblem &p = problems[k];
      int64_t rank = p.group.rankOf(end.device());
      Call call(p, rank);
      if (random() % 8 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      MINIGPTC_RETURN_IF_ERROR(end.run(p, call.inputPointers, call.outputPointers, {&p}));
      if (!call.isRight(p, rank) && wrong[size_t(end.device())] < 0)
        wrong[size_t(end.device())] = int64_t(k);
    }
    return Status();
  });
  INFO(status.message());
  REQUIRE(status.ok());
  for (int64_t d = 0; d < world.devices(); ++d) {
    INFO("device " << d << " of " << world.devices());
    if (int64_t k = wrong[size_t(d)]; k >= 0)
      FAIL(problems[size_t(k)].describe());
  }
}

TEST_CASE("cts: collectives of all kinds, types, sizes and groups") {
  for (const Shape2 &shape : shapes()) {
    InProcessWorld world(shape.devices, {});
    for (const DeviceGroup &group : shape.groups)
      checkProblems(world, problemsOf(group, {0, 1, 7, 1500}));
  }
}

TEST_CASE("cts: large collectives of all kinds and types") {
  InProcessWorld world(4, {});
  checkProblems(world, problemsOf({{2}, {2}}, {12'289}));
}

TEST_CASE("cts: narrow elements are combined in f32 and rounded once") {
  InProcessWorld world(3, {});
  for (auto [dtype, large] : {std::pair(DType::bf16, 256.0), std::pair(DType::f16, 2048.0)}) {
    CollectiveProblem p{
        CollectiveKind::allReduce, ReduceKind::sum, {{1}, {3}}, {{dtype, 1, 1, 1, false}}, {}};
    std::vector<std::vector<std::byte>> values; // large + 1 is large, if it is rounded
    for (double value : {large, 1.0, 1.0})
      values.push_back(bytesOf(dtype, {value}));
    Status status = onDevices(world, [&](QueuedEnd &end) {
      std::vector<void *> buffer{values[size_t(end.device())].data()};
      return end.run(p, buffer, buffer, {&p});
    });
    REQUIRE(status.ok());
    for (const auto &value : values)
      CHECK(value == bytesOf(dtype, {large + 2}));
  }
}

TEST_CASE("cts: a large all-reduce gives all devices the bits of a sum in order") {
  constexpr int64_t devices = 5, count = 100'003;
  InProcessWorld world(devices, {});
  CollectiveProblem p{CollectiveKind::allReduce,
                      ReduceKind::sum,
                      {{1}, {devices}},
                      {{DType::f32, 1, 1, count, false}},
                      {}};
  std::vector<std::vector<float>> values(devices, std::vector<float>(count));
  std::mt19937 random(1);
  for (auto &list : values)
    for (float &x : list)
      x = float(random()) * 1e-3f - 1e6f;
  std::vector<float> sum = values[0];
  for (int64_t d = 1; d < devices; ++d)
    for (int64_t i = 0; i < count; ++i)
      sum[size_t(i)] += values[size_t(d)][size_t(i)];
  Status status = onDevices(world, [&](QueuedEnd &end) {
    std::vector<void *> buffer{values[size_t(end.device())].data()};
    return end.run(p, buffer, buffer, {&p});
  });
  REQUIRE(status.ok());
  for (const auto &list : values)
    CHECK(list == sum);
}

TEST_CASE("cts: groups at the same time") {
  InProcessWorld world(8, {.spinMicroseconds = 20});
  CollectiveProblem rows{
      CollectiveKind::allReduce, ReduceKind::sum, {{1}, {4}}, {{DType::i64, 1, 1, 3, false}}, {}};
  CollectiveProblem columns = rows;
  columns.group = {{4}, {2}};
  std::vector<int64_t> results(8);
  Status status = onDevices(world, [&](QueuedEnd &end) {
    std::vector<int64_t> data(3, int64_t(1) << end.device());
    std::vector<void *> buffer{data.data()};
    for (int round = 0; round < 50; ++round) {
      data.assign(3, int64_t(1) << end.device());
      MINIGPTC_RETURN_IF_ERROR(end.run(rows, buffer, buffer, {&rows}));
      MINIGPTC_RETURN_IF_ERROR(end.run(columns, buffer, buffer, {&columns}));
      if (data != std::vector<int64_t>(3, 255))
        return Status(StatusCode::internal, "wrong in round " + std::to_string(round));
    }
    return Status();
  });
  INFO(status.message());
  CHECK(status.ok());
}

namespace {

CollectiveProblem sumOf(int64_t count, DeviceGroup group) {
  return {CollectiveKind::allReduce,
          ReduceKind::sum,
          std::move(group),
          {{DType::f32, 1, 1, count, false}},
          {}};
}

InProcessOptions withPlaces() {
  return {.placeOf = [](uint32_t line) { return "model.cpp:" + std::to_string(line); }};
}

Status reduceOnce(QueuedEnd &end, const CollectiveProblem &p, uint32_t line,
                  const void *instruction) {
  std::vector<float> data(size_t(p.operands[0].block), 1);
  std::vector<void *> buffer{data.data()};
  return end.run(p, buffer, buffer, {instruction, line});
}

} // namespace

TEST_CASE("cts: a device that fails ends all others, with its reason") {
  InProcessWorld world(4, withPlaces());
  CollectiveProblem p = sumOf(8, {{1}, {4}});
  std::atomic<int> ended = 0;
  Status status = onDevices(world, [&](QueuedEnd &end) {
    MINIGPTC_RETURN_IF_ERROR(reduceOnce(end, p, 1, &p));
    if (end.device() == 2)
      return Status(StatusCode::resourceExhausted, "no memory on device 2");
    Status own = reduceOnce(end, p, 2, &p);
    ended += !own.ok();
    return own;
  });
  CHECK(status.code() == StatusCode::resourceExhausted);
  CHECK(status.message() == "no memory on device 2");
  CHECK(ended == 3);
  // The world can be used again.
  CHECK(onDevices(world, [&](QueuedEnd &end) { return reduceOnce(end, p, 3, &p); }).ok());
}

TEST_CASE("cts: who has ended is named at once, though others still work") {
  InProcessWorld world(4, withPlaces());
  CollectiveProblem p = sumOf(8, {{1}, {4}});
  std::atomic<bool> told = false;
  Status status = onDevices(world, [&](QueuedEnd &end) {
    if (end.device() == 3)
      return Status();
    while (end.device() == 1 && !told) // Does not come before the failure is known.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Status own = reduceOnce(end, p, 12, &p);
    told = true;
    return own;
  });
  CHECK(status.code() == StatusCode::internal);
  CHECK_THAT(status.message(),
             StartsWith("device 3 has ended and does not come to all_reduce sum f32[8] over 4 "
                        "devices at model.cpp:12, where device") &&
                 EndsWith(status.message().find("devices 0, 2") == std::string::npos ? " waits"
                                                                                     : " wait"));
}

TEST_CASE("cts: devices that wait for each other are told, though others still work") {
  InProcessWorld world(6, withPlaces());
  CollectiveProblem rows = sumOf(8, {{1}, {2}}), columns = sumOf(8, {{2}, {2}});
  std::atomic<bool> told = false;
  Status status = onDevices(world, [&](QueuedEnd &end) {
    while (end.device() > 3 && !told)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (end.device() > 3)
      return Status();
    bool first = end.device() == 0 || end.device() == 3;
    Status own = reduceOnce(end, first ? rows : columns, first ? 5 : 6, &world);
    told = true;
    return own;
  });
  CHECK(status.code() == StatusCode::internal);
  CHECK(status.message() ==
        "devices wait for each other: devices 0, 3 in all_reduce sum f32[8] over 2 devices at "
        "model.cpp:5; devices 1, 2 in all_reduce sum f32[8] over 2 devices at model.cpp:6");
}

TEST_CASE("cts: who waits where others still have to come first is not stuck") {
  InProcessWorld world(4, withPlaces());
  CollectiveProblem all = sumOf(8, {{1}, {4}}), pair = sumOf(8, {{1}, {2}});
  Status status = onDevices(world, [&](QueuedEnd &end) {
    for (int round = 0; round < 20; ++round) {
      if (end.device() % 2 == round % 2) // Others wait meanwhile, for this one or its pair.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (end.device() > 1 || round % 3)
        MINIGPTC_RETURN_IF_ERROR(reduceOnce(end, pair, 1, &pair));
      MINIGPTC_RETURN_IF_ERROR(reduceOnce(end, all, 2, &all));
    }
    return Status();
  });
  INFO(status.message());
  CHECK(status.ok());
}

TEST_CASE("cts: members that do not agree are told apart") {
  InProcessWorld world(3, withPlaces());
  CollectiveProblem p = sumOf(8, {{1}, {3}}), other = sumOf(9, {{1}, {3}});
  Status sizes = onDevices(world, [&](QueuedEnd &end) {
    return reduceOnce(end, end.device() == 1 ? other : p, uint32_t(end.device()), &p);
  });
  CHECK(sizes.message() == "device 0 is in all_reduce sum f32[8] over 3 devices at model.cpp:0, "
                           "but device 1 in all_reduce sum f32[9] over 3 devices at model.cpp:1");
  Status instructions = onDevices(world, [&](QueuedEnd &end) {
    return reduceOnce(end, p, uint32_t(end.device()), end.device() == 2 ? &other : &p);
  });
  CHECK_THAT(instructions.message(), Contains("but device 2 in"));
}
