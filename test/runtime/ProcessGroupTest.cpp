// Processes, with threads in their place: what they tell each other, collectives, arrays in parts,
// and how all of them end.
#include "runtime/base/Shards.h"
#include "runtime/collectives/ProcessArrival.h"
#include "runtime/collectives/ProcessWorld.h"
#include "runtime/collectives/TcpStore.h"
#include "test/runtime/support/CollectiveCases.h"
#include "test/runtime/support/InProcesses.h"
#include "test/runtime/support/OnDevices.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using test::checkAllWell;
using test::freePort;
using test::Group;
using test::inProcesses;
using test::onDevices;
using test::placeOf;

namespace {

Status wrong(const std::string &what) { return Status(StatusCode::internal, what); }

} // namespace

TEST_CASE("processes tell each other in order") {
  checkAllWell(inProcesses(4, [](Group &group) -> Status {
    if (group->count() != 4 || group->localCount() != 4)
      return wrong("other processes");
    std::string mine(size_t(group->rank()) * 1'000'000, char('a' + group->rank()));
    auto all = group->allGather("sizes", mine);
    for (int64_t rank = 0; all && rank < 4; ++rank)
      if ((*all)[size_t(rank)] != std::string(size_t(rank) * 1'000'000, char('a' + rank)))
        return wrong("other bytes");
    if (!all)
      return all.status();
    auto first = group->fromFirst("the first", std::to_string(group->rank()));
    if (!first || *first != "0")
      return wrong("not of the first");
    return group->allWell("the end", {});
  }));
}

TEST_CASE("processes at different places, and one that fails, end all") {
  auto statuses = inProcesses(3, [](Group &group) {
    return group->allGather(group->rank() == 1 ? "the barn" : "the house", "").status();
  });
  for (const Status &status : statuses)
    CHECK_THAT(status.message(), Contains("is at the barn") || Contains("at the barn"));
  statuses = inProcesses(3, [](Group &group) {
    return group->allWell("work", group->rank() == 2 ? wrong("no bread") : Status());
  });
  CHECK(statuses[2].message() == "no bread");
  CHECK_THAT(statuses[0].message(), StartsWith("process 2 (") && EndsWith(" has failed: no bread"));
  CHECK_THAT(statuses[1].message(), EndsWith(" has failed: no bread"));
  // While others wait for something else.
  statuses = inProcesses(3, [](Group &group) {
    return group->rank() == 1 ? wrong("disk full") : group->allGather("a step", "").status();
  });
  CHECK(statuses[1].message() == "disk full");
  for (int rank : {0, 2})
    CHECK_THAT(statuses[size_t(rank)].message(),
               StartsWith("process 1 (") && EndsWith(" has failed: disk full"));
  // One that is done, and does not come.
  statuses = inProcesses(3, [](Group &group) {
    return group->rank() == 1 ? Status() : group->allGather("a step", "").status();
  });
  for (int rank : {0, 2})
    CHECK_THAT(statuses[size_t(rank)].message(), EndsWith("has ended and does not come to a step"));
}

TEST_CASE("who leaves without a word has failed") {
  auto statuses = inProcesses(3, [](Group &group) {
    if (group->rank() != 2)
      return group->allGather("a step", "").status();
    group.reset();
    return Status();
  });
  for (int rank : {0, 1})
    CHECK_THAT(statuses[size_t(rank)].message(),
               StartsWith("process 2 (") && Contains("ended before its work was done"));
}

