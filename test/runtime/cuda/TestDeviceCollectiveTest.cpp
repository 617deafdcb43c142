// NCCL as the emulated devices have it: values, and ranks that do not agree.
#include "test/runtime/cuda/CudaProgram.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace minigptc::test;

namespace {

constexpr int kCount = 12;
constexpr size_t kBytes = kCount * sizeof(float);

/// A communicator of all devices of a program, driven by one thread; each rank has a stream, an
/// input of `ranks` parts with the values 100·rank + i, and an output of as many.
class Ranks {
public:
  Ranks(CudaProgram &cuda, int ranks) : cuda(cuda), comms(size_t(ranks)) {
    NcclUniqueId id;
    check(cuda.nccl.getUniqueId(&id));
    size_t elements = size_t(kCount * ranks);
    check(cuda.nccl.groupStart());
    for (int rank = 0; rank < ranks; ++rank) {
      cuda.useDevice(rank);
      check(cuda.nccl.commInitRank(&comms[size_t(rank)], ranks, id, rank));
      streams.push_back(cuda.stream());
      inputs.push_back(cuda.memory(elements * 4));
      outputs.push_back(cuda.memory(elements * 4));
      hosts.push_back(cuda.pinned(elements));
      for (size_t i = 0; i < elements; ++i)
        hosts.back()[i] = float(100 * rank) + float(i);
      cuda.check(
          cuda.driver.memcpyHtoDAsync(inputs.back(), hosts.back(), elements * 4, streams.back()));
      cuda.check(cuda.driver.streamSynchronize(streams.back()));
    }
    check(cuda.nccl.groupEnd());
  }
  ~Ranks() {
    for (NcclComm comm : comms)
      cuda.nccl.commDestroy(comm);
  }

  static void check(NcclResult result) { REQUIRE(result == NcclResult::success); }
  int size() const { return int(comms.size()); }
  void *input(int rank) const { return reinterpret_cast<void *>(uintptr_t(inputs[size_t(rank)])); }
  void *output(int rank) const {
    return reinterpret_cast<void *>(uintptr_t(outputs[size_t(rank)]));
  }
  NcclResult allReduce(int rank, size_t count = kCount, NcclReduce combine = NcclReduce::sum) {
    return cuda.nccl.allReduce(input(rank), output(rank), count, NcclType::f32, combine,
                               comms[size_t(rank)], streams[size_t(rank)]);
  }
  NcclResult allGather(int rank) {
    return cuda.nccl.allGather(input(rank), output(rank), kCount, NcclType::f32,
                               comms[size_t(rank)], streams[size_t(rank)]);
  }
  /// The rank's output, once it has synchronised.
  std::vector<float> result(int rank, size_t count) {
    cuda.useDevice(rank);
    Stream stream = streams[size_t(rank)];
    cuda.check(cuda.driver.streamSynchronize(stream));
    cuda.check(
        cuda.driver.memcpyDtoHAsync(hosts[size_t(rank)], outputs[size_t(rank)], count * 4, stream));
    cuda.check(cuda.driver.streamSynchronize(stream));
    return {hosts[size_t(rank)], hosts[size_t(rank)] + count};
  }
  Result synchronise(int rank) {
    cuda.useDevice(rank);
    return cuda.driver.streamSynchronize(streams[size_t(rank)]);
  }

  CudaProgram &cuda;
  std::vector<NcclComm> comms;
  std::vector<Stream> streams;
  std::vector<DevicePtr> inputs, outputs;
  std::vector<float *> hosts;
};

void checkClean(CudaProgram &cuda) {
  std::vector<Hazard> found = cuda.finish();
  INFO(cuda.text());
  CHECK(found.empty());
}

bool says(const CudaProgram &cuda, const std::string &part) {
  return cuda.text().find(part) != std::string::npos;
}

} // namespace

