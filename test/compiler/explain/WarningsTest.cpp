// Annotations that cost more than they need, in programs of a user.
#include "compiler/explain/Warnings.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/trace/ProgramImpl.h"
#include "minigptc/nn/Attention.h"
#include "minigptc/nn/Layers.h"
#include "minigptc/trace/Program.h"
#include "minigptc/trace/Transforms.h"

#include <catch2/catch.hpp>

using namespace minigptc;

namespace {

const Mesh mesh{{"batch", 4}, {"model", 2}};

/// The warnings of a step: the loss of a model on f32[8,6,16] and its gradient.
std::vector<ExplainedWarning> warningsOf(const nn::Module &model) {
  auto step = [&](Tree params, Value x) {
    auto loss = [&](Tree p) { return mean(square(model.apply(p, x))); };
    return Tree{{"params", valueAndGrad(loss)(params).grads}};
  };
  SpecTree params = evalShape([&](Key key) { return model.init(key); }, {keySpec()});
  Program program =
      trace({Entry("train_step", step, {{"params", params}, {"x", TensorSpec(f32, {8, 6, 16})}},
                   {.mesh = mesh, .inSpecs = {{"x", P("batch")}}})});
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  program.impl()->context.appendDialectRegistry(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = program.impl()->module->clone();
  CompileStats stats;
  REQUIRE(mlir::succeeded(runPipeline(*module, Stage::step, {}, stats)));
  std::vector<ExplainedWarning> warnings = collectWarnings(*module, "train_step");
  for (const detail::TraceRemark &remark : program.impl()->remarks)
    warnings.push_back({remark.text, remark.place, remark.bytes});
  return warnings;
}

void says(const std::vector<ExplainedWarning> &warnings, const std::string &part) {
  std::string all;
  for (const ExplainedWarning &warning : warnings)
    all += warning.text + "\n";
  INFO(all);
  CHECK(all.find(part) != std::string::npos);
}

struct Mlp : nn::Module {
  nn::Linear up, down;
  Mlp(std::optional<PartitionSpec> in, std::optional<PartitionSpec> out)
      : up(16, 32, {.spec = in}), down(32, 16, {.spec = out}) {
    submodule("up", up);
    submodule("down", down);
  }
  Value forward(Value x) const override { return down(relu(up(x))); }
};

struct Constrained : nn::Module {
  nn::Linear linear{16, 16};
  PartitionSpec spec;
  explicit Constrained(PartitionSpec spec) : spec(std::move(spec)) { submodule("linear", linear); }
  Value forward(Value x) const override { return linear(withShardingConstraint(x, spec)); }
};

} // namespace

TEST_CASE("both kernels cut their outputs: the hidden activation is gathered") {
  Mlp model(P(None, "model"), P(None, "model"));
  std::vector<ExplainedWarning> warnings = warningsOf(model);
  REQUIRE(warnings.size() == 1);
  says(warnings, "'down.weight' P(None, 'model') cuts what the product gives, but the activation "
                 "f32[8,6,32] is cut over 'model' along dimension 2");
  says(warnings, "P('model', None) needs one all-reduce of the result instead");
  CHECK(warnings[0].bytes == 8 * 6 * 32 * 4 / 4 / 2.0); // a batch shard's, half of it
  CHECK(warnings[0].at.find("WarningsTest.cpp:") != std::string::npos);
}

TEST_CASE("the pair that fits, and no annotations: nothing to say") {
  Mlp model(P(None, "model"), P("model", None));
  CHECK(warningsOf(model).empty());
  Mlp plain(std::nullopt, std::nullopt);
  CHECK(warningsOf(plain).empty());
}

TEST_CASE("a summed dimension is cut, the activation is whole") {
  Mlp model(P("model", None), std::nullopt);
  std::vector<ExplainedWarning> warnings = warningsOf(model);
  REQUIRE(warnings.size() == 1);
  says(warnings, "'up.weight' P('model', None) cuts the dimension that the product sums, while the "
                 "activation is whole over 'model'");
  says(warnings, "P(None, 'model') needs neither");
  CHECK(warnings[0].bytes == 2 * 0.5 * (8 * 6 * 32 * 4 / 4));
}

TEST_CASE("the output kernel of an attention cuts the size of heads instead of the heads") {
  auto withOut = [](PartitionSpec out) {
    nn::MultiHeadAttention model(
        16, {.heads = 4, .splitHeads = true, .linear = {.spec = P(None, "model")}, .outSpec = out});
    return warningsOf(model);
  };
  std::vector<ExplainedWarning> warnings = withOut(P(None, "model"));
  REQUIRE(warnings.size() == 1);
  says(warnings, "'output_proj.weight' P(None, 'model', None) cuts dimension 1 (of 4), while the "
                 "activation f32[8,6,4,4] is cut over 'model' along dimension 2 (of 4)");
  says(warnings, "P('model', None, None) fits it");
  CHECK(withOut(P("model")).empty());
}

TEST_CASE("a norm's vectors are cut") {
  nn::LayerNorm model(16, 1e-6, P("model"));
  std::vector<ExplainedWarning> warnings = warningsOf(model);
  REQUIRE(warnings.size() == 1);
  says(warnings, "'scale' P('model') cuts the dimension that the normalisation reduces");
}

TEST_CASE("matrices that lie whole where others are stored in parts") {
  Mlp model(P("batch", None), P(None, None));
  std::vector<ExplainedWarning> warnings = warningsOf(model);
  REQUIRE(warnings.size() == 1);
  says(warnings, "'down.weight' lie whole on all 4 devices of 'batch': 50 % of the parameters");
  CHECK(warnings[0].bytes == 32 * 16 * 4 * 3 / 4.0);
}

TEST_CASE("a constraint that cuts the sequence by mistake") {
  Constrained wrong(P("batch", "model"));
  std::vector<ExplainedWarning> warnings = warningsOf(wrong);
  REQUIRE(warnings.size() == 1);
  says(warnings,
       "withShardingConstraint: P('batch', 'model') on f32[8,6,16] cuts dimension 1 of 3");
  says(warnings, "did you mean P('batch', None, 'model')?");
  CHECK(warnings[0].bytes == 8 * 6 * 16 * 4 / 4 / 2.0);
  Constrained meant(P("batch", "model", None));
  CHECK(warningsOf(meant).empty());
}
