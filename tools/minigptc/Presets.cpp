//===- Presets.cpp - named configurations ---------------------------------===//
#include "runtime/base/Suggest.h"
#include "tools/minigptc/Config.h"

#include <functional>

using namespace minigptc;
using runtime::RunConfig;

namespace {

struct Preset {
  const char *name;
  std::function<void(RunConfig &)> apply;
};

/// Sizes and schedule of a small Transformer LM on bytes.
void smallLm(RunConfig &c, int64_t d, int64_t ff, int64_t layers, int64_t context, int64_t batch) {
  c.model = {.type = "transformer_lm",
             .dModel = d,
             .numHeads = 8,
             .dFf = ff,
             .numLayers = layers,
             .vocabSize = 256,
             .contextLength = context};
  c.training.batchSize = batch;
}

/// MiniGPT trains with plain Adam, without clipping or a schedule.
void minigpt(RunConfig &c, int64_t d, int64_t ff, int64_t blocks, int64_t maxlen, int64_t vocab,
             int64_t batch) {
  c.model = {.type = "minigpt",
             .dModel = d,
             .numHeads = 8,
             .dFf = ff,
             .numLayers = blocks,
             .vocabSize = vocab,
             .contextLength = maxlen,
             .dropout = 0.1};
  c.optimizer = {.type = "adam", .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .weightDecay = 0};
  c.schedule.reset();
  c.training.batchSize = batch;
  c.training.gradientClip = 0;
}

const std::vector<Preset> &presets() {
  static const std::vector<Preset> list = {
      {"nano",
       [](RunConfig &c) {
         smallLm(c, 32, 64, 2, 32, 32);
         c.schedule = {.maxLr = 1e-3, .minLr = 1e-4, .warmupIters = 10, .cycleIters = 200};
         c.training.maxIters = 50;
       }},
      {"tiny",
       [](RunConfig &c) {
         smallLm(c, 128, 512, 4, 128, 16);
         c.schedule = {.maxLr = 1e-3, .minLr = 1e-4, .warmupIters = 100, .cycleIters = 2000};
         c.training.maxIters = 500;
       }},
      {"default", [](RunConfig &) {}},
      {"minigpt-tiny",
       [](RunConfig &c) {
         minigpt(c, 64, 64, 4, 64, 256, 32);
         c.training.maxIters = 200;
       }},
      {"minigpt", [](RunConfig &c) { minigpt(c, 256, 256, 8, 256, 50257, 256); }},
  };
  return list;
}

} // namespace

std::vector<std::string> minigptc::presetNames() {
  std::vector<std::string> names;
  for (const Preset &preset : presets())
    names.push_back(preset.name);
  return names;
}

runtime::Status ConfigBuilder::applyPreset(const std::string &name) {
  for (const Preset &preset : presets())
    if (name == preset.name) {
      config_ = RunConfig();
      preset.apply(config_);
      config_.name = name;
      return runtime::Status::success();
    }
  return runtime::Status(runtime::StatusCode::invalidArgument, "unknown preset '" + name + "'")
      .withHelp(runtime::suggestion(name, presetNames()));
}
