//===- RunConfig.h - everything that determines a training run --*- C++ -*-===//
//
// The resolved configuration: what the YAML sections of a config file, presets
// and flags come to. Carried as JSON in the artifact's metadata and in
// checkpoints, so that `minigptc-run` and a resumed run need nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_RUNCONFIG_H
#define MINIGPTC_RUNTIME_TRAIN_RUNCONFIG_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace minigptc::runtime {

struct ModelConfig {
  std::string type = "transformer_lm"; ///< or "minigpt"
  int64_t dModel = 256, numHeads = 4, dFf = 1024, numLayers = 2, vocabSize = 32000, contextLength = 1024;
  double theta = 1e4;
  double dropout = 0.1;          ///< MiniGPT
  std::string variant = "full";  ///< MiniGPT: full or simple
  bool tieEmbeddings = false;    ///< Transformer LM
};

struct OptimizerConfig {
  std::string type = "adamw"; ///< adamw, adam, sgd
  double lr = 6e-4;           ///< used where there is no schedule
  double beta1 = 0.9, beta2 = 0.95;
  double weightDecay = 0.1, eps = 1e-8;
  double momentum = 0;        ///< sgd
  std::string decay = "all";  ///< all, or matrices: not norms, biases, embeddings
};

/// t < warmup: linear; then a cosine to min at cycle; then min. See SEMANTICS.
struct ScheduleConfig {
  double maxLr = 6e-4, minLr = 6e-5;
  int64_t warmupIters = 2000, cycleIters = 100000;
};

struct TrainingConfig {
  int64_t batchSize = 128, maxIters = 1000;
  int64_t evalInterval = 0;       ///< 0: only where asked for
  int64_t logInterval = 10, perfWarmupSteps = 2;
  double gradientClip = 1.0;      ///< 0: no clipping
  uint64_t seed = 42;
  std::string onNonfinite = "stop"; ///< or skip
};

struct DataConfig {
  bool dummy = false;
  std::string order = "random"; ///< or sequential
  std::string trainPath, valPath; ///< token files
  std::string textPath;           ///< a text, trained on as bytes
  std::optional<int64_t> ignoreIndex;
};

struct CheckpointConfig {
  int64_t saveInterval = 0; ///< 0: only at the end and when interrupted
  std::string dir, resumeFrom;
};

struct EvalConfig {
  int64_t iters = 10;     ///< batches of an evaluation
  int64_t batchSize = 0;  ///< 0: the training batch
};

struct RunConfig {
  std::string name = "default"; ///< names the default output folder
  ModelConfig model;
  OptimizerConfig optimizer;
  std::optional<ScheduleConfig> schedule = ScheduleConfig{};
  TrainingConfig training;
  DataConfig data;
  CheckpointConfig checkpoint;
  EvalConfig eval;

  std::string toJson() const;
  static StatusOr<RunConfig> fromJson(const std::string &json);
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_RUNCONFIG_H
