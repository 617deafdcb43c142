// Layers and whole models against recorded values (test/golden), forward and
// gradients, in the interpreter and compiled.
#include "minigptc/nn/Attention.h"
#include "minigptc/trace/Transforms.h"
#include "models/Registry.h"
#include "models/transformer_lm/TransformerLM.h"
#include "test/support/Compare.h"
#include "test/support/CompiledModule.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>

using namespace minigptc;
using namespace minigptc::test;

namespace {

/// Both ways to run a program.
template <typename Check>
void bothWays(ProgramRunner &runner, const Program &program, const std::string &function,
              const Tensors &inputs, Check check) {
  {
    INFO("interpreted");
    check(runner.run(program, function, inputs, "graph-autodiff"));
  }
  INFO("compiled");
  check(CompiledModule(program, runner.context()).run(function, inputs));
}

Tensors golden(ProgramRunner &runner, const std::string &name) {
  return readSafetensors(runner.context(),
                         std::string(MINIGPTC_TEST_DIR) + "/golden/synth/" + name + ".safetensors");
}

/// Files hold matrices [out, in].
Tensor transposed(const Tensor &matrix) {
  auto shape = matrix.getShape();
  Tensor result(
      mlir::RankedTensorType::get({shape[1], shape[0]}, matrix.getType().getElementType()));
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j)
      result.setFloat(j * shape[0] + i, matrix.getFloat(i * shape[1] + j));
  return result;
}

Tensor inProgram(const Tensor &value, bool isTransposed) {
  return isTransposed ? transposed(value) : value;
}

SpecTree specOf(const nn::Module &module) {
  std::vector<std::pair<std::string, TensorSpec>> leaves;
  for (const auto &parameter : module.parameters())
    leaves.emplace_back(parameter.name, TensorSpec(f32, parameter.shape));
  return SpecTree::unflatten(leaves);
}

TensorSpec specOf(const Tensor &tensor) {
  return TensorSpec(mlir::isa<mlir::FloatType>(tensor.getType().getElementType()) ? f32 : i32,
                    Shape(tensor.getShape().begin(), tensor.getShape().end()));
}

/// A layer: `expected` for `x`, and the gradients for the cotangent `ct`. The names
/// in the file are `prefix` + the parameters' (without `suffix`).
void checkLayer(const std::string &file, const nn::Module &layer, const std::string &prefix,
                const std::string &suffix, Tolerance tolerance) {
  ProgramRunner runner;
  Tensors data = golden(runner, file);
  auto run = [&](Tree params, Value x, Value ct) {
    auto forward = [&](Tree p, Value in) { return layer.apply(p, in); };
    auto [y, pullback] = vjp(forward)(params, x);
    Tree grads = pullback(ct);
    return Tree{{"y", y}, {"params", grads["0"]}, {"x", grads["1"]}};
  };
  TensorSpec input = specOf(data.at("x"));
  Program program =
      trace({{"f", run, {{"params", specOf(layer)}, {"x", input}, {"ct", specOf(data.at("ct"))}}}});
  Tensors inputs{{"x", data.at("x")}, {"ct", data.at("ct")}};
  std::map<std::string, std::string> fileNames{{"x", "x"}};
  for (const auto &parameter : layer.parameters()) {
    std::string name = prefix + parameter.name.substr(0, parameter.name.size() - suffix.size());
    fileNames["params." + parameter.name] = name;
    inputs["params." + parameter.name] = inProgram(data.at(name), parameter.shape.size() == 2);
  }
  std::vector<Tensor> all;
  for (auto &[path, name] : fileNames)
    all.push_back(data.at("grad." + name));
  bothWays(runner, program, "f", inputs, [&](const Tensors &results) {
    CHECK(difference(results.at("y"), data.at("expected"), tolerance) == "");
    for (auto &[path, name] : fileNames) {
      INFO(path);
      Tensor expected = data.at("grad." + name);
      bool isMatrix = path != "x" && expected.getShape().size() == 2;
      CHECK(gradientDifference(results.at(path), inProgram(expected, isMatrix), normOf(all)) == "");
    }
  });
}

