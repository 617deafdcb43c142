//===- RunConfig.h - everything that determines a training run --*- C++ -*-===//
//
// The resolved configuration: what the YAML sections of a config file, presets
// and flags come to. Carried as JSON in the artifact's metadata and in
// checkpoints, so that `minigptc-run` and a resumed run need nothing else.
//
// `visitConfig` lists the sections and keys; the JSON form is made from it.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_RUNCONFIG_H
#define MINIGPTC_RUNTIME_TRAIN_RUNCONFIG_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace minigptc::runtime {

struct ModelConfig {
  std::string type = "transformer_lm"; ///< or "minigpt"
  int64_t dModel = 256, numHeads = 4, dFf = 1024, numLayers = 2, vocabSize = 32000,
          contextLength = 1024;
  double theta = 1e4;
  double dropout = 0.1;                ///< MiniGPT
  std::string variant = "full";        ///< MiniGPT: full or simple
  std::string annotations = "default"; ///< MiniGPT: default or reference
  bool tieEmbeddings = false;          ///< Transformer LM
};

/// Mesh and mode; empty where one device does everything.
struct ShardingConfig {
  bool enabled = false;
  std::string mode;
  std::vector<int64_t> meshShape;
  std::vector<std::string> meshAxisNames;
  std::optional<int64_t> bucketBytes; ///< of the operands of one collective, at most
  // Of a mesh with an axis `stage`: which blocks each stage has (models/Stages.h).
  std::vector<int64_t> stageBlocks;   ///< how many each piece has; empty: as stageBalance says
  std::string stageBalance = "count"; ///< or cost
  std::vector<int64_t> stageCosts;    ///< of embedding, blocks, head, measured; empty: their FLOPs
  std::optional<int64_t> stageChunks; ///< pieces of a stage; none: 2 if interleaved, else 1
};

struct OptimizerConfig {
  std::string type = "adamw"; ///< adamw, adam, sgd
  double lr = 6e-4;           ///< used where there is no schedule
  double beta1 = 0.9, beta2 = 0.95;
  double weightDecay = 0.1, eps = 1e-8;
  double momentum = 0;       ///< sgd
  std::string decay = "all"; ///< all, or matrices: not norms, biases, embeddings
};

/// t < warmup: linear; then a cosine to min at cycle; then min.
struct ScheduleConfig {
  double maxLr = 6e-4, minLr = 6e-5;
  int64_t warmupIters = 2000, cycleIters = 100000;
};

struct TrainingConfig {
  int64_t batchSize = 128, maxIters = 1000;
  int64_t evalInterval = 0; ///< 0: only where asked for
  int64_t logInterval = 10, perfWarmupSteps = 2;
  double gradientClip = 1.0; ///< 0: no clipping
  uint64_t seed = 42;
  std::string onNonfinite = "stop";    ///< or skip
  std::string precision = "f32";       ///< or bf16
  std::string matmulPrecision = "f32"; ///< or tf32, where the device has it
  int64_t microBatches = 1;
  std::string schedule = "gpipe";      ///< of pipeline stages: gpipe, 1f1b, interleaved
  std::optional<int64_t> memoryBudget; ///< bytes of a device
};

struct DataConfig {
  bool dummy = false;
  std::string order = "random";   ///< or sequential
  std::string trainPath, valPath; ///< token files
  /// Several token files to train on, each FILE or FILE=WEIGHT.
  std::vector<std::string> mixture;
  std::string rows = "packed"; ///< or documents: each a row of its own, filled up
  std::string textPath;        ///< a text, trained on as bytes if there is no tokenizer
  std::string tokenizer;       ///< folder or tokenizer.json
  std::string tokenizerHash;   ///< that it must have; in checkpoints, that it had
  std::optional<int64_t> ignoreIndex;
  std::optional<int64_t> separator; ///< the token that ends a document; none: what files say

  bool isNamed() const {
    return dummy || !textPath.empty() || !trainPath.empty() || !mixture.empty();
  }
};

struct CheckpointConfig {
  int64_t saveInterval = 0; ///< 0: only at the end and when interrupted
  int64_t keep = 0;         ///< so many newest ones; 0: all
  std::string dir, resumeFrom;
};

struct EvalConfig {
  int64_t iters = 10;    ///< batches of an evaluation
  int64_t batchSize = 0; ///< 0: the training batch
};

struct RunConfig {
  std::string name = "default"; ///< names the default output folder
  ModelConfig model;
  ShardingConfig sharding;
  OptimizerConfig optimizer;
  std::optional<ScheduleConfig> schedule = ScheduleConfig{};
  TrainingConfig training;
  DataConfig data;
  CheckpointConfig checkpoint;
  EvalConfig eval;

