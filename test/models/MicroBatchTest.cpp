// A batch taken in parts: the loss and gradients of the whole, and its dropout, on one device and
// on four.
#include "models/Registry.h"
#include "test/support/Compare.h"
#include "test/support/CompiledModule.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>

#include <random>

using namespace minigptc;
using namespace minigptc::test;

namespace {

constexpr int64_t kBatch = 16, kContext = 8, kVocab = 32;

runtime::RunConfig small(const std::string &type) {
  runtime::RunConfig config;
  config.model.type = type;
  config.model.dModel = 16, config.model.numHeads = 4, config.model.dFf = 32,
  config.model.numLayers = 2;
  config.model.vocabSize = kVocab, config.model.contextLength = kContext;
  config.model.dropout = type == "minigpt" ? 0.25 : 0;
  config.training.batchSize = kBatch;
  return config;
}

std::string shapeOf(int64_t parts) {
  std::string rows = std::to_string(kBatch / parts) + "x" + std::to_string(kContext) + "xi32";
  return parts > 1 ? std::to_string(parts) + "x" + rows : rows;
}

/// The results of `gradients` for fixed parameters and tokens.
Tensors gradientsOf(ProgramRunner &runner, const runtime::RunConfig &config,
                    bool interpreted = false) {
  Program program = buildProgram(
      config, {.training = true, .evaluation = false, .logits = false, .gradients = true});
  Program plain = buildProgram(small(config.model.type));
  Tensors state = runner.run(plain, "init", {{"key", runner.tensor("2xui32", {7, 0})}});
  std::mt19937 random(3);
  std::vector<double> x(kBatch * kContext), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = double(random() % kVocab), y[i] = double(random() % kVocab);
  Tensors inputs{{"batch.x", runner.tensor(shapeOf(config.training.microBatches), x)},
                 {"batch.y", runner.tensor(shapeOf(config.training.microBatches), y)}};
  if (config.model.dropout > 0)
    inputs["key"] = runner.tensor("2xui32", {5, 6});
  for (const auto &parameter : makeModel(config.model)->parameters())
    inputs["params." + parameter.name] = state.at("state.params." + parameter.name);
  if (interpreted)
    return runner.run(program, "gradients", inputs, "graph-autodiff");
  return CompiledModule(program, runner.context()).run("gradients", inputs);
}

void checkSame(const Tensors &actual, const Tensors &expected) {
  std::vector<Tensor> all;
  for (const auto &[name, tensor] : expected)
    if (name != "loss")
      all.push_back(tensor);
  CHECK(difference(actual.at("loss"), expected.at("loss"), {1e-5, 0}) == "");
  for (const auto &[name, tensor] : expected) {
    if (name == "loss")
      continue;
    INFO(name);
    CHECK(gradientDifference(actual.at(name), tensor, normOf(all)) == "");
  }
}

} // namespace

TEST_CASE("Micro-batches give the loss and gradients of their batch") {
  ProgramRunner runner;
  for (const char *type : {"transformer_lm", "minigpt"})
    for (bool ignores : {false, true}) {
      runtime::RunConfig config = small(type);
      if (ignores)
        config.data.ignoreIndex = 3;
      Tensors whole = gradientsOf(runner, config);
      for (int64_t parts : {2, 4, 16}) {
        INFO(type << ", " << parts << " parts" << (ignores ? ", targets ignored" : ""));
        config.training.microBatches = parts;
        checkSame(gradientsOf(runner, config), whole);
        if (parts == 4)
          checkSame(gradientsOf(runner, config, /*interpreted=*/true), whole);
      }
    }
}

TEST_CASE("Micro-batches on four devices") {
  struct Case {
    const char *type, *mode;
    std::vector<int64_t> shape;
    std::vector<std::string> names;
  };
  const Case cases[] = {
      {"transformer_lm", "dp", {4, 1}, {"data", "tensor"}},
      {"transformer_lm", "fsdp", {4, 1}, {"data", "tensor"}},
      {"transformer_lm", "tp", {1, 4}, {"data", "tensor"}},
      {"transformer_lm", "fsdp_tp", {2, 2}, {"data", "tensor"}},
      {"transformer_lm", "fsdp_full", {4, 1}, {"data", "tensor"}},
      {"transformer_lm", "tp_sp", {1, 4}, {"data", "tensor"}},
      {"minigpt", "", {4, 1}, {"batch", "model"}},
      {"minigpt", "", {2, 2}, {"batch", "model"}},
  };
  ProgramRunner runner;
  std::map<std::string, Tensors> whole;
  for (const Case &one : cases) {
    runtime::RunConfig config = small(one.type);
    if (!whole.count(one.type))
      whole[one.type] = gradientsOf(runner, config);
    config.sharding = {true, one.mode, one.shape, one.names, std::nullopt};
    for (int64_t parts : {2, 4}) {
      INFO(one.type << " " << one.mode << ", " << parts << " parts");
      config.training.microBatches = parts;
      checkSame(gradientsOf(runner, config), whole[one.type]);
    }
  }
}

TEST_CASE("Micro-batches that do not divide a batch are refused") {
  using Catch::Contains;
  auto message = [](int64_t parts, std::vector<int64_t> mesh) -> std::string {
    runtime::RunConfig config = small("transformer_lm");
    config.training.microBatches = parts;
    if (!mesh.empty())
      config.sharding = {true, "dp", mesh, {"data", "tensor"}, std::nullopt};
    try {
      buildProgram(config);
    } catch (const std::invalid_argument &error) {
      return error.what();
    }
    return "none";
  };
  CHECK(message(16, {}) == "none");
  CHECK_THAT(message(3, {}), Contains("training.micro_batches is 3, which does not divide "
                                      "training.batch_size (16)") &&
                                 Contains("set it to 2 or 4, or training.batch_size to a multiple "
                                          "of 3"));
  CHECK(message(4, {4, 1}) == "none");
  CHECK_THAT(message(8, {4, 1}),
             Contains("which does not divide what each of 4 parts along 'data' has of a batch: 4 "
                      "of 16 sequences") &&
                 Contains("set it to 4, or training.batch_size to a multiple of 32"));
}
