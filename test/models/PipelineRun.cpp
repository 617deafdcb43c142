#include "test/models/PipelineRun.h"

#include <catch2/catch.hpp>

using namespace minigptc;
using namespace minigptc::test;
using minigptc::runtime::StatusOr;

namespace {

constexpr int64_t kVocab = 32;

Array key(uint32_t number) {
  return Array::fromSpan<uint32_t>({2}, std::vector<uint32_t>{5, number});
}

} // namespace

runtime::RunConfig test::pipelineConfig(const std::string &model, const PipelineLayout &layout,
                                        int64_t layers) {
  runtime::RunConfig config;
  config.model = {
      .type = model, .dModel = kPipelineWidth, .numHeads = 4, .dFf = 32, .numLayers = layers};
  config.model.vocabSize = kVocab, config.model.contextLength = kPipelineContext;
  config.model.dropout = model == "minigpt" ? 0.25 : 0;
  config.optimizer.lr = 0.003;
  // Gradients that are rounding noise would else become steps as large as any, and change losses by
  // 1e-3, on one stage as on many.
  config.optimizer.eps = 1e-5;
  config.schedule.reset();
  config.training.batchSize = kPipelineBatch;
  config.training.gradientClip = 0.5;
  if (layout.mesh.empty())
    return config;
  config.training.microBatches = layout.microBatches;
  config.training.schedule = layout.schedule;
  config.sharding.enabled = true;
  config.sharding.mode = layout.mode;
  std::vector<MeshAxis> axes = layout.mesh.axes();
  for (const char *axis : {"batch", "model"}) // Those of MiniGPT's annotations.
    if (model == "minigpt" && !layout.mesh.has(axis))
      axes.push_back({axis, 1});
  for (const MeshAxis &axis : axes) {
    config.sharding.meshAxisNames.push_back(axis.name);
    config.sharding.meshShape.push_back(axis.size);
  }
  return config;
}

PipelineRun::PipelineRun(const runtime::RunConfig &config, const runtime::SessionOptions &options,
                         const CompileOptions &compileOptions)
    : config_(config),
      artifact_(
          compile(buildProgram(config, {.evaluation = false, .logits = false}), compileOptions)
              .artifact) {
  StatusOr<runtime::Session> session = runtime::Session::load(artifact_, options);
  INFO((session ? "" : session.status().toString()));
  REQUIRE(session.ok());
  session_ = std::move(*session);
  restart();
}

void PipelineRun::restart() {
  random_ = std::mt19937(3);
  step_ = 0;
  StatusOr<std::vector<Array>> made = session_->run("init", std::vector<Array>{key(7)});
  INFO((made ? "" : made.status().toString()));
  REQUIRE(made.ok());
  for (size_t i = 0; i < made->size(); ++i)
    state_[session_->entry("init")->outputs[i].name] = std::move((*made)[i]);
}

Array PipelineRun::tokens(const std::vector<int32_t> &values) const {
  int64_t parts = config_.training.microBatches;
  Shape shape{kPipelineBatch / parts, kPipelineContext};
  if (parts > 1)
    shape.insert(shape.begin(), parts);
  return Array::fromSpan<int32_t>(shape, values);
}

StatusOr<double> PipelineRun::step() {
  std::vector<int32_t> x(kPipelineBatch * kPipelineContext), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = int32_t(random_() % kVocab), y[i] = (3 * x[i] + 1) % kVocab;
  std::map<std::string, Array> given = std::move(state_);
  given["batch.x"] = tokens(x), given["batch.y"] = tokens(y), given["key"] = key(step_++);
  const runtime::EntryInfo &entry = *session_->entry("train_step");
  std::vector<Array> inputs;
  for (const runtime::ParameterInfo &input : entry.inputs)
    inputs.push_back(std::move(given.at(input.name)));
  StatusOr<std::vector<Array>> outputs = session_->run("train_step", std::move(inputs));
  if (!outputs)
    return outputs.status();
  state_.clear();
  double loss = 0;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const std::string &name = entry.outputs[i].name;
    if (name == "loss")
      loss = (*outputs)[i].scalar();
    if (name.starts_with("state."))
      state_[name] = std::move((*outputs)[i]);
  }
  return loss;
}