TEST_CASE("who never comes is named, and so is who comes twice or is of another number") {
  int port = freePort();
  auto first = ProcessGroup::join(placeOf(0, 3, port), {.arrival = 100ms});
  CHECK(first.status().message() == "processes 1, 2 of 3 have not come in 0 s");
  auto other = ProcessGroup::join(placeOf(1, 3, freePort()), {.arrival = 100ms});
  CHECK_THAT(other.status().message(), StartsWith("process 0 is not reached at localhost:"));
  port = freePort();
  std::vector<Status> statuses(3);
  std::vector<std::thread> threads;
  for (auto [rank, count] : {std::pair(0, 3), std::pair(1, 3), std::pair(2, 2)})
    threads.emplace_back([&, rank = rank, count = count] {
      statuses[size_t(rank)] =
          ProcessGroup::join(placeOf(std::min(rank, count - 1), count, port), {.arrival = 10s})
              .status();
    });
  for (std::thread &thread : threads)
    thread.join();
  auto saysWhy = Contains("was started with WORLD_SIZE 2, process 0 with 3");
  for (int process : {0, 2})
    CHECK_THAT(statuses[size_t(process)].message(), saysWhy);
  // Process 0 ends at once: whoever is on its way then finds, at one door or another, that it has
  // gone.
  CHECK_THAT(statuses[1].message(), saysWhy ||
                                        Contains("has ended before all processes had come") ||
                                        EndsWith(" is gone") || Contains(" is not reached at ") ||
                                        EndsWith(" has closed the connection"));
  // Also when all have come already.
  checkAllWell(inProcesses(2, [](Group &group) -> Status {
    Processes again = placeOf(1, 2, group->store().port());
    Status third = group->isFirst() ? ProcessGroup::join(again, {.arrival = 5s}).status()
                                    : Status(StatusCode::internal, "two processes");
    MINIGPTC_RETURN_IF_ERROR(group->allWell("the third", {}));
    return third.message().find("two processes") == 0 && !third ? Status() : third;
  }));
}

TEST_CASE("who cannot take part says so to those who wait, and to those who come") {
  for (int64_t refusing : {0, 1})
    for (int64_t late : {0, 1, 2}) {
      int port = freePort();
      std::vector<Status> statuses(3);
      std::vector<std::thread> threads;
      for (int64_t rank = 0; rank < 3; ++rank)
        threads.emplace_back([&, rank] {
          if (rank == late)
            std::this_thread::sleep_for(200ms);
          Status &status = statuses[size_t(rank)];
          if (rank == refusing)
            refuse(placeOf(rank, 3, port), wrong("no such mesh"), {});
          else
            status = ProcessGroup::join(placeOf(rank, 3, port), {.arrival = 60s}).status();
        });
      auto begin = std::chrono::steady_clock::now();
      for (std::thread &thread : threads)
        thread.join();
      CHECK(std::chrono::steady_clock::now() - begin < 30s);
      for (int64_t rank = 0; rank < 3; ++rank)
        if (rank != refusing)
          CHECK_THAT(statuses[size_t(rank)].message(),
                     StartsWith("process " + std::to_string(refusing) + " (") &&
                         EndsWith("has failed: no such mesh"));
    }
}

TEST_CASE("devices are shared in blocks, or not at all") {
  checkAllWell(inProcesses(2, [](Group &group) -> Status {
    if (*group->devicesOf(1, 8) != DeviceRange{4, 4})
      return wrong("another block");
    Status uneven = group->devicesOf(0, 3).status();
    return uneven.message() == "the program is for 3 devices, which 2 processes (WORLD_SIZE) can't "
                               "share evenly"
               ? Status()
               : uneven;
  }));
}

/// All-reduces of odd operands are in place.
static Status runOnce(Communicator &end, Queue &queue, const CollectiveProblem &p, int64_t round) {
  int64_t rank = p.group.rankOf(end.device());
  std::vector<std::vector<std::byte>> inputs, outputs;
  std::vector<void *> in, out;
  for (size_t i = 0; i < p.operands.size(); ++i) {
    inputs.push_back(test::inputOf(p, i, rank, round));
    outputs.emplace_back(p.outputBytes(i), std::byte(0xee));
  }
  for (size_t i = 0; i < p.operands.size(); ++i) {
    bool inPlace = p.kind == CollectiveKind::allReduce && i % 2 == 1;
    in.push_back(inputs[i].data());
    out.push_back(inPlace ? inputs[i].data() : outputs[i].data());
  }
  MINIGPTC_RETURN_IF_ERROR(end.run(queue, p, in, out, {}));
  for (size_t i = 0; i < p.operands.size(); ++i) {
    std::vector<std::byte> wanted = test::outputOf(p, i, rank, round);
    if (!wanted.empty() && std::memcmp(out[i], wanted.data(), wanted.size()) != 0)
      return wrong(p.describe() + " gives something else");
  }
  return {};
}

