// NCCL as the emulated devices have it between processes: each rank is one, made by fork.
#include "runtime/drivers/cuda/test/Rendezvous.h"
#include "test/runtime/cuda/CudaProgram.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace minigptc::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

constexpr int kMaxComms = 3;

/// What all processes of a test see.
struct Board {
  std::atomic<int> ids{0}, stage{0};
  NcclUniqueId id[kMaxComms];

  void meet(int processes) {
    ++stage;
    await(stage, processes);
  }
  void await(const std::atomic<int> &what, int value) const {
    while (what < value)
      std::this_thread::sleep_for(1ms);
  }
};

/// A process with one GPU, that of its rank.
class Rank {
public:
  Rank(Board &board, int rank, TestDeviceOptions options = {})
      : cuda(withDevices(options, rank + 1)), board(board), rank(rank) {
    cuda.useDevice(rank);
    stream = cuda.stream();
  }
  ~Rank() {
    for (NcclComm comm : comms)
      if (comm)
        cuda.nccl.commDestroy(comm);
  }

  /// Joins the next communicator, of whose ranks this is `as`; rank 0 has made the id.
  NcclResult join(int ranks, int as) {
    const NcclUniqueId &id = nextId(as);
    return cuda.nccl.commInitRank(&comms.back(), ranks, id, as);
  }
  NcclResult join(int ranks) { return join(ranks, rank); }
  /// Does not wait for the others.
  NcclResult joinInTime(int ranks) {
    const NcclUniqueId &id = nextId(rank);
    NcclConfig config;
    config.blocking = 0;
    return cuda.nccl.commInitRankConfig(&comms.back(), ranks, id, rank, &config);
  }

  void reserve(size_t elements) {
    input = cuda.memory(elements * 4);
    output = cuda.memory(elements * 4);
    host = cuda.pinned(elements);
    count = elements;
  }
  void upload(const std::function<float(size_t)> &value) {
    for (size_t i = 0; i < count; ++i)
      host[i] = value(i);
    cuda.check(cuda.driver.memcpyHtoDAsync(input, host, count * 4, stream));
    cuda.check(cuda.driver.streamSynchronize(stream));
  }
  std::vector<float> result(size_t elements) {
    cuda.check(cuda.driver.streamSynchronize(stream));
    cuda.check(cuda.driver.memcpyDtoHAsync(host, output, elements * 4, stream));
    cuda.check(cuda.driver.streamSynchronize(stream));
    return {host, host + elements};
  }
  NcclResult allReduce(size_t elements, int comm = 0, NcclReduce combine = NcclReduce::sum) {
    return cuda.nccl.allReduce(in(), out(), elements, NcclType::f32, combine, comms[size_t(comm)],
                               stream);
  }
  NcclResult allGather(size_t elements) {
    return cuda.nccl.allGather(in(), out(), elements, NcclType::f32, comms[0], stream);
  }
  Result synchronise() { return cuda.driver.streamSynchronize(stream); }
  static void check(NcclResult result) { REQUIRE(result == NcclResult::success); }
  void *in() const { return reinterpret_cast<void *>(uintptr_t(input)); }
  void *out() const { return reinterpret_cast<void *>(uintptr_t(output)); }

  static TestDeviceOptions withDevices(TestDeviceOptions options, int devices) {
    options.devices = devices;
    return options;
  }

private:
  const NcclUniqueId &nextId(int as) {
    int number = int(comms.size());
    comms.push_back(nullptr);
    if (as == 0) {
      check(cuda.nccl.getUniqueId(&board.id[number]));
      ++board.ids;
    }
    board.await(board.ids, number + 1);
    return board.id[number];
  }

public:
  CudaProgram cuda;
  Board &board;
  int rank;
  Stream stream = nullptr;
  std::vector<NcclComm> comms;
  DevicePtr input = 0, output = 0;
  float *host = nullptr;
  size_t count = 0;
};