TEST_CASE("emulated collectives") {
  int n = GENERATE(2, 3);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    CudaProgram cuda({.devices = n, .seed = seed});
    {
      Ranks ranks(cuda, n);
      SECTION("all_reduce") {
        for (int rank = 0; rank < n; ++rank)
          Ranks::check(ranks.allReduce(rank));
        for (int rank = 0; rank < n; ++rank) {
          auto values = ranks.result(rank, kCount);
          for (int i = 0; i < kCount; ++i)
            CHECK(values[size_t(i)] == float(n * i + 50 * n * (n - 1)));
        }
      }
      SECTION("all_gather") {
        for (int rank = n; rank-- > 0;)
          Ranks::check(ranks.allGather(rank));
        for (int rank = 0; rank < n; ++rank) {
          auto values = ranks.result(rank, size_t(kCount * n));
          for (int i = 0; i < kCount * n; ++i)
            CHECK(values[size_t(i)] == float(i / kCount * 100 + i % kCount));
        }
      }
      SECTION("reduce_scatter") {
        for (int rank = 0; rank < n; ++rank)
          Ranks::check(cuda.nccl.reduceScatter(
              ranks.input(rank), ranks.output(rank), kCount, NcclType::f32, NcclReduce::max,
              ranks.comms[size_t(rank)], ranks.streams[size_t(rank)]));
        for (int rank = 0; rank < n; ++rank) {
          auto values = ranks.result(rank, kCount);
          for (int i = 0; i < kCount; ++i)
            CHECK(values[size_t(i)] == float(100 * (n - 1) + rank * kCount + i));
        }
      }
      SECTION("messages around a ring") {
        for (int rank = 0; rank < n; ++rank) {
          Stream stream = ranks.streams[size_t(rank)];
          NcclComm comm = ranks.comms[size_t(rank)];
          Ranks::check(cuda.nccl.groupStart());
          Ranks::check(cuda.nccl.send(ranks.input(rank), kCount, NcclType::f32, (rank + 1) % n,
                                      comm, stream));
          Ranks::check(cuda.nccl.recv(ranks.output(rank), kCount, NcclType::f32, (rank + n - 1) % n,
                                      comm, stream));
          Ranks::check(cuda.nccl.groupEnd());
        }
        for (int rank = 0; rank < n; ++rank)
          CHECK(ranks.result(rank, kCount)[3] == float(100 * ((rank + n - 1) % n) + 3));
      }
    }
    checkClean(cuda);
  }
}

TEST_CASE("collectives in graphs, replayed") {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    CudaProgram cuda({.devices = 2, .seed = seed});
    {
      Ranks ranks(cuda, 2);
      GraphExec graphs[2];
      for (int rank = 0; rank < 2; ++rank) {
        cuda.useDevice(rank);
        Stream stream = ranks.streams[size_t(rank)];
        graphs[rank] = cuda.capture(stream, [&] {
          Ranks::check(ranks.allReduce(rank));
          cuda.check(cuda.driver.memcpyDtoDAsync(ranks.inputs[size_t(rank)],
                                                 ranks.outputs[size_t(rank)], kBytes, stream));
        });
      }
      for (int replay = 0; replay < 3; ++replay)
        for (int rank = 0; rank < 2; ++rank) {
          cuda.useDevice(rank);
          cuda.check(cuda.driver.graphLaunch(graphs[rank], ranks.streams[size_t(rank)]));
        }
      for (int rank = 0; rank < 2; ++rank)
        CHECK(ranks.result(rank, kCount)[2] == float(4 * (100 + 4)));
      cuda.giveBackGraphs();
    }
    checkClean(cuda);
  }
}

TEST_CASE("a thread for each rank") {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    CudaProgram cuda({.devices = 3, .seed = seed});
    {
      Ranks ranks(cuda, 3);
      std::vector<std::thread> threads;
      std::vector<Result> results(3, Result::unknown);
      std::vector<Context> contexts(3);
      for (int rank = 0; rank < 3; ++rank)
        threads.emplace_back([&, rank] {
          cuda.driver.primaryCtxRetain(&contexts[size_t(rank)], rank);
          cuda.driver.ctxSetCurrent(contexts[size_t(rank)]);
          for (int i = 0; i < 20; ++i) {
            (void)ranks.allReduce(rank);
            if (i % 3 == rank)
              cuda.driver.streamSynchronize(ranks.streams[size_t(rank)]);
          }
          results[size_t(rank)] = cuda.driver.streamSynchronize(ranks.streams[size_t(rank)]);
          cuda.driver.primaryCtxRelease(rank);
        });
      for (std::thread &thread : threads)
        thread.join();
      for (Result result : results)
        CHECK(result == Result::success);
      CHECK(ranks.result(1, kCount)[1] == 303);
    }
    checkClean(cuda);
  }
}