  /// One object a section, the keys of the config file; `lr_schedule` is null
  /// where there is none.
  std::string toJson() const;
  /// Strict: an unknown key or a value of another type is an error that names
  /// it. A missing key keeps its default.
  static StatusOr<RunConfig> fromJson(const std::string &json);
};

/// Calls `visit(section, key, field)` for every key of a config file, in the
/// order of the sections. `field` is a reference to int64_t, uint64_t, double,
/// bool, std::string (empty: null), std::optional<int64_t>, std::vector<int64_t>,
/// std::vector<std::string> or a std::tuple of two double references (betas).
/// Keys of `lr_schedule` are visited only where `config.schedule` has a value.
template <typename Config, typename Visitor> void visitConfig(Config &config, Visitor &&visit) {
  auto &m = config.model;
  visit("model", "type", m.type);
  visit("model", "d_model", m.dModel);
  visit("model", "num_heads", m.numHeads);
  visit("model", "d_ff", m.dFf);
  visit("model", "num_layers", m.numLayers);
  visit("model", "vocab_size", m.vocabSize);
  visit("model", "context_length", m.contextLength);
  visit("model", "theta", m.theta);
  visit("model", "dropout", m.dropout);
  visit("model", "variant", m.variant);
  visit("model", "annotations", m.annotations);
  visit("model", "tie_embeddings", m.tieEmbeddings);
  auto &h = config.sharding;
  visit("sharding", "enabled", h.enabled);
  visit("sharding", "mode", h.mode);
  visit("sharding", "mesh_shape", h.meshShape);
  visit("sharding", "mesh_axis_names", h.meshAxisNames);
  visit("sharding", "bucket_bytes", h.bucketBytes);
  visit("sharding", "stage_blocks", h.stageBlocks);
  visit("sharding", "stage_balance", h.stageBalance);
  visit("sharding", "stage_costs", h.stageCosts);
  visit("sharding", "stage_chunks", h.stageChunks);
  auto &o = config.optimizer;
  visit("optimizer", "type", o.type);
  visit("optimizer", "lr", o.lr);
  visit("optimizer", "betas", std::tie(o.beta1, o.beta2));
  visit("optimizer", "weight_decay", o.weightDecay);
  visit("optimizer", "eps", o.eps);
  visit("optimizer", "momentum", o.momentum);
  visit("optimizer", "decay", o.decay);
  if (config.schedule) {
    auto &s = *config.schedule;
    visit("lr_schedule", "warmup_iters", s.warmupIters);
    visit("lr_schedule", "max_learning_rate", s.maxLr);
    visit("lr_schedule", "min_learning_rate", s.minLr);
    visit("lr_schedule", "cosine_cycle_iters", s.cycleIters);
  }
  auto &t = config.training;
  visit("training", "batch_size", t.batchSize);
  visit("training", "max_iters", t.maxIters);
  visit("training", "eval_interval", t.evalInterval);
  visit("training", "log_interval", t.logInterval);
  visit("training", "perf_warmup_steps", t.perfWarmupSteps);
  visit("training", "gradient_clip", t.gradientClip);
  visit("training", "seed", t.seed);
  visit("training", "precision", t.precision);
  visit("training", "matmul_precision", t.matmulPrecision);
  visit("training", "micro_batches", t.microBatches);
  visit("training", "schedule", t.schedule);
  visit("training", "on_nonfinite", t.onNonfinite);
  visit("training", "memory_budget", t.memoryBudget);
  auto &d = config.data;
  visit("data", "dummy_data", d.dummy);
  visit("data", "order", d.order);
  visit("data", "train_path", d.trainPath);
  visit("data", "val_path", d.valPath);
  visit("data", "mixture", d.mixture);
  visit("data", "text_path", d.textPath);
  visit("data", "tokenizer", d.tokenizer);
  visit("data", "tokenizer_hash", d.tokenizerHash);
  visit("data", "rows", d.rows);
  visit("data", "separator", d.separator);
  visit("data", "ignore_index", d.ignoreIndex);
  auto &c = config.checkpoint;
  visit("checkpoint", "save_interval", c.saveInterval);
  visit("checkpoint", "keep", c.keep);
  visit("checkpoint", "checkpoint_dir", c.dir);
  visit("checkpoint", "resume_from", c.resumeFrom);
  auto &e = config.eval;
  visit("eval", "eval_iters", e.iters);
  visit("eval", "eval_batch_size", e.batchSize);
}

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_RUNCONFIG_H
