// What orders a training step on a GPU, made wrong one call at a time: each record of an event,
// each wait for one, each synchronisation left out, each copy from and to the host swapped with
// the next call that submits work or waits for some. The emulated device objects, the results differ, or nothing changes.
//
//   schedule_proof_test --every 9                # each 9th call
//   schedule_proof_test --list                   # all, and names those that change nothing
//   schedule_proof_test --devices 2 --mode fsdp  # on several devices
#define CATCH_CONFIG_RUNNER
#include "minigptc/compiler/Compile.h"
#include "minigptc/runtime/Session.h"
#include "models/Registry.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/cuda/test/TestDevice.h"
#include "runtime/hal/Driver.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::runtime::cuda;
using test::Hazard;
using test::TestDevices;

namespace {
struct Options {
  uint64_t every = 1, devices = 1;
  std::string mode = "dp";
  bool list = false;
} options;

enum Call { record, wait, synchronize, waitOnHost, upload, download, kCalls };
const char *const kNames[kCalls] = {"cuEventRecord left out",
                                    "cuStreamWaitEvent left out",
                                    "cuStreamSynchronize left out",
                                    "cuEventSynchronize left out",
                                    "copy from the host behind the next call",
                                    "copy to the host behind the next call"};

/// Which call is made wrong, and how many there have been. The tables are functions without a
/// state of their own, so that this is one for the process.
struct Saboteur {
  std::mutex mutex;
  Call kind = kCalls;
  uint64_t number = 0;
  std::array<uint64_t, kCalls> calls = {};
  std::function<void()> held;
  DriverApi real;

  void start(Call call, uint64_t nth) {
    std::lock_guard lock(mutex);
    kind = call, number = nth, calls = {}, held = nullptr;
  }
  /// Counts the call; true if it is the one.
  bool hits(Call call) {
    std::lock_guard lock(mutex);
    return calls[call]++ == number && call == kind;
  }
  void hold(std::function<void()> call) {
    std::lock_guard lock(mutex);
    held = std::move(call);
  }
  /// Behind every call that submits work or waits for some.
  template <typename T> T then(T result) {
    std::function<void()> call;
    {
      std::lock_guard lock(mutex);
      call.swap(held);
    }
    if (call)
      call();
    return result;
  }
} saboteur;

std::shared_ptr<const CudaApi> sabotage(const CudaApi &tables) {
  saboteur.real = tables.driver;
  auto api = std::make_shared<CudaApi>(tables);
  static Saboteur &s = saboteur;
  api->driver.eventRecord = [](EventHandle event, Stream stream) {
    return s.hits(record) ? Result::success : s.real.eventRecord(event, stream);
  };
  api->driver.streamWaitEvent = [](Stream stream, EventHandle event, unsigned flags) {
    return s.hits(wait) ? Result::success : s.real.streamWaitEvent(stream, event, flags);
  };
  api->driver.streamSynchronize = [](Stream stream) {
    return s.hits(synchronize) ? Result::success : s.then(s.real.streamSynchronize(stream));
  };
  api->driver.eventSynchronize = [](EventHandle event) {
    return s.hits(waitOnHost) ? Result::success : s.then(s.real.eventSynchronize(event));
  };
  api->driver.memcpyHtoDAsync = [](DevicePtr to, const void *from, size_t bytes, Stream stream) {
    if (!s.hits(upload))
      return s.then(s.real.memcpyHtoDAsync(to, from, bytes, stream));
    s.hold([=] { (void)s.real.memcpyHtoDAsync(to, from, bytes, stream); });
    return Result::success;
  };
  api->driver.memcpyDtoHAsync = [](void *to, DevicePtr from, size_t bytes, Stream stream) {
    if (!s.hits(download))
      return s.then(s.real.memcpyDtoHAsync(to, from, bytes, stream));
    s.hold([=] { (void)s.real.memcpyDtoHAsync(to, from, bytes, stream); });
    return Result::success;
  };
  api->driver.launchKernel = [](runtime::cuda::Function function, unsigned gridX, unsigned gridY,
                                unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                                unsigned sharedBytes, Stream stream, void **parameters,
                                void **extra) {
    return s.then(s.real.launchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ,
                                      sharedBytes, stream, parameters, extra));
  };
  api->driver.graphLaunch = [](GraphExec graph, Stream stream) {
    return s.then(s.real.graphLaunch(graph, stream));
  };
  return api;
}

std::vector<std::byte> compileModel() {
  RunConfig config;
  config.model = {.type = "minigpt",
                  .dModel = 8,
                  .numHeads = 2,
                  .dFf = 8,
                  .numLayers = 1,
                  .vocabSize = 12,
                  .contextLength = 4,
                  .dropout = 0.1};
  config.training.batchSize = 4;
  if (options.devices > 1) {
    config.model.type = "transformer_lm";
    config.sharding = {true, options.mode, {int64_t(options.devices), 1}, {"data", "tensor"}, {}};
  }
  Program program = buildProgram(config, {.evaluation = false, .logits = false});
  return compile(program, {.target = "cuda:test", .threads = 1}).artifact;
}

/// What a run came to: the bytes of all results, or why there are none.
struct Outcome {
  std::string error; ///< of the session, or a finding
  std::vector<std::byte> results;
};