TEST_CASE("a collective that not every rank enters") {
  CudaProgram cuda({.devices = 3, .patienceMilliseconds = 5});
  Ranks ranks(cuda, 3);
  for (int rank = 0; rank < 3; ++rank)
    Ranks::check(ranks.allGather(rank));
  Ranks::check(ranks.allReduce(0));
  Ranks::check(ranks.allReduce(2));
  CHECK(ranks.synchronise(0) == Result::launchFailed);
  INFO(cuda.text());
  CHECK(says(cuda, "all_reduce sum f32[12] (number 3 of stream 1 of device 0) waits for ever: rank "
                   "1 of communicator 1 (device 1) does not enter all_reduce sum f32[12]; its last "
                   "call: all_gather f32[12]"));
  NcclResult error;
  Ranks::check(cuda.nccl.commGetAsyncError(ranks.comms[0], &error));
  CHECK(error == NcclResult::remoteError);
  CHECK(ranks.synchronise(2) == Result::launchFailed);
}

TEST_CASE("a message that nobody receives") {
  CudaProgram cuda({.devices = 2, .patienceMilliseconds = 5});
  Ranks ranks(cuda, 2);
  Ranks::check(
      cuda.nccl.send(ranks.input(0), kCount, NcclType::f32, 1, ranks.comms[0], ranks.streams[0]));
  CHECK(ranks.synchronise(0) == Result::launchFailed);
  CHECK(says(cuda, "rank 1 of communicator 1 (device 1) does not enter send f32[12] to rank 1"));
}

TEST_CASE("ranks that call different things") {
  CudaProgram cuda({.devices = 2, .patienceMilliseconds = 5});
  Ranks ranks(cuda, 2);
  Ranks::check(ranks.allReduce(0));
  SECTION("another collective") { Ranks::check(ranks.allGather(1)); }
  SECTION("another size") { Ranks::check(ranks.allReduce(1, kCount - 1)); }
  SECTION("another reduction") { Ranks::check(ranks.allReduce(1, kCount, NcclReduce::max)); }
  CHECK(cuda.found(HazardKind::collectiveMismatch));
  CHECK(says(cuda, "but rank 0 all_reduce sum f32[12] in all_reduce"));
  CHECK(ranks.synchronise(0) == Result::launchFailed);
  CHECK(ranks.synchronise(1) == Result::launchFailed);
}

TEST_CASE("ranks that order two communicators differently") {
  CudaProgram cuda({.devices = 2, .patienceMilliseconds = 5});
  Ranks one(cuda, 2), two(cuda, 2);
  two.streams = one.streams;
  Ranks::check(one.allReduce(0));
  Ranks::check(two.allReduce(0));
  Ranks::check(two.allReduce(1));
  Ranks::check(one.allReduce(1));
  CHECK(one.synchronise(0) == Result::launchFailed);
  CHECK(says(cuda, "every rank waits for another"));
}

TEST_CASE("a communicator that not every rank joins") {
  CudaProgram cuda({.devices = 2, .patienceMilliseconds = 5});
  NcclUniqueId id;
  NcclComm comm;
  Ranks::check(cuda.nccl.getUniqueId(&id));
  cuda.useDevice(0);
  CHECK(cuda.nccl.commInitRank(&comm, 2, id, 0) == NcclResult::systemError);
  CHECK(says(cuda, "waits for ever for rank 1"));
  CHECK(cuda.nccl.commInitRank(&comm, 2, id, 0) == NcclResult::invalidArgument);
  CHECK(cuda.nccl.commInitRank(&comm, 2, id, 1) == NcclResult::invalidUsage); // the same device
}

