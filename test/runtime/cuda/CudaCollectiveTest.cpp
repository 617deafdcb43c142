// NCCL's communicators behind the interface of collectives, on emulated devices: what the
// collectives between threads give, at once and replayed, with no findings; and an end with a
// reason whatever goes wrong.
#include "runtime/collectives/TcpStore.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/cuda/test/TestDevice.h"
#include "test/runtime/support/CollectiveCases.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using cuda::CudaApi;
using cuda::NcclComm;
using cuda::NcclResult;
using cuda::Stream;
using cuda::test::Hazard;
using cuda::test::TestDevices;

namespace {

template <typename T> T require(StatusOr<T> value) {
  INFO((value ? "" : value.status().toString()));
  REQUIRE(value.ok());
  return std::move(*value);
}

/// Emulated GPUs with a queue each, connected for some collectives.
class Gpus {
public:
  using Patch = std::function<void(CudaApi &)>;

  Gpus(int count, uint64_t seed, const std::vector<CollectiveProblem> &problems,
       const Patch &patch = {}, int patience = cuda::test::TestDeviceOptions().patienceMilliseconds)
      : machine(require(TestDevices::create(
            {.devices = count, .seed = seed, .patienceMilliseconds = patience}))) {
    auto api = std::make_shared<CudaApi>(*machine->api());
    if (patch)
      patch(*api);
    driver = createCudaDriver(api, "cuda:test");
    std::vector<Device *> members;
    for (int d = 0; d < count; ++d) {
      devices.push_back(require(driver->open(d, {})));
      queues.push_back(require(devices.back()->createQueue()));
      members.push_back(devices.back().get());
    }
    world = require(driver->connect(members, {.problems = problems, .placeOf = [](uint32_t line) {
                                                return line == uint32_t(-1)
                                                           ? ""
                                                           : "model.cpp:" + std::to_string(line);
                                              }}));
  }
  ~Gpus() { finish(); }

  /// Runs `body` on each device's thread; the world's failure.
  Status run(const std::function<Status(int)> &body) {
    world->begin();
    std::vector<std::thread> threads;
    for (int d = 0; d < int(devices.size()); ++d)
      threads.emplace_back([&, d] { world->finish(d, body(d)); });
    for (std::thread &thread : threads)
      thread.join();
    return world->failure();
  }
  Status collect(int d, const CollectiveProblem &p, std::span<void *const> inputs,
                 std::span<void *const> outputs, uint32_t line = 7) {
    return world->end(d).run(*queues[size_t(d)], p, inputs, outputs, {&p, line});
  }
  /// What the test device objects to, when all has been given back.
  std::string finish() {
    queues.clear();
    world.reset();
    devices.clear();
    std::string text;
    for (const Hazard &hazard : machine->finish())
      text += hazard.toString() + "\n";
    return text;
  }

  std::unique_ptr<TestDevices> machine;
  std::unique_ptr<const Driver> driver;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Queue>> queues;
  std::unique_ptr<World> world;
};

/// Milliseconds after which the test device takes a wait for one without an end.
constexpr int kLittlePatience = 5000;

/// A member's operands in its GPU's memory. All-reduces of odd operands are in place.
struct Call {
  Call(Device &device, const CollectiveProblem &p, int64_t rank)
      : device(device), p(p), rank(rank) {
    for (size_t i = 0; i < p.operands.size(); ++i) {
      bool inPlace = p.kind == CollectiveKind::allReduce && i % 2 == 1;
      buffers.push_back(*device.allocate(p.inputBytes(i)));
      inputs.push_back(buffers.back()->data());
      if (!inPlace)
        buffers.push_back(*device.allocate(p.outputBytes(i)));
      outputs.push_back(buffers.back()->data());
    }
  }
  Status upload(int64_t round) {
    for (size_t i = 0; i < inputs.size(); ++i)
      MINIGPTC_RETURN_IF_ERROR(device.upload(inputs[i], test::inputOf(p, i, rank, round)));
    return {};
  }
  Status check(int64_t round) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::vector<std::byte> wanted = test::outputOf(p, i, rank, round), made(wanted.size());
      MINIGPTC_RETURN_IF_ERROR(device.download(made, outputs[i]));
      if (made != wanted)
        return Status(StatusCode::internal, "wrong: " + p.describe() + ", operand " +
                                                std::to_string(i) + " of member " +
                                                std::to_string(rank));
    }
    return {};
  }

  Device &device;
  const CollectiveProblem &p;
  int64_t rank;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<void *> inputs, outputs;
};