/// Runs `body` in a process for each rank, and gives what they say.
std::vector<std::string> inProcesses(int count,
                                     const std::function<std::string(Board &, int)> &body) {
  void *shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto *board = new (shared) Board;
  std::vector<pid_t> children;
  std::vector<int> ends;
  for (int rank = 0; rank < count; ++rank) {
    int pipes[2];
    REQUIRE(pipe(pipes) == 0);
    pid_t child = fork();
    if (child == 0) {
      alarm(60); // Nobody waits for ever.
      std::string said;
      try {
        said = body(*board, rank);
      } catch (...) {
        said = "the test's own check failed";
      }
      bool written = write(pipes[1], said.data(), said.size()) == ssize_t(said.size());
      _exit(written ? 0 : 1);
    }
    close(pipes[1]);
    children.push_back(child);
    ends.push_back(pipes[0]);
  }
  std::vector<std::string> all;
  for (int rank = 0; rank < count; ++rank) {
    std::string said;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[size_t(rank)], buffer, sizeof(buffer))) > 0;)
      said.append(buffer, size_t(n));
    close(ends[size_t(rank)]);
    int status = 0;
    waitpid(children[size_t(rank)], &status, 0);
    all.push_back(WIFEXITED(status) ? said : "signal " + std::to_string(WTERMSIG(status)));
  }
  munmap(shared, sizeof(Board));
  return all;
}

std::string text(const std::vector<float> &values) {
  std::ostringstream out;
  out << std::hexfloat;
  for (float value : values)
    out << value << " ";
  return out.str();
}

/// Sums of which depend on the order.
float uneven(int rank, size_t i) { return std::ldexp(float(3 + rank) / float(7 + i), 9 * rank); }

std::string clean(Rank &rank) {
  rank.cuda.nccl.commDestroy(rank.comms[0]);
  rank.comms.clear();
  return rank.cuda.finish().empty() ? "clean" : rank.cuda.text();
}

} // namespace

TEST_CASE("collectives between processes have the bits of one process") {
  int n = GENERATE(2, 3);
  uint64_t seed = GENERATE(uint64_t(0), uint64_t(3), uint64_t(4));
  constexpr size_t kCount = 12;
  auto said = inProcesses(n, [&](Board &board, int rank) {
    Rank me(board, rank, {.seed = seed});
    Rank::check(me.join(n));
    me.reserve(kCount * size_t(n));
    me.upload([&](size_t i) { return uneven(rank, i); });
    Rank::check(me.allReduce(kCount));
    std::string results = text(me.result(kCount));
    Rank::check(me.allGather(kCount));
    results += text(me.result(kCount * size_t(n)));
    Rank::check(me.cuda.nccl.reduceScatter(me.in(), me.out(), kCount, NcclType::f32,
                                           NcclReduce::sum, me.comms[0], me.stream));
    results += text(me.result(kCount));
    Rank::check(me.cuda.nccl.groupStart());
    Rank::check(me.cuda.nccl.send(me.in(), kCount, NcclType::f32, (rank + 1) % n, me.comms[0],
                                  me.stream));
    Rank::check(me.cuda.nccl.recv(me.out(), kCount, NcclType::f32, (rank + n - 1) % n,
                                  me.comms[0], me.stream));
    Rank::check(me.cuda.nccl.groupEnd());
    return results + text(me.result(kCount)) + clean(me);
  });
  for (int rank = 0; rank < n; ++rank) {
    auto sum = [&](size_t i) {
      float made = uneven(0, i);
      for (int other = 1; other < n; ++other)
        made += uneven(other, i);
      return made;
    };
    std::vector<float> all;
    for (size_t i = 0; i < kCount; ++i)
      all.push_back(sum(i));
    for (int other = 0; other < n; ++other)
      for (size_t i = 0; i < kCount; ++i)
        all.push_back(uneven(other, i));
    for (size_t i = 0; i < kCount; ++i)
      all.push_back(sum(size_t(rank) * kCount + i));
    for (size_t i = 0; i < kCount; ++i)
      all.push_back(uneven((rank + n - 1) % n, i));
    CHECK(said[size_t(rank)] == text(all) + "clean");
  }
}

