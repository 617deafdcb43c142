//===- PipelineRun.h - a small model, trained on stages ---------*- C++ -*-===//
//
//   PipelineRun run(pipelineConfig("minigpt", {.mesh = {{"stage", 2}, {"batch", 2}}}));
//   StatusOr<double> loss = run.step();        // once more; of the batch before the update
//   run.state()["state.optimizer.m.token_emb"] // as the last step left it
//
// Runs of one model and number of layers begin with the same parameters and get the same batches
// and keys of dropout, whatever their mesh.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_MODELS_PIPELINERUN_H
#define MINIGPTC_TEST_MODELS_PIPELINERUN_H

#include "minigptc/compiler/Compile.h"
#include "minigptc/runtime/Session.h"
#include "models/Registry.h"

#include <map>
#include <random>

namespace minigptc::test {

struct PipelineLayout {
  std::string mode = {}; ///< of the Transformer LM
  Mesh mesh = {};        ///< no axes: one device, which takes the whole batch at once
  std::string schedule = "gpipe";
  int64_t microBatches = 4;
};

/// Sequences of a batch, tokens of one, width of activations.
inline constexpr int64_t kPipelineBatch = 16, kPipelineContext = 8, kPipelineWidth = 16;

/// With dropout, where the model has it; gradients are clipped.
runtime::RunConfig pipelineConfig(const std::string &model, const PipelineLayout &layout,
                                  int64_t layers = 8);

class PipelineRun {
public:
  /// Fails the test if the program cannot be compiled, loaded and initialised.
  explicit PipelineRun(const runtime::RunConfig &config,
                       const runtime::SessionOptions &options = {},
                       const CompileOptions &compileOptions = {});

  /// To the first parameters and the first batch.
  void restart();
  runtime::StatusOr<double> step();
  /// By name: parameters and moments.
  const std::map<std::string, Array> &state() const { return state_; }
  std::span<const std::byte> artifact() const { return artifact_; }

private:
  Array tokens(const std::vector<int32_t> &values) const;

  runtime::RunConfig config_;
  std::vector<std::byte> artifact_;
  std::optional<runtime::Session> session_;
  std::map<std::string, Array> state_;
  std::mt19937 random_; ///< of batches
  uint32_t step_ = 0;
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_MODELS_PIPELINERUN_H
