#include "test/compiler/target/cuda/ModelCases.h"
#include "minigptc/compiler/Compile.h"
#include "models/Registry.h"

using namespace minigptc;
using namespace minigptc::test;

namespace {
/// A mesh, and sizes that its axes can cut; what need not be cut evenly is odd.
struct Layout {
  const char *mode;
  std::vector<int64_t> shape;
  std::vector<std::string> axes;
  int64_t width, heads, feedForward, vocabulary, context, batch;
};
} // namespace

static runtime::RunConfig configure(const char *type, const Layout &layout, bool narrow) {
  runtime::RunConfig config;
  config.model = {.type = type,
                  .dModel = layout.width,
                  .numHeads = layout.heads,
                  .dFf = layout.feedForward,
                  .numLayers = 2,
                  .vocabSize = layout.vocabulary,
                  .contextLength = layout.context,
                  .dropout = 0.1};
  config.training.batchSize = layout.batch;
  config.training.precision = narrow ? "bf16" : "f32";
  if (!layout.axes.empty())
    config.sharding = {true, layout.mode, layout.shape, layout.axes, std::nullopt};
  return config;
}

std::vector<ModelCase> minigptc::test::modelCases() {
  const Layout one = {"", {}, {}, 24, 3, 41, 61, 17, 3};
  const Layout transformers[] = {
      one,
      {"fsdp_tp", {2, 2}, {"data", "tensor"}, 36, 6, 42, 62, 19, 6},
      {"tp_sp", {1, 4}, {"data", "tensor"}, 40, 4, 44, 60, 20, 3},
      {"fsdp", {4, 1}, {"data", "tensor"}, 20, 2, 44, 61, 13, 12},
      {"tp", {1, 4}, {"data", "tensor"}, 24, 4, 36, 68, 15, 3},
      {"dp", {4, 1}, {"data", "tensor"}, 24, 3, 41, 61, 11, 4},
      {"fsdp_full", {4, 1}, {"data", "tensor"}, 20, 2, 44, 60, 9, 4},
      // More than a warp has columns, more than a tile has keys.
      {"", {}, {}, 66, 3, 130, 259, 37, 2},
  };
  const Layout small[] = {one, {"", {2, 2}, {"batch", "model"}, 36, 6, 42, 62, 19, 6}};
  std::vector<ModelCase> cases;
  for (const Layout &layout : transformers)
    for (bool narrow : {false, true}) {
      std::string name = std::string("transformer_lm") + (*layout.mode ? " " : "") + layout.mode +
                         (narrow ? " bf16" : " f32") + " " + std::to_string(layout.width);
      cases.push_back({name, configure("transformer_lm", layout, narrow)});
    }
  for (const char *variant : {"full", "simple"})
    for (const Layout &layout : small)
      for (bool narrow : {false, true}) {
        std::string name = std::string("minigpt ") + variant +
                           (layout.axes.empty() ? "" : " sharded") + (narrow ? " bf16" : " f32");
        ModelCase made{name, configure("minigpt", layout, narrow)};
        made.config.model.variant = variant;
        cases.push_back(std::move(made));
      }
  // Other optimizers, one matrix for embedding and head, targets that do not count.
  for (const char *optimizer : {"sgd", "adam"}) {
    ModelCase made{std::string("transformer_lm tied ") + optimizer,
                   configure("transformer_lm", one, false)};
    made.config.model.tieEmbeddings = true;
    made.config.optimizer.type = optimizer;
    made.config.optimizer.momentum = 0.9;
    made.config.data.ignoreIndex = 7;
    cases.push_back(std::move(made));
  }
  return cases;
}

std::string minigptc::test::blocksOf(const ModelCase &model) {
  Program program = buildProgram(model.config, {.decoding = true});
  return printStage(program, Stage::exec, {.target = "cuda", .threads = 1});
}