TEST_CASE("processes send each other more than a socket holds") {
  constexpr size_t kCount = size_t(1) << 20;
  auto said = inProcesses(2, [&](Board &board, int rank) {
    Rank me(board, rank);
    Rank::check(me.join(2));
    me.reserve(2 * kCount);
    me.upload([&](size_t i) { return float(rank) + float(i % 97); });
    for (int round = 0; round < 2; ++round)
      Rank::check(me.allGather(kCount));
    auto values = me.result(2 * kCount);
    return std::to_string(values[96]) + " " + std::to_string(values[kCount + 95]) + clean(me);
  });
  for (const std::string &one : said)
    CHECK(one == "96.000000 96.000000clean");
}

TEST_CASE("processes that call different things: both say so, and who the other is") {
  int what = GENERATE(0, 1, 2);
  auto said = inProcesses(2, [&](Board &board, int rank) -> std::string {
    Rank me(board, rank);
    Rank::check(me.join(2));
    me.reserve(24);
    me.upload([](size_t) { return 1.0f; });
    if (rank == 0)
      Rank::check(me.allReduce(12));
    else
      Rank::check(what == 0   ? me.allGather(12)
                  : what == 1 ? me.allReduce(11)
                              : me.allReduce(12, 0, NcclReduce::max));
    board.meet(2);
    for (int i = 0; i < 2000 && !me.cuda.found(HazardKind::collectiveMismatch); ++i)
      std::this_thread::sleep_for(1ms);
    if (me.synchronise() != Result::launchFailed)
      return "synchronised";
    return me.cuda.text();
  });
  for (const std::string &one : said) {
    CHECK_THAT(one, Contains("ranks disagree: of communicator 1, rank"));
    CHECK_THAT(one, Contains("rank 0 (process ") && Contains("all_reduce sum f32[12] in all_red"));
    CHECK_THAT(one, Contains("rank 1 (process ") && Contains("of stream 1 of device 1)"));
  }
}

TEST_CASE("a process that does not call is waited for no longer than the patience") {
  auto said = inProcesses(2, [&](Board &board, int rank) -> std::string {
    Rank me(board, rank, {.patienceMilliseconds = 1000});
    Rank::check(me.join(2));
    me.reserve(12);
    me.upload([](size_t) { return 1.0f; });
    if (rank == 1) {
      board.await(board.stage, 1);
      return "";
    }
    Rank::check(me.allReduce(12));
    bool failed = me.synchronise() == Result::launchFailed;
    ++board.stage;
    return (failed ? "" : "synchronised") + me.cuda.text();
  });
  CHECK_THAT(said[0], Contains("waits for ever: rank 1 (process ") &&
                          Contains("of communicator 1 (device 1) does not enter all_reduce sum "
                                   "f32[12]; its last call: none"));
}

TEST_CASE("processes that order two communicators differently") {
  auto said = inProcesses(2, [&](Board &board, int rank) {
    Rank me(board, rank, {.patienceMilliseconds = 1000});
    Rank::check(me.join(2));
    Rank::check(me.join(2));
    me.reserve(12);
    me.upload([](size_t) { return 1.0f; });
    Rank::check(me.allReduce(12, rank));
    Rank::check(me.allReduce(12, 1 - rank));
    me.synchronise();
    board.meet(2);
    return me.cuda.text();
  });
  CHECK(said[0] + said[1] != ""); // Who gives up first lets the other one go on.
  for (int rank = 0; rank < 2; ++rank)
    if (!said[size_t(rank)].empty())
      CHECK_THAT(said[size_t(rank)],
                 Contains("every rank waits for another") &&
                     Contains("; rank " + std::to_string(1 - rank) + " (process ") &&
                     Contains("of device " + std::to_string(1 - rank)));
}

