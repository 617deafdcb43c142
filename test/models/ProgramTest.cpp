// Programs of language models: entries, names, metadata, errors, sharing.
#include "models/Registry.h"
#include "runtime/train/TrainingProgram.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <set>

using namespace minigptc;
using namespace minigptc::test;

namespace {

runtime::RunConfig nano(const std::string &type = "transformer_lm") {
  runtime::RunConfig config;
  config.model.type = type;
  config.model.dModel = 16, config.model.numHeads = 2, config.model.dFf = 32,
  config.model.numLayers = 2;
  config.model.vocabSize = 11, config.model.contextLength = 4;
  config.training.batchSize = 2;
  return config;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

std::set<std::string> names(const SpecTree &tree) {
  std::set<std::string> result;
  for (const auto &[path, spec] : tree.flatten())
    result.insert(path);
  return result;
}

} // namespace

TEST_CASE("the default Transformer LM has 18,482,432 parameters") {
  runtime::RunConfig config;
  CHECK(countParameters(config) == 18482432);
  config.model.tieEmbeddings = true;
  CHECK(countParameters(config) == 18482432 - 32000 * 256);
}

TEST_CASE("parameter names") {
  auto has = [](const runtime::RunConfig &config, const char *name, Shape shape) {
    for (const auto &parameter : makeModel(config.model)->parameters())
      if (parameter.name == name)
        return parameter.shape == shape;
    return false;
  };
  CHECK(has(nano(), "layers.1.attn.q_proj.weight", {16, 16}));
  CHECK(has(nano(), "layers.0.ffn.w2.weight", {32, 16}));
  CHECK(has(nano(), "token_embeddings.weight", {11, 16}));
  CHECK(has(nano(), "lm_head.weight", {16, 11}));
  CHECK(has(nano("minigpt"), "blocks.1.query.kernel", {16, 2, 8}));
  CHECK(has(nano("minigpt"), "blocks.1.out.bias", {16}));
  CHECK(has(nano("minigpt"), "blocks.0.linear1.kernel", {16, 32}));
  CHECK(has(nano("minigpt"), "pos_emb", {4, 16}));
  CHECK(has(nano("minigpt"), "output.bias", {11}));
}

TEST_CASE("entries and their trees") {
  Program program = buildProgram(nano("minigpt"), {.gradients = true});
  std::vector<std::string> entries;
  for (const Function &function : program.functions())
    entries.push_back(function.name);
  CHECK(entries ==
        std::vector<std::string>{"init", "train_step", "eval_loss", "logits", "gradients"});
  auto state = names(program.function("init").output);
  CHECK(state.count("state.params.token_emb"));
  CHECK(state.count("state.optimizer.count"));
  CHECK(state.count("state.optimizer.m.blocks.0.ln1.scale"));
  auto step = names(program.function("train_step").output);
  for (const char *name :
       {"loss", "grad_norm", "learning_rate", "finite", "state.optimizer.v.token_emb"})
    CHECK(step.count(name));
  CHECK(program.function("train_step").inputs.size() == 3); // state, batch, key
  CHECK(buildProgram(nano()).function("train_step").inputs.size() == 2);
  std::string text = program.print();
  CHECK(count(text, "graph.index_bound = 11") == 3 * 2 + 1);
  CHECK(count(text, "graph.index_bound = 4") == 1);
}

TEST_CASE("places are those of the model") {
  std::string text = buildProgram(nano("minigpt")).print();
  CHECK(count(text, "\"models/minigpt/MiniGPT.cpp\"") > 0);
  std::set<std::string> folders;
  for (size_t at = text.find("loc(\""); at != std::string::npos; at = text.find("loc(\"", at + 1))
    folders.insert(text.substr(at + 5, text.find_first_of("/\"", at + 5) - at - 5));
  CHECK(folders == std::set<std::string>{"compiler", "models"});
}

TEST_CASE("metadata") {
  Program program = buildProgram(nano());
  std::string text = program.print();
  CHECK(count(text, "minigptc.metadata = ") == 1);
  CHECK(count(text, "model_flops_per_step") == 1);
}

TEST_CASE("a deeper model has no more functions") {
  for (const char *type : {"transformer_lm", "minigpt"}) {
    runtime::RunConfig config = nano(type);
    config.model.numLayers = 4;
    std::string four = buildProgram(config, {.decoding = true}).print();
    config.model.numLayers = 32;
    std::string more = buildProgram(config, {.decoding = true}).print();
    CHECK(count(more, "func.func") == count(four, "func.func"));
  }
}

TEST_CASE("wrong configurations name their key") {
  auto message = [](auto change, const char *type = "transformer_lm") -> std::string {
    runtime::RunConfig config = nano(type);
    change(config);
    try {
      buildProgram(config);
    } catch (const std::invalid_argument &error) {
      return error.what();
    }
    return "none";
  };
  using Config = runtime::RunConfig;
  using Catch::Contains;
  CHECK_THAT(message([](Config &c) { c.model.numHeads = 3; }),
             Contains("model.num_heads: 3 heads do not divide"));
  CHECK_THAT(message([](Config &c) { c.model.numHeads = 16; }), Contains("rotary"));
  CHECK_THAT(message([](Config &c) { c.model.numLayers = 0; }), Contains("model.num_layers is 0"));
  CHECK_THAT(message([](Config &c) { c.model.vocabSize = -1; }), Contains("model.vocab_size"));
  CHECK_THAT(message([](Config &c) { c.model.type = "gpt5"; }),
             Contains("transformer_lm, minigpt"));
  CHECK_THAT(message([](Config &c) { c.model.variant = "odd"; }, "minigpt"),
             Contains("model.variant"));
  CHECK_THAT(message([](Config &c) { c.model.dropout = 1; }, "minigpt"), Contains("model.dropout"));
  CHECK_THAT(message([](Config &c) { c.schedule = runtime::ScheduleConfig{1, 0, 5, 5}; }),
             Contains("cosine_cycle_iters"));
  CHECK_THAT(message([](Config &c) { c.optimizer.type = "lion"; }), Contains("optimizer.type"));
  CHECK_THAT(message([](Config &c) { c.training.batchSize = 0; }), Contains("training.batch_size"));
}

TEST_CASE("initial values") {
  runtime::RunConfig config = nano();
  config.model.dModel = 64, config.model.numHeads = 4;
  ProgramRunner runner;
  auto state =
      runner.run(buildProgram(config), "init", {{"key", runner.tensor("2xui32", {42, 0})}});
  auto deviation = [&](const std::string &name) {
    const Tensor &value = state.at("state.params." + name);
    double sum = 0;
    for (int64_t i = 0; i < value.getNumElements(); ++i)
      sum += value.getFloat(i) * value.getFloat(i);
    return std::sqrt(sum / double(value.getNumElements()));
  };
  CHECK(deviation("layers.0.attn.q_proj.weight") == Approx(std::sqrt(2.0 / 128)).epsilon(0.05));
  CHECK(deviation("layers.0.attn.q_proj.weight") != deviation("layers.1.attn.q_proj.weight"));
  CHECK(deviation("layers.0.attn.q_proj.weight") != deviation("layers.0.attn.k_proj.weight"));
  CHECK(deviation("token_embeddings.weight") == Approx(1.0 / 8).epsilon(0.1));
  CHECK(deviation("layers.0.ln1.weight") == 1);
  CHECK(state.at("state.optimizer.count").getInt(0) == 0);
}

TEST_CASE("logits at a position are those of the whole sequence") {
  for (const char *type : {"transformer_lm", "minigpt"}) {
    runtime::RunConfig config = nano(type);
    config.training.batchSize = 1;
    std::unique_ptr<LanguageModel> model = makeModel(config.model);
    Program program = buildProgram(config);
    ProgramRunner runner;
    auto state = runner.run(program, "init", {{"key", runner.tensor("2xui32", {1, 0})}});
    Tensors inputs{{"tokens", runner.tensor("1x4xi32", {3, 1, 4, 1})}};
    for (const auto &parameter : model->parameters())
      inputs["params." + parameter.name] = state.at("state.params." + parameter.name);
    auto at = [&](double position) {
      inputs["position"] = runner.tensor("i32", {position});
      return runner.run(program, "logits", inputs).at("logits");
    };
    Tensor second = at(1), third = at(2);
    CHECK(second.getShape() == llvm::ArrayRef<int64_t>{11});
    CHECK(second.getFloat(0) != third.getFloat(0));
    inputs["tokens"] = runner.tensor("1x4xi32", {3, 1, 4, 9}); // causal: later tokens do not matter
    CHECK(at(1).getFloat(0) == second.getFloat(0));
    inputs["tokens"] = runner.tensor("1x4xi32", {2, 1, 4, 9});
    CHECK(at(1).getFloat(0) != second.getFloat(0));
  }
}