/// A model's loss and gradients through its entry `gradients`.
void checkModel(const std::string &file, const runtime::ModelConfig &model,
                const std::string &inputName) {
  ProgramRunner runner;
  Tensors data = golden(runner, file);
  runtime::RunConfig config;
  config.model = model;
  config.training.batchSize = data.at(inputName).getShape()[0];
  std::unique_ptr<LanguageModel> lm = makeModel(model);
  Program program = buildProgram(
      config, {.training = false, .evaluation = true, .logits = false, .gradients = true});
  Tensors inputs{{"batch.x", data.at(inputName)}, {"batch.y", data.at("targets")}};
  std::vector<Tensor> all;
  for (const auto &parameter : lm->parameters()) {
    inputs["params." + parameter.name] =
        inProgram(data.at("param." + parameter.name), lm->isTransposedInFiles(parameter));
    all.push_back(data.at("grad." + parameter.name));
  }
  Tolerance tolerance{1e-4, 1e-5};
  bothWays(runner, program, "eval_loss", inputs, [&](const Tensors &results) {
    CHECK(difference(results.at("loss"), data.at("expected"), tolerance) == "");
  });
  bothWays(runner, program, "gradients", inputs, [&](const Tensors &results) {
    CHECK(difference(results.at("loss"), data.at("expected"), tolerance) == "");
    for (const auto &parameter : lm->parameters()) {
      INFO(parameter.name);
      Tensor expected =
          inProgram(data.at("grad." + parameter.name), lm->isTransposedInFiles(parameter));
      CHECK(gradientDifference(results.at("grads." + parameter.name), expected, normOf(all)) == "");
    }
  });
}

runtime::ModelConfig lmConfig(int64_t d, int64_t ff, int64_t layers, int64_t vocab,
                              int64_t context) {
  runtime::ModelConfig config;
  config.dModel = d, config.numHeads = 4, config.dFf = ff, config.numLayers = layers;
  config.vocabSize = vocab, config.contextLength = context;
  return config;
}

} // namespace

TEST_CASE("multi-head attention") {
  nn::MultiHeadAttention attention(64, {.heads = 4});
  checkLayer("multihead_self_attention", attention, "attn.", "", {1e-4, 1e-5});
}

TEST_CASE("multi-head attention with rotary positions") {
  nn::MultiHeadAttention attention(64, {.heads = 4, .ropeTheta = 1e4});
  checkLayer("multihead_self_attention_with_rope", attention, "attn.", "", {1e-4, 1e-5});
}

TEST_CASE("swiglu") {
  nn::SwiGLU swiglu(64, 128);
  checkLayer("swiglu", swiglu, "", ".weight", {1e-4, 1e-5});
}

TEST_CASE("transformer block") {
  TransformerBlock block(lmConfig(64, 128, 1, 16, 16));
  checkLayer("transformer_block", block, "", "", {1e-4, 2e-5});
}

TEST_CASE("transformer lm") {
  ProgramRunner runner;
  Tensors data = golden(runner, "transformer_lm"), weights = golden(runner, "ts_weights");
  std::unique_ptr<LanguageModel> model = makeModel(lmConfig(64, 128, 3, 10000, 16));
  auto run = [&](Tree params, Value ids) { return model->apply(params, ids); };
  Program program =
      trace({{"f", run, {{"params", specOf(*model)}, {"ids", specOf(data.at("in_indices"))}}}});
  Tensors inputs{{"ids", data.at("in_indices")}};
  for (const auto &parameter : model->parameters())
    inputs["params." + parameter.name] =
        inProgram(weights.at(parameter.name), model->isTransposedInFiles(parameter));
  bothWays(runner, program, "f", inputs, [&](const Tensors &results) {
    CHECK(difference(results.at("result"), data.at("expected"), {1e-4, 1e-4}) == "");
  });
}

TEST_CASE("tiny lm: loss and gradients") {
  checkModel("tiny_lm_loss_and_grads", lmConfig(64, 128, 2, 256, 32), "inputs");
}

TEST_CASE("minigpt: loss and gradients") {
  runtime::ModelConfig config;
  config.type = "minigpt";
  config.dModel = 32, config.numHeads = 4, config.dFf = 64, config.numLayers = 4;
  config.vocabSize = 96, config.contextLength = 16, config.dropout = 0;
  checkModel("minigpt_loss_and_grads", config, "tokens");
}
