// What `explain` says that a device holds against what the process grows by, when it runs.
#include "minigptc/compiler/Compile.h"
#include "minigptc/compiler/Explain.h"
#include "minigptc/runtime/Session.h"
#include "models/Registry.h"
#include "runtime/train/TrainingProgram.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

using namespace minigptc;

namespace {

runtime::RunConfig config(const std::string &mode, int64_t devices) {
  runtime::RunConfig config;
  config.model = {.type = "transformer_lm",
                  .dModel = 256,
                  .numHeads = 4,
                  .dFf = 1024,
                  .numLayers = 3,
                  .vocabSize = 256,
                  .contextLength = 64};
  config.training.batchSize = 32;
  config.eval.batchSize = 32;
  bool tensor = mode.starts_with("tp");
  config.sharding = {
      true, mode, {tensor ? 1 : devices, tensor ? devices : 1}, {"data", "tensor"}, std::nullopt};
  return config;
}

int64_t residentBytes() {
  // Only what is in use counts: memory that was freed goes back.
  malloc_trim(0);
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

Array zeros(const TensorType &type) {
  Array array = Array::uninitialized(type);
  std::memset(array.data(), 0, size_t(type.numBytes()));
  return array;
}

/// Zeros, or the state that `init` makes.
std::vector<Array> stepInputs(const runtime::EntryInfo &step, const runtime::EntryInfo &init,
                              std::vector<Array> state) {
  std::vector<Array> inputs;
  for (const runtime::ParameterInfo &input : step.inputs) {
    Array array = zeros(input.type);
    for (size_t i = 0; i < init.outputs.size(); ++i)
      if (init.outputs[i].name == input.name)
        array = std::move(state[i]);
    inputs.push_back(std::move(array));
  }
  return inputs;
}

/// Of a process that makes two steps.
int64_t growth(runtime::Session &session) {
  const runtime::EntryInfo &init = *session.entry("init"), &step = *session.entry("train_step");
  int64_t before = residentBytes();
  auto state = session.run("init", std::vector<Array>{zeros(init.inputs[0].type)});
  REQUIRE(state.ok());
  std::vector<Array> inputs = stepInputs(step, init, std::move(*state));
  state = std::vector<Array>();
  for (int i = 0; i < 2; ++i) {
    auto outputs = session.run("train_step", std::move(inputs));
    REQUIRE(outputs.ok());
    std::vector<Array> next;
    for (const runtime::ParameterInfo &input : step.inputs) {
      Array array = zeros(input.type);
      if (input.donatedTo >= 0)
        array = std::move((*outputs)[size_t(input.donatedTo)]);
      next.push_back(std::move(array));
    }
    inputs = std::move(next);
  }
  return residentBytes() - before;
}

} // namespace

TEST_CASE("a device holds what explain says") {
  mallopt(M_MMAP_THRESHOLD, 64 << 10); // So that a freed block is no more resident.
  std::string mode = GENERATE("dp", "fsdp", "tp");
  int64_t devices = mode == "tp" ? 4 : 8;
  INFO(mode);
  Program program = buildProgram(config(mode, devices), {.evaluation = false, .logits = false});
  int64_t said = explain(program).memory.total();
  auto session = runtime::Session::load(compile(program).artifact, {.threads = 1});
  REQUIRE(session.ok());
  int64_t each = growth(*session) / devices;
  CHECK(double(each) == Approx(double(said)).epsilon(0.05));
}