void append(std::vector<std::byte> &bytes, const Array &array) {
  bytes.insert(bytes.end(), array.data(), array.data() + array.type().numBytes());
}

/// The inputs of a step: state by its path, the rest by what it is.
std::vector<Array> stepInputs(const EntryInfo &entry, const EntryInfo &from,
                              const std::vector<Array> &outputs, int step) {
  std::vector<Array> inputs;
  for (const ParameterInfo &input : entry.inputs) {
    auto found = std::find_if(from.outputs.begin(), from.outputs.end(),
                              [&](const ParameterInfo &output) { return output.name == input.name; });
    if (found != from.outputs.end()) {
      inputs.push_back(outputs[size_t(found - from.outputs.begin())]);
      continue;
    }
    Array array(input.type);
    for (int64_t i = 0; i < input.type.numBytes() / 4; ++i)
      reinterpret_cast<int32_t *>(array.data())[i] = int32_t(i * 7 + step) % 12;
    inputs.push_back(std::move(array));
  }
  return inputs;
}

/// Parameters, then some steps: at once, recorded, and replayed twice.
Status train(Session &session, std::vector<std::byte> &results) {
  const EntryInfo *init = session.entry("init"), *step = session.entry("train_step");
  std::vector<Array> key = {Array::fromSpan<uint32_t>({2}, std::vector<uint32_t>{1, 2})};
  StatusOr<std::vector<Array>> outputs = session.run("init", key);
  const EntryInfo *last = init;
  for (int i = 0; i < 4 && outputs; ++i) {
    std::vector<Array> inputs = stepInputs(*step, *last, *outputs, i);
    outputs->clear(); // the state is donated
    outputs = session.run("train_step", std::move(inputs));
    last = step;
    for (size_t o = 0; outputs && o < outputs->size(); ++o)
      if (last->outputs[o].name == "loss")
        append(results, (*outputs)[o]);
  }
  if (!outputs)
    return outputs.status();
  for (const Array &array : *outputs)
    append(results, array);
  return {};
}

Outcome runOnce(const std::vector<std::byte> &artifact, uint64_t seed) {
  auto devices = TestDevices::create({.devices = int(options.devices), .seed = seed,
                                      .patienceMilliseconds = 2000, .threads = 1});
  REQUIRE(devices.ok());
  registerDriver(createCudaDriver(sabotage(*(*devices)->api()), "cuda:test"));
  Outcome outcome;
  {
    auto session = Session::load(artifact, {.threads = 1});
    Status status = session ? train(*session, outcome.results) : session.status();
    if (!status)
      outcome.error = status.toString();
  }
  for (const Hazard &hazard : (*devices)->finish())
    if (hazard.kind != test::HazardKind::leak || outcome.error.empty())
      outcome.error += (outcome.error.empty() ? "" : "\n") + hazard.toString();
  return outcome;
}

/// How the edits of a kind came out.
struct Count {
  int all = 0, reported = 0, differs = 0, harmless = 0;
};
} // namespace

TEST_CASE("the schedule of a training step made wrong") {
  registerBuiltinDrivers(); // of which one is replaced
  std::vector<std::byte> artifact = compileModel();
  saboteur.start(kCalls, 0);
  Outcome expected = runOnce(artifact, 0);
  REQUIRE(expected.error == "");
  std::array<uint64_t, kCalls> calls = saboteur.calls;
  for (uint64_t seed : {1, 2, 3}) {
    Outcome again = runOnce(artifact, seed);
    REQUIRE(again.error == "");
    REQUIRE((again.results == expected.results));
  }
  uint64_t edits = 0;
  std::cout << "edit | all | reported | other results | nothing changes\n";
  for (int kind = 0; kind < kCalls; ++kind) {
    Count count;
    for (uint64_t number = 0; number < calls[size_t(kind)]; ++number) {
      if (edits++ % options.every != 0)
        continue;
      ++count.all;
      bool differs = false;
      std::string error;
      for (uint64_t seed : {3, 0, 5}) {
        saboteur.start(Call(kind), number);
        Outcome outcome = runOnce(artifact, seed);
        differs |= outcome.results != expected.results;
        error = outcome.error;
        if (!error.empty())
          break;
      }
      bool reported = !error.empty();
      count.reported += reported;
      count.differs += !reported && differs;
      count.harmless += !reported && !differs;
      if (options.list)
        std::cout << kNames[kind] << ", number " << number << ": "
                  << (reported  ? error.substr(0, 200)
                      : differs ? "other results"
                                : "nothing changes")
                  << "\n";
    }
    std::cout << kNames[kind] << " | " << count.all << " | " << count.reported << " | "
              << count.differs << " | " << count.harmless << "\n";
    // Right or wrong by luck, and nobody says so: that must not be.
    CHECK(count.differs == 0);
  }
}

int main(int argc, char **argv) {
  Catch::Session session;
  using namespace Catch::clara;
  auto cli = session.cli() | Opt(options.every, "n")["--every"]("each nth call") |
             Opt(options.devices, "n")["--devices"]("emulated devices") |
             Opt(options.mode, "mode")["--mode"]("how they share the model") |
             Opt(options.list)["--list"]("say how each edit came out");
  session.cli(cli);
  if (int status = session.applyCommandLine(argc, argv))
    return status;
  return session.run();
}