TEST_CASE("collectives take part in the order of streams") {
  uint64_t seed = GENERATE(uint64_t(0), uint64_t(1), uint64_t(4));
  CudaProgram cuda({.devices = 2, .seed = seed});
  {
    Ranks ranks(cuda, 2);
    for (int rank = 0; rank < 2; ++rank)
      Ranks::check(ranks.allReduce(rank));
    cuda.useDevice(1);
    SECTION("an input that is overwritten") {
      cuda.check(cuda.driver.memsetD8Async(ranks.inputs[1] + 8, 0, 4, cuda.stream()));
    }
    SECTION("an output that is overwritten") {
      cuda.check(cuda.driver.memsetD8Async(ranks.outputs[1] + 8, 0, 4, cuda.stream()));
    }
    SECTION("another rank's stream orders nothing here") {
      cuda.useDevice(0);
      cuda.check(cuda.driver.streamSynchronize(ranks.streams[0]));
      cuda.useDevice(1);
      cuda.check(cuda.driver.memsetD8Async(ranks.outputs[1] + 8, 0, 4, cuda.stream()));
    }
    CHECK(cuda.driver.ctxSynchronize() == Result::launchFailed);
    CHECK(cuda.found(HazardKind::race));
    CHECK(says(cuda, "all_reduce sum f32[12]"));
  }
}

TEST_CASE("buffers of collectives") {
  CudaProgram cuda({.devices = 2});
  Ranks ranks(cuda, 2);
  NcclComm comm = ranks.comms[0];
  Stream stream = ranks.streams[0];
  auto gather = [&](void *input, void *output) {
    return cuda.nccl.allGather(input, output, kCount, NcclType::f32, comm, stream);
  };
  auto at = [&](int rank, size_t byte) { return static_cast<char *>(ranks.output(rank)) + byte; };
  CHECK(gather(ranks.input(1), ranks.output(0)) == NcclResult::invalidArgument);
  CHECK(says(cuda, "memory of device 1, used on device 0"));
  CHECK(gather(ranks.input(0), at(0, 4)) == NcclResult::invalidArgument); // beyond its end
  CHECK(gather(at(0, 4), ranks.output(0)) == NcclResult::invalidArgument);
  CHECK(says(cuda, "input and output overlap"));
  CHECK(cuda.nccl.allReduce(at(0, 2), at(0, 2), 4, NcclType::f32, NcclReduce::sum, comm, stream) ==
        NcclResult::invalidArgument);
  CHECK(cuda.found(HazardKind::misaligned));
  CHECK(cuda.nccl.allReduce(ranks.input(0), ranks.input(0), 4, NcclType::f32, NcclReduce::sum, comm,
                            ranks.streams[1]) == NcclResult::invalidArgument);
  CHECK(says(cuda, "but the communicator's is device 0"));
  // In place is allowed where the part is the rank's own.
  cuda.useDevice(0);
  CHECK(gather(ranks.input(0), ranks.input(0)) == NcclResult::success);
  cuda.useDevice(1);
  auto *own = static_cast<char *>(ranks.input(1)) + kBytes;
  Ranks::check(cuda.nccl.allGather(own, ranks.input(1), kCount, NcclType::f32, ranks.comms[1],
                                   ranks.streams[1]));
  cuda.check(cuda.driver.ctxSynchronize());
}

TEST_CASE("communicators that are given back too early, or never") {
  CudaProgram cuda({.devices = 2});
  std::vector<NcclComm> comms;
  {
    Ranks ranks(cuda, 2);
    for (int rank = 0; rank < 2; ++rank)
      Ranks::check(ranks.allReduce(rank));
    comms = ranks.comms;
  }
  CHECK(cuda.found(HazardKind::freeWhilePending));
  CHECK(cuda.nccl.commDestroy(comms[0]) == NcclResult::invalidArgument);
  NcclUniqueId id;
  NcclComm comm;
  Ranks::check(cuda.nccl.getUniqueId(&id));
  Ranks::check(cuda.nccl.commInitRank(&comm, 1, id, 0));
  cuda.finish();
  CHECK(cuda.count(HazardKind::leak) == 1);
}