/// All problems at once, and then twice by a recording of them.
Status runAndReplay(Gpus &gpus, int d, const std::vector<CollectiveProblem> &problems) {
  Queue &queue = *gpus.queues[size_t(d)];
  std::vector<std::unique_ptr<Call>> calls;
  for (const CollectiveProblem &p : problems)
    calls.push_back(std::make_unique<Call>(*gpus.devices[size_t(d)], p, p.group.rankOf(d)));
  auto submit = [&] {
    for (auto &call : calls)
      MINIGPTC_RETURN_IF_ERROR(gpus.collect(d, call->p, call->inputs, call->outputs));
    return Status();
  };
  std::unique_ptr<Recording> recording;
  for (int round = 0; round < 3; ++round) {
    for (auto &call : calls)
      MINIGPTC_RETURN_IF_ERROR(call->upload(round));
    if (round == 0)
      MINIGPTC_RETURN_IF_ERROR(submit());
    if (round == 1) {
      MINIGPTC_RETURN_IF_ERROR(queue.beginRecording());
      MINIGPTC_RETURN_IF_ERROR(submit());
      StatusOr<std::unique_ptr<Recording>> made = queue.endRecording();
      if (!made)
        return made.status();
      recording = std::move(*made);
    }
    if (round > 0) {
      MINIGPTC_RETURN_IF_ERROR(gpus.world->end(d).meetAll());
      MINIGPTC_RETURN_IF_ERROR(queue.replay(*recording));
    }
    MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
    for (auto &call : calls)
      MINIGPTC_RETURN_IF_ERROR(call->check(round));
  }
  return {};
}

void checkProblems(int devices, uint64_t seed, const std::vector<CollectiveProblem> &problems) {
  INFO("seed " << seed);
  Gpus gpus(devices, seed, problems);
  Status status = gpus.run([&](int d) { return runAndReplay(gpus, d, problems); });
  INFO(status.toString());
  CHECK(status.ok());
  CHECK(gpus.finish() == "");
}

CollectiveProblem sumOf(int64_t count, int64_t devices) {
  return {CollectiveKind::allReduce,
          ReduceKind::sum,
          {{1}, {devices}},
          {{DType::f32, 1, 1, count, false}},
          {}};
}

/// An all-reduce on the GPU, waited for.
Status sumOnce(Gpus &gpus, int d, const CollectiveProblem &p, uint32_t line = 7) {
  Call call(*gpus.devices[size_t(d)], p, p.group.rankOf(d));
  MINIGPTC_RETURN_IF_ERROR(call.upload(0));
  MINIGPTC_RETURN_IF_ERROR(gpus.collect(d, p, call.inputs, call.outputs, line));
  MINIGPTC_RETURN_IF_ERROR(gpus.queues[size_t(d)]->synchronize());
  return call.check(0);
}

} // namespace

TEST_CASE("cuda collectives: all kinds, types and layouts, at once and replayed") {
  checkProblems(3, 0, test::problemsOf({{1}, {3}}, {0, 1, 7}));
  checkProblems(1, 0, test::problemsOf({{1}, {1}}, {7}));
}

TEST_CASE("cuda collectives: groups along one axis, and both") {
  for (const DeviceGroup &group :
       {DeviceGroup{{1}, {2}}, DeviceGroup{{2}, {3}}, DeviceGroup{{1, 2}, {2, 3}}})
    checkProblems(6, 2, test::problemsOf(group, {5}));
}