TEST_CASE("collectives between processes have the bits of one process") {
  struct Case {
    int64_t devices;
    std::vector<DeviceGroup> groups;
  };
  const std::vector<Case> cases = {
      {2, {{{1}, {2}}}},
      {4, {{{1}, {2}}, {{2}, {2}}, {{1}, {4}}, {{2, 1}, {2, 2}}, {{1, 2}, {2, 2}}}},
      {6, {{{2, 1}, {3, 2}}, {{1, 2}, {2, 3}}, {{2}, {3}}}}};
  for (const Case &c : cases) {
    checkAllWell(inProcesses(2, [&](Group &group) -> Status {
      DeviceRange here = *group->devicesOf(group->rank(), c.devices);
      ProcessWorld world(*group, here, c.devices, {});
      for (int64_t round = 0; round < 2; ++round)
        MINIGPTC_RETURN_IF_ERROR(onDevices(world, here, [&](Communicator &end, Queue &queue) {
          for (const DeviceGroup &members : c.groups)
            for (const CollectiveProblem &p : test::problemsOf(members, {1, 70}))
              MINIGPTC_RETURN_IF_ERROR(runOnce(end, queue, p, round));
          return Status();
        }));
      return {};
    }));
  }
}

TEST_CASE("a device that fails ends the collectives of all processes") {
  auto statuses = inProcesses(2, [](Group &group) -> Status {
    DeviceRange here = *group->devicesOf(group->rank(), 2);
    ProcessWorld world(*group, here, 2, {});
    CollectiveProblem problem{.group = {{1}, {2}}, .operands = {{.block = 1}}};
    return onDevices(world, here, [&](Communicator &end, Queue &queue) {
      float value = 1;
      void *place = &value;
      return end.device() == 1 ? wrong("no memory")
                               : end.run(queue, problem, {&place, 1}, {&place, 1}, {});
    });
  });
  CHECK(statuses[1].message() == "no memory");
  CHECK_THAT(statuses[0].message(), StartsWith("process 1 (") && EndsWith("has failed: no memory"));
}

TEST_CASE("of an array in parts a process reads what it has, and all gather the rest") {
  std::vector<float> values(6 * 4);
  std::iota(values.begin(), values.end(), 0.0f);
  Mesh mesh{{"data", 2}, {"tensor", 2}};
  checkAllWell(inProcesses(2, [&](Group &group) -> Status {
    const Array whole = Array::fromSpan<float>({6, 4}, std::span<const float>(values));
    DeviceRange here = *group->devicesOf(group->rank(), 4);
    // Each process has one row of the mesh: all columns, half of the rows.
    Array inRows = Array::shardedFrom(whole, mesh, P("data", "tensor"), here);
    if (inRows.isHere() ||
        inRows.fetch().message().find("are in other processes") == std::string::npos ||
        inRows.whole().valid())
      return wrong("parts of others were read");
    Array columns = Array::shardedFrom(whole, mesh, P(None, "tensor"), here);
    if (!columns.isHere() ||
        !std::ranges::equal(std::as_const(columns).whole().span<float>(), values))
      return wrong("what is here was not read");
    const Array mine = inRows.partsHere();
    for (size_t i = 0; i < values.size(); ++i)
      if (mine.span<float>()[i] != (i / 12 == size_t(group->rank()) ? values[i] : 0))
        return wrong("other parts");
    for (const Array &array : {inRows, columns, inRows.clone(), whole}) {
      StatusOr<Array> all = group->gather(array);
      if (!all)
        return all.status();
      if (!std::ranges::equal(std::as_const(*all).span<float>(), values))
        return wrong("gathered something else");
    }
    // On one stage of two: the other process has nothing of it.
    Mesh stages{{"stage", 2}, {"data", 2}};
    for (int64_t stage : {0, 1}) {
      PartitionSpec spec = P("data");
      spec.stages = {stage};
      Array there = Array::shardedFrom(whole, stages, spec, here);
      if (there.isHere() != (group->rank() == stage) ||
          ownParts(there).size() != (group->rank() == stage ? 2u : 0u))
        return wrong("parts on another stage");
      StatusOr<std::vector<Array>> all = group->gather(std::vector<Array>{there, inRows, whole});
      if (!all)
        return all.status();
      for (const Array &array : *all)
        if (!std::ranges::equal(array.span<float>(), values))
          return wrong("gathered something else of several");
    }
    if (ownParts(inRows).size() != 2 || ownParts(columns).size() != (group->isFirst() ? 2u : 0u))
      return wrong("other parts of one's own");
    return {};
  }));
}
