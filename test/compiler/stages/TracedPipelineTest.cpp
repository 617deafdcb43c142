// A traced model in pieces: its stages train as one device does, with dropout, a tied embedding and
// clipping, for every schedule, alone and beside other axes; who has which parameter; the messages.
#include "minigptc/compiler/Compile.h"
#include "minigptc/nn/Layers.h"
#include "minigptc/optim/Optimizer.h"
#include "minigptc/trace/ControlFlow.h"
#include "minigptc/trace/Pipeline.h"
#include "minigptc/trace/Print.h"
#include "runtime/exec/ArtifactReader.h"
#include "test/support/Compare.h"
#include "test/support/CompiledModule.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>
#include <random>

using namespace minigptc;
using namespace minigptc::test;

namespace {

constexpr int64_t kVocab = 16, kWidth = 8, kLayers = 4, kContext = 4, kBatch = 16;

/// Whether programs traced now print: "ids", "block", "loss" in each micro-batch, "total" behind
/// them.
bool prints = false;

void say(const std::string &what, const Value &value) {
  if (prints)
    print(what + " {}", value);
}

struct Block : nn::Module {
  nn::Linear up{kWidth, 2 * kWidth}, down{2 * kWidth, kWidth};
  nn::Dropout drop{0.25};
  Block() {
    submodule("up", up);
    submodule("down", down);
    submodule("drop", drop);
  }
  Value forward(Value x) const override {
    say("block", mean(x));
    return x + drop(down(tanh(up(x))));
  }
  std::string kind() const override { return "block"; }
};

struct Model : nn::Module {
  nn::Embedding embedding{kVocab, kWidth};
  nn::Sequential blocks;
  explicit Model(const std::vector<int64_t> &pieces) {
    blocks.repeat<Block>(kLayers);
    if (!pieces.empty())
      blocks.setPieces(pieces);
    submodule("embedding", embedding);
    submodule("blocks", blocks);
  }
  Value forward(Value ids) const override { return embedding.attend(blocks(embedding(ids))); }
  std::string kind() const override { return "model"; }
};

struct Case {
  Mesh mesh;
  std::vector<int64_t> pieces;
  PipelineOptions pipeline;
  int64_t microBatches = 4;
  bool cutsBatch = false;
};

Tree meanLoss(const Model &model, const Tree &params, const Tree &batch, const Key &key) {
  nn::ApplyOptions options;
  options.training = true;
  options.streams = {{"dropout", key}};
  Value losses = crossEntropy(model.apply(params, batch["x"], options), batch["y"]);
  Value loss = sum(losses) / double(kBatch * kContext);
  say("loss", loss);
  return loss;
}

Program traced(const Case &c) {
  Model model(c.pieces);
  optim::Optimizer optimizer =
      optim::chain({optim::clipByGlobalNorm(0.5), optim::adamw({.learningRate = 0.05})});
  SpecTree params = model.parameterTypes();
  SpecTree state{{"params", params}, {"optimizer", optimizer.stateTypes(params)}};
  auto init = [&](Key key) {
    Tree values = model.init(key);
    return Tree{{"state", {{"params", values}, {"optimizer", optimizer.init(values)}}}};
  };
  auto lossAndGrad = [&](const Tree &values, const Tree &batch, const Key &key) {
    auto loss = [&](Tree p) { return meanLoss(model, p, batch, key).leaf(); };
    return valueAndGrad(loss)(values);
  };
  auto step = [&](Tree before, Tree batch, Key key) {
    Tree values = before["params"], grads;
    Value loss;
    if (c.microBatches == 1) {
      auto [value, gradient] = lossAndGrad(
          values, batch.map([](const Value &part) { return reshape(part, {kBatch, kContext}); }),
          key);
      loss = value, grads = gradient;
    } else {
      auto add = [&](Tree sums, Tree part) {
        say("ids", part["x"].leaf()[0]);
        auto [value, gradient] =
            lossAndGrad(values, part, key.part(sums["number"], c.microBatches));
        std::vector<std::pair<std::string, Value>> parts = gradient.flatten();
        size_t next = 0;
        Tree added = sums["grads"].map(
            [&](const Value &sum) { return sum + parts[next++].second; });
        return std::pair(Tree{{"grads", added},
                              {"loss", sums["loss"] + value},
                              {"number", sums["number"] + 1}},
                         Tree{});
      };
      Tree zero{{"grads", values.map([](const Value &p) { return zeros(p.shape()); })},
                {"loss", zeros({})},
                {"number", zeros({}, i64)}};
      Tree all = scan(add, zero, batch).carry;
      loss = all["loss"].leaf(), grads = all["grads"];
    }
    say("total", loss);
    optim::GuardedUpdate next = optimizer.guardedUpdate(loss, grads, before["optimizer"], values);
    return Tree{{"state", {{"params", next.params}, {"optimizer", next.state}}},
                {"loss", loss},
                {"grad_norm", next.gradNorm},
                {"finite", next.finite}};
  };
  TensorSpec ids(i32, {c.microBatches, kBatch / c.microBatches, kContext});
  SpecTree batch{{"x", ids}, {"y", ids}};
  EntryOptions options{.mesh = c.mesh};
  EntryOptions training{.donate = {"state"}, .mesh = c.mesh};
  if (c.cutsBatch)
    training.inSpecs = {{"batch", P(None, "data")}};
  Program program = trace({Entry("init", init, {{"key", keySpec()}}, options),
                           Entry("train_step", step,
                                 {{"state", state}, {"batch", batch}, {"key", keySpec()}},
                                 training)});
  setPipeline(program, c.pipeline);
  return program;
}

/// Has the types of all tensors that are compared.
ModuleRunner &types() {
  static ModuleRunner runner;
  return runner;
}

/// Losses and norms of some steps, and the last parameters.
Tensors train(const Case &c, int steps) {
  ModuleRunner &runner = types();
  CompiledModule module(traced(c), runner.context());
  Tensors state = module.run("init", {{"key", runner.tensor("2xui32", {7, 0})}}), result;
  std::mt19937 random(3);
  std::string type = std::to_string(c.microBatches) + "x" +
                     std::to_string(kBatch / c.microBatches) + "x" + std::to_string(kContext) +
                     "xi32";
  for (int step = 0; step < steps; ++step) {
    std::vector<double> x(kBatch * kContext), y(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = double(random() % kVocab), y[i] = double((3 * int(x[i]) + 1) % kVocab);
    Tensors inputs = state;
    inputs["batch.x"] = runner.tensor(type, x);
    inputs["batch.y"] = runner.tensor(type, y);
    inputs["key"] = runner.tensor("2xui32", {5, double(step)});
    Tensors outputs = module.run("train_step", inputs);
    for (const char *name : {"loss", "grad_norm"})
      result[name + std::to_string(step)] = outputs.at(name);
    for (auto &[name, value] : state)
      value = outputs.at(name);
  }
  for (const auto &[name, value] : state)
    if (name.starts_with("state.params."))
      result[name] = value;
  return result;
}

void checkSame(const Tensors &actual, const Tensors &expected) {
  for (const auto &[name, value] : expected) {
    INFO(name);
    CHECK(difference(actual.at(name), value, {2e-4, 2e-5}) == "");
  }
}

const std::vector<int64_t> kTwo{0, 0, 1, 1}, kFour{0, 1, 2, 3};

runtime::Program programOf(const Case &c, std::vector<std::byte> &bytes) {
  bytes = compile(traced(c)).artifact;
  runtime::StatusOr<runtime::Program> program = runtime::readArtifact(bytes);
  REQUIRE(program.ok());
  return std::move(*program);
}

} // namespace

TEST_CASE("a traced model in pieces trains as on one device") {
  const Tensors one = train({}, 5);
  const Case cases[] = {
      {{{"stage", 2}}, kTwo, {"gpipe"}},
      {{{"stage", 2}}, kTwo, {"1f1b"}},
      {{{"stage", 4}}, kFour, {"1f1b"}, 8},
      {{{"stage", 2}}, kFour, {"interleaved", 2}},
      {{{"stage", 2}}, kTwo, {"gpipe"}, 1},
      {{{"stage", 2}, {"data", 2}}, kTwo, {"1f1b"}, 4, true},
      {{{"stage", 2}, {"data", 2}}, {0, 1, 1, 1}, {"gpipe"}, 2, true},
  };
  for (const Case &c : cases) {
    INFO(c.mesh.toString() << " " << c.pipeline.schedule << ", " << c.microBatches
                           << " micro-batches");
    checkSame(train(c, 5), one);
  }
}

TEST_CASE("the messages of a traced pipeline: activations, a tied weight, scalars") {
  Case c{{{"stage", 2}}, kTwo, {"1f1b"}};
  std::vector<std::byte> bytes;
  runtime::Program program = programOf(c, bytes);
  std::map<size_t, int> count; // By rank.
  for (const runtime::Message &message : program.messages)
    ++count[message.type.shape.size()];
  CHECK(count[3] == 2 * c.microBatches * (2 - 1));
  CHECK(count[2] == 2); // The embedding, and its gradient.
  CHECK(count[0] <= 4); // A part of the norm there; whether to update, by how much, and how often.
}

TEST_CASE("parameters and moments of a traced pipeline are on their stage") {
  std::vector<std::byte> bytes;
  runtime::Program program = programOf({{{"stage", 2}}, kTwo, {"1f1b"}}, bytes);
  int seen = 0;
  for (const char *name : {"init", "train_step"})
    for (const runtime::ParameterDecl &decl : program.findEntry(name)->outputs) {
      bool first = decl.name.find("embedding") != std::string::npos ||
                   decl.name.find("blocks.0") != std::string::npos ||
                   decl.name.find("blocks.1") != std::string::npos,
           second = decl.name.find("blocks.2") != std::string::npos ||
                    decl.name.find("blocks.3") != std::string::npos;
      INFO(name << ": " << decl.name);
      if (!first && !second)
        continue;
      ++seen;
      CHECK(decl.isOn(0) == first);
      CHECK(decl.isOn(1) == second);
    }
  CHECK(seen == 2 * 3 * (1 + 2 * kLayers));
}

TEST_CASE("stages of a traced pipeline print what they have, once in each micro-batch") {
  prints = true;
  for (const Case &c : {Case{}, Case{{{"stage", 2}}, kTwo, {"1f1b"}},
                        Case{{{"stage", 2}, {"data", 2}}, kTwo, {"gpipe"}, 4, true}}) {
    INFO(c.mesh.toString());
    std::map<std::string, int> count;
    setPrintSink(
        [&](std::string_view line) { ++count[std::string(line.substr(0, line.find(' ')))]; });
    train(c, 2);
    setPrintSink({});
    CHECK(count ==
          std::map<std::string, int>{
              {"ids", 2 * 4}, {"block", 2 * 4 * int(kLayers)}, {"loss", 2 * 4}, {"total", 2}});
  }
  prints = false;
}