TEST_CASE("cuda collectives: any order of work gives the same, and nothing is found") {
  std::vector<CollectiveProblem> problems;
  for (const CollectiveProblem &p : test::problemsOf({{1}, {4}}, {6}))
    if (p.operands[0].dtype == DType::f32 && p.combine == ReduceKind::sum)
      problems.push_back(p);
  REQUIRE(problems.size() == 5);
  for (uint64_t seed = 0; seed < 8; ++seed)
    checkProblems(4, seed, problems);
}

TEST_CASE("cuda collectives: a device that fails ends all others, and they can go on") {
  CollectiveProblem p = sumOf(8, 4);
  Gpus gpus(4, 0, {p});
  Status status = gpus.run([&](int d) {
    MINIGPTC_RETURN_IF_ERROR(sumOnce(gpus, d, p));
    if (d == 2)
      return Status(StatusCode::resourceExhausted, "no memory on device 2");
    return sumOnce(gpus, d, p);
  });
  CHECK(status.message() == "no memory on device 2");
  CHECK(gpus.run([&](int d) { return sumOnce(gpus, d, p); }).ok());
  CHECK(gpus.finish() == "");
}

TEST_CASE("cuda collectives: who does not come is named") {
  CollectiveProblem p = sumOf(8, 3);
  Gpus gpus(3, 0, {p});
  Status status = gpus.run([&](int d) { return d == 1 ? Status() : sumOnce(gpus, d, p, 12); });
  CHECK_THAT(status.message(), StartsWith("device 1 has ended and does not come to all_reduce sum "
                                          "f32[8] over 3 devices at model.cpp:12"));
  Status replays = gpus.run(
      [&](int d) { return d == 1 ? sumOnce(gpus, d, p, 9) : gpus.world->end(d).meetAll(); });
  CHECK_THAT(replays.message(), Contains("the recording or replay of a step") &&
                                    Contains("f32[8] over 3 devices at model.cpp:9"));
  CHECK(gpus.finish() == "");
}