/// Rank 2 works; rank 1 waits for it, and rank 0, which has nothing to do with it, for rank 1.
TEST_CASE("who works, or waits for one that works, is waited for") {
  auto said = inProcesses(3, [&](Board &board, int rank) {
    Rank me(board, rank, {.patienceMilliseconds = 1000});
    me.reserve(12);
    if (rank < 2)
      Rank::check(me.join(2, rank));
    else
      me.comms.push_back(nullptr), board.await(board.ids, 1);
    if (rank > 0)
      Rank::check(me.join(2, rank - 1));
    me.upload([](size_t) { return 1.0f; });
    for (auto end = std::chrono::steady_clock::now() + 2500ms;
         rank == 2 && std::chrono::steady_clock::now() < end;) {
      me.upload([](size_t) { return 1.0f; });
      std::this_thread::sleep_for(5ms);
    }
    for (int comm = 1; comm >= 0; --comm)
      if (size_t(comm) < me.comms.size() && me.comms[size_t(comm)])
        Rank::check(me.allReduce(12, comm));
    bool good = me.synchronise() == Result::success;
    board.meet(3);
    return (good ? "good" : "") + me.cuda.text();
  });
  for (const std::string &one : said)
    CHECK(one == "good");
}

TEST_CASE("a process that ends is an error of the others' communicators") {
  auto said = inProcesses(2, [&](Board &board, int rank) -> std::string {
    Rank me(board, rank);
    Rank::check(me.join(2));
    me.reserve(12);
    me.upload([](size_t) { return 1.0f; });
    if (rank == 1)
      raise(SIGKILL);
    Rank::check(me.allReduce(12));
    NcclResult error = NcclResult::success;
    for (int i = 0; i < 5000 && error == NcclResult::success; ++i) {
      std::this_thread::sleep_for(1ms);
      Rank::check(me.cuda.nccl.commGetAsyncError(me.comms[0], &error));
    }
    std::string text = me.cuda.nccl.getLastError(me.comms[0]);
    Rank::check(me.cuda.nccl.commAbort(me.comms[0]));
    me.comms.clear();
    bool ended = me.synchronise() == Result::success;
    return std::to_string(int(error)) + (ended ? " ended " : " ") + text + me.cuda.text();
  });
  CHECK(said[1] == "signal 9");
  CHECK_THAT(said[0], Contains(std::to_string(int(NcclResult::remoteError)) +
                               " ended emulated NCCL: rank 1 (process ") &&
                          Contains("of communicator 1 has ended"));
}