TEST_CASE("cuda collectives: nobody waits for a thread that waits for its GPU only") {
  Gpus gpus(2, 0, {sumOf(8, 2)});
  Status status = gpus.run([&](int d) {
    Communicator &end = gpus.world->end(d);
    if (d == 1)
      return end.meetAll();
    end.submittedAll();
    for (int i = 0; i < kLittlePatience && gpus.world->failure(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status(StatusCode::internal, "the GPU's end, which the other device has to come to");
  });
  CHECK(status.message() == "device 0 has ended and does not come to the recording or replay of a "
                            "step, where device 1 waits");
  CHECK(gpus.finish() == "");
}

/// Whether a patched function fails now; they know of no object.
static std::atomic<bool> fails = false;
static const CudaApi *original = nullptr;

TEST_CASE("cuda collectives: a call that NCCL refuses ends the others, for good") {
  CollectiveProblem p = sumOf(8, 3);
  std::shared_ptr<const CudaApi> api;
  Gpus gpus(3, 0, {p}, [&](CudaApi &patched) {
    api = std::make_shared<CudaApi>(patched);
    original = api.get();
    // The first one to come fails: others have met it and are, or will be, on their GPUs.
    patched.nccl.allReduce = [](auto... arguments) {
      return fails.exchange(false) ? NcclResult::internalError
                                   : original->nccl.allReduce(arguments...);
    };
  });
  CHECK(gpus.run([&](int d) { return sumOnce(gpus, d, p); }).ok());
  fails = true;
  Status status = gpus.run([&](int d) { return sumOnce(gpus, d, p); });
  CHECK_THAT(status.message(), StartsWith("ncclAllReduce failed: "));
  Status again = gpus.run([&](int d) { return sumOnce(gpus, d, p); });
  CHECK_THAT(again.message(), StartsWith("collectives ended with a failure before: ncclAllReduce"));
  CHECK(again.help() == "load the program again");
}

TEST_CASE("cuda collectives: a replay that does not start on one device ends the others") {
  CollectiveProblem p = sumOf(8, 3);
  Gpus gpus(3, 0, {p}, {}, kLittlePatience);
  std::vector<std::unique_ptr<Call>> calls;
  for (int d = 0; d < 3; ++d)
    calls.push_back(std::make_unique<Call>(*gpus.devices[size_t(d)], p, d));
  std::vector<std::unique_ptr<Recording>> recordings(3); // Outlive the run, as a program's do.
  Status status = gpus.run([&](int d) {
    Queue &queue = *gpus.queues[size_t(d)];
    Call &call = *calls[size_t(d)];
    MINIGPTC_RETURN_IF_ERROR(call.upload(0));
    MINIGPTC_RETURN_IF_ERROR(gpus.collect(d, p, call.inputs, call.outputs));
    MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
    MINIGPTC_RETURN_IF_ERROR(queue.beginRecording());
    MINIGPTC_RETURN_IF_ERROR(gpus.collect(d, p, call.inputs, call.outputs));
    StatusOr<std::unique_ptr<Recording>> recording = queue.endRecording();
    MINIGPTC_RETURN_IF_ERROR(recording.status());
    recordings[size_t(d)] = std::move(*recording);
    MINIGPTC_RETURN_IF_ERROR(gpus.world->end(d).meetAll());
    if (d == 2)
      return Status(StatusCode::internal, "does not start");
    MINIGPTC_RETURN_IF_ERROR(queue.replay(*recordings[size_t(d)]));
    return queue.synchronize();
  });
  CHECK(status.message() == "does not start");
  recordings.clear();
  calls.clear();
  CHECK(gpus.finish() == "");
}

/// Whether NCCL refuses this thread's calls.
static thread_local bool refuses = false;

TEST_CASE("cuda collectives: all communicators of a GPU learn at once that they are aborted") {
  CollectiveProblem rows = sumOf(8, 2), columns = rows;
  columns.group = {{2}, {2}};
  std::shared_ptr<const CudaApi> api;
  auto refuse = [&](CudaApi &patched) {
    api = std::make_shared<CudaApi>(patched);
    original = api.get();
    patched.nccl.allReduce = [](auto... arguments) {
      return refuses ? NcclResult::internalError : original->nccl.allReduce(arguments...);
    };
  };
  Gpus gpus(4, 0, {rows, columns}, refuse, kLittlePatience);
  Status status = gpus.run([&](int d) {
    MINIGPTC_RETURN_IF_ERROR(sumOnce(gpus, d, rows));
    refuses = d == 3; // Device 1 waits for it on its GPU; rows are done, and end first.
    Call call(*gpus.devices[size_t(d)], columns, columns.group.rankOf(d));
    MINIGPTC_RETURN_IF_ERROR(call.upload(0));
    MINIGPTC_RETURN_IF_ERROR(gpus.collect(d, columns, call.inputs, call.outputs));
    return gpus.queues[size_t(d)]->synchronize(); // Aborted: there are no sums to look at.
  });
  CHECK_THAT(status.message(), StartsWith("ncclAllReduce failed: "));
  CHECK(gpus.finish() == "");
}

/// Whether there is no memory on any GPU.
static std::atomic<bool> isFull = false;

TEST_CASE("cuda collectives: memory is there beforehand") {
  CollectiveProblem p = sumOf(8, 2);
  p.kind = CollectiveKind::allGather;
  p.operands = {{DType::f32, 3, 1, 4, false}, {DType::f32, 5, 1, 4, false}}; // Parts in rows.
  CollectiveProblem small = p;
  small.operands.pop_back();
  std::shared_ptr<const CudaApi> api;
  Gpus gpus(2, 0, {small, p}, [&](CudaApi &patched) {
    api = std::make_shared<CudaApi>(patched);
    original = api.get();
    patched.driver.memAlloc = [](auto... arguments) {
      return isFull ? cuda::Result::outOfMemory : original->driver.memAlloc(arguments...);
    };
  });
  Device &device = *gpus.devices[0];
  CHECK(device.collectiveMemory({&p, 1}) > device.collectiveMemory({&small, 1}));
  CHECK(device.collectiveMemory({&small, 1}) > 0);
  std::vector<std::unique_ptr<Call>> calls;
  for (int d = 0; d < 2; ++d)
    calls.push_back(std::make_unique<Call>(*gpus.devices[size_t(d)], p, d));
  isFull = true;
  Status status = gpus.run([&](int d) {
    Call &call = *calls[size_t(d)];
    MINIGPTC_RETURN_IF_ERROR(call.upload(0));
    MINIGPTC_RETURN_IF_ERROR(gpus.collect(d, p, call.inputs, call.outputs));
    MINIGPTC_RETURN_IF_ERROR(gpus.queues[size_t(d)]->synchronize());
    return call.check(0);
  });
  isFull = false;
  CHECK(status.toString() == Status().toString());
  calls.clear();
  CHECK(gpus.finish() == "");
}

TEST_CASE("cuda collectives: a device takes what it says it takes") {
  CollectiveProblem p = sumOf(8, 2);
  p.kind = CollectiveKind::allGather;
  p.operands = {{DType::f32, 3, 1, 1000, false}};
  struct Taken {
    uint64_t free, said;
  };
  auto takenWith = [&](const std::vector<CollectiveProblem> &problems) {
    Gpus gpus(2, 0, problems);
    return Taken{gpus.devices[1]->memory()->available, gpus.devices[1]->collectiveMemory(problems)};
  };
  Taken none = takenWith({}), some = takenWith({p, p});
  CHECK(none.said == 0);
  CHECK(some.said > 0);
  CHECK(none.free - some.free == some.said);
}

TEST_CASE("cuda collectives: what NCCL reports later ends all") {
  CollectiveProblem p = sumOf(8, 2);
  Gpus gpus(2, 0, {p}, [](CudaApi &patched) {
    patched.nccl.commGetAsyncError = [](NcclComm, NcclResult *error) {
      *error = NcclResult::remoteError;
      return NcclResult::success;
    };
  });
  Status status = gpus.run([&](int d) {
    // Device 1 is slow: the other waits for it.
    for (int i = 0; d == 1 && i < 400 && gpus.world->failure(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return sumOnce(gpus, d, p);
  });
  CHECK_THAT(status.message(), StartsWith("device 0, among 2: a collective failed: "));
}

TEST_CASE("cuda collectives: several GPUs need NCCL, and GPUs") {
  CollectiveProblem p = sumOf(8, 2);
  auto machine = require(TestDevices::create({.devices = 2}));
  auto api = std::make_shared<CudaApi>(*machine->api());
  api->ncclStatus = Status(StatusCode::failedPrecondition, "no NCCL for several GPUs: gone");
  auto driver = createCudaDriver(api, "cuda");
  CHECK(driver->provide(1).ok());
  CHECK(driver->provide(2).message() == "no NCCL for several GPUs: gone");
  Status many = driver->provide(4);
  CHECK(many.message() == "the program's mesh has 4 devices; this machine has 2 GPUs");
  CHECK(many.help() == "choose a mesh of that many devices, or compile for the CPU: --target cpu");
}

namespace {

/// What a process of several has: one GPU, and the store. Here processes are threads, as emulated
/// devices belong to one process.
struct Process {
  Process(std::shared_ptr<const CudaApi> api, TcpStore &store, int rank, int count,
          const CollectiveProblem &p)
      : rank(rank), p(p), driver(createCudaDriver(std::move(api), "cuda:test")) {
    device = *driver->open(rank, {});
    queue = *device->createQueue();
    Device *members[] = {device.get()};
    StatusOr<std::unique_ptr<World>> made =
        driver->connect(members, {.problems = {&p, 1}, .process = {&store, rank, count}});
    joined = made.status();
    if (made)
      world = std::move(*made);
  }
  Status sum(const std::function<Status()> &before = {}) {
    world->begin();
    Status status = before ? before() : Status();
    Call call(*device, p, p.group.rankOf(rank));
    if (status)
      status = call.upload(0);
    if (status)
      status = world->end(rank).run(*queue, p, call.inputs, call.outputs, {});
    if (status)
      status = queue->synchronize();
    world->finish(rank, status);
    Status failed = world->failure();
    return failed ? call.check(0) : failed;
  }

  int rank;
  const CollectiveProblem &p;
  std::unique_ptr<const Driver> driver;
  std::unique_ptr<Device> device;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<World> world;
  Status joined;
};

/// Runs `body` in so many processes that share a store; what each says.
std::vector<Status> inProcesses(int count, std::shared_ptr<const CudaApi> api,
                                const CollectiveProblem &p,
                                const std::function<Status(Process &)> &body) {
  auto first = require(TcpStore::open({.address = "localhost", .port = 0, .serves = true}));
  int port = first->port();
  std::vector<Status> said;
  said.resize(size_t(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<TcpStore> own;
      if (rank > 0)
        own = *TcpStore::open(
            {.address = "localhost", .port = port, .timeout = std::chrono::milliseconds(10000)});
      Process process(api, rank > 0 ? *own : *first, rank, count, p);
      said[size_t(rank)] = process.joined ? body(process) : process.joined;
    });
  for (std::thread &thread : threads)
    thread.join();
  return said;
}

} // namespace

TEST_CASE("cuda processes: ids come by the store, and sums are right") {
  CollectiveProblem p = sumOf(100, 4);
  p.group = {{2}, {2}}; // Two groups: {0, 2} and {1, 3}.
  auto machine = require(TestDevices::create({.devices = 4}));
  auto said = inProcesses(4, machine->api(), p, [](Process &process) {
    for (int round = 0; round < 3; ++round)
      MINIGPTC_RETURN_IF_ERROR(process.sum());
    return Status();
  });
  for (const Status &status : said)
    CHECK(status.toString() == Status().toString());
  CHECK(machine->finish().empty());
}

TEST_CASE("cuda processes: one that fails ends the others") {
  CollectiveProblem p = sumOf(100, 3);
  auto machine = require(TestDevices::create({.devices = 3}));
  auto said = inProcesses(3, machine->api(), p, [](Process &process) {
    MINIGPTC_RETURN_IF_ERROR(process.sum());
    Status own = process.sum([&] {
      return process.rank == 1 ? Status(StatusCode::resourceExhausted, "no memory") : Status();
    });
    CHECK_FALSE(process.sum().ok()); // For good.
    return own;
  });
  CHECK(said[1].message() == "no memory");
  CHECK(said[0].message() == "another process has failed: no memory");
  CHECK(said[2].message() == "another process has failed: no memory");
}

TEST_CASE(
    "cuda processes: one that dies before communicators are made, or meanwhile, ends the wait") {
  bool meets = GENERATE(false, true); // Or it has died before.
  CollectiveProblem p = sumOf(100, 2);
  auto machine = require(TestDevices::create({.devices = 1}));
  auto store = require(TcpStore::open({.address = "localhost", .port = 0, .serves = true}));
  if (meets)
    REQUIRE(store->set("0/is here 1", "").ok());
  auto driver = createCudaDriver(machine->api(), "cuda:test");
  auto device = require(driver->open(0, {}));
  Device *members[] = {device.get()};
  auto begin = std::chrono::steady_clock::now();
  auto dies = [=] {
    return std::chrono::steady_clock::now() < begin + std::chrono::milliseconds(300)
               ? Status()
               : Status(StatusCode::internal, "process 1 has ended without a word");
  };
  Status status =
      driver->connect(members, {.problems = {&p, 1}, .process = {store.get(), 0, 2, dies}})
          .status();
  CHECK(status.message() == "process 1 has ended without a word");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  CHECK(store->get("0/failed")->ends_with("without a word")); // Others learn of it.
  device.reset();
  CHECK(machine->finish().empty());
}