TEST_CASE("communicators that do not block") {
  auto settle = [](Rank &me) {
    NcclResult state = NcclResult::inProgress;
    for (int i = 0; i < 5000 && state == NcclResult::inProgress; ++i) {
      Rank::check(me.cuda.nccl.commGetAsyncError(me.comms[0], &state));
      std::this_thread::sleep_for(1ms);
    }
    return state;
  };
  SECTION("go on while somebody asks") {
    auto said = inProcesses(2, [&](Board &board, int rank) {
      Rank me(board, rank, {.seed = 3});
      REQUIRE(me.joinInTime(2) == NcclResult::inProgress);
      me.reserve(12);
      me.upload([&](size_t i) { return float(rank + 1) * float(i); });
      bool early = me.allReduce(12) == NcclResult::invalidArgument;
      std::string refused = me.cuda.nccl.getLastError(me.comms[0]);
      Rank::check(settle(me));
      bool goesOn = me.allReduce(12) == NcclResult::inProgress;
      Rank::check(settle(me));
      std::string sums = text(me.result(12));
      clean(me);
      return std::string(early && goesOn ? "good " : "bad ") + refused + sums;
    });
    std::vector<float> sums;
    for (size_t i = 0; i < 12; ++i)
      sums.push_back(3 * float(i));
    for (const std::string &one : said)
      CHECK_THAT(one, StartsWith("good ") && Contains("is still in progress") &&
                          EndsWith(text(sums)));
  }
  SECTION("are aborted while they wait for one that does not come") {
    auto said = inProcesses(1, [&](Board &board, int rank) {
      Rank me(board, rank);
      REQUIRE(me.joinInTime(2) == NcclResult::inProgress);
      NcclResult state = NcclResult::success;
      for (int i = 0; i < 20; ++i)
        Rank::check(me.cuda.nccl.commGetAsyncError(me.comms[0], &state));
      Rank::check(me.cuda.nccl.commAbort(me.comms[0]));
      me.comms.clear();
      bool waited = state == NcclResult::inProgress;
      return (waited ? "waited" : "") + (me.cuda.finish().empty() ? ", clean" : me.cuda.text());
    });
    CHECK(said[0] == "waited, clean");
  }
  SECTION("see that one has ended while it was made") {
    auto said = inProcesses(2, [&](Board &board, int rank) {
      Rank me(board, rank);
      REQUIRE(me.joinInTime(2) == NcclResult::inProgress);
      Rank::check(settle(me));
      if (rank == 1)
        raise(SIGKILL);
      NcclResult state = NcclResult::success;
      for (int i = 0; i < 5000 && state == NcclResult::success; ++i) {
        Rank::check(me.cuda.nccl.commGetAsyncError(me.comms[0], &state));
        std::this_thread::sleep_for(1ms);
      }
      Rank::check(me.cuda.nccl.commAbort(me.comms[0]));
      me.comms.clear();
      return std::to_string(int(state));
    });
    CHECK(said[0] == std::to_string(int(NcclResult::remoteError)));
  }
}

TEST_CASE("processes that do not fit together") {
  SECTION("one does not come") {
    auto said = inProcesses(1, [&](Board &board, int rank) {
      Rank me(board, rank, {.patienceMilliseconds = 100});
      return std::to_string(int(me.join(2))) + me.cuda.text();
    });
    CHECK_THAT(said[0], Contains("ncclCommInitRank of communicator 1 of 2 ranks waits for ever for "
                                 "rank 1"));
  }
  SECTION("another number of ranks") {
    auto said = inProcesses(2, [&](Board &board, int rank) {
      Rank me(board, rank, {.patienceMilliseconds = 5000});
      return std::to_string(int(me.join(2 + rank))) + me.cuda.text();
    });
    CHECK_THAT(said[0], Contains("rank 0 (process ") && Contains("disagree: 2 ranks, and 3"));
    CHECK_THAT(said[1], Contains("and rank 0 (process ") && Contains("disagree: 3 ranks, and 2"));
  }
  SECTION("one GPU for two") {
    auto said = inProcesses(2, [&](Board &board, int rank) {
      Rank me(board, 0, {.patienceMilliseconds = 5000});
      return std::to_string(int(me.join(2, rank))) + me.cuda.text();
    });
    for (const std::string &one : said)
      CHECK_THAT(one, Contains(std::to_string(int(NcclResult::invalidUsage))) &&
                          Contains("are both on device 0"));
  }
  SECTION("another machine") {
    auto said = inProcesses(1, [&](Board &board, int rank) {
      Rank me(board, rank);
      NcclUniqueId id = minigptc::runtime::cuda::test::newUniqueId();
      std::strcpy(std::strchr(id.bytes, '@'), "@elsewhere");
      NcclComm comm = nullptr;
      return std::to_string(int(me.cuda.nccl.commInitRank(&comm, 2, id, 0))) + me.cuda.text();
    });
    CHECK_THAT(said[0], Contains("the id is of machine elsewhere; emulated GPUs of several "
                                 "processes are of one machine"));
  }
}
