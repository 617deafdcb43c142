//===- ModelSharding.h - how a model lies on its devices --------*- C++ -*-===//
//
// What the `sharding` section of a configuration, or a model's own annotations, come to.
//
//   StatusOr<ModelSharding> sharding = shardingOf(config);
//   sharding->mesh.numDevices();          // 1: no axes, and nothing is annotated
//
// Wrong meshes, modes and sizes are refused here, before anything is traced; messages begin
// with the key that is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_MODELS_MODELSHARDING_H
#define MINIGPTC_MODELS_MODELSHARDING_H

#include "minigptc/nn/Module.h"
#include "models/Stages.h"
#include "runtime/train/RunConfig.h"

namespace minigptc {

struct ModelSharding {
  Mesh mesh; ///< no axes: one device
  std::vector<ParameterSpec> parameters;
  PartitionSpec batch;                     ///< of tokens and targets [B, T]
  std::optional<PartitionSpec> blockInput; ///< constrains [B, T, d] before every block
  std::optional<StagePlan> stages;         ///< where the mesh has several
};

/// The mesh of a configuration; no axes where sharding is not enabled.
Mesh meshOf(const runtime::ShardingConfig &config);

runtime::StatusOr<ModelSharding> shardingOf(const runtime::RunConfig &config);

/// A size of a configuration that axes of a mesh cut.
struct CutSize {
  std::string key; ///< "model.d_ff"
  int64_t size = 0;
  std::vector<std::string> axes;
  /// What else it has to be: a multiple of `unit`; unless that is 0, a divisor of `whole`.
  int64_t unit = 1, whole = 0;
};

/// Fails unless each axis divides the size: "model.d_ff is 100, which axis 'data' (8 devices)
/// does not divide", with the nearest sizes that would do.
runtime::Status checkDivides(const Mesh &mesh, const CutSize &size);
/// Fails unless the axis divides the batches of training and evaluation.
runtime::Status checkBatches(const runtime::RunConfig &config, const Mesh &mesh,
                             const std::string &axis);
/// Sequences that each part of the mesh has of a training batch.
int64_t sequencesOfReplica(const runtime::RunConfig &config, const ModelSharding &sharding);
/// Fails unless micro-batches divide what each part of the mesh has of a batch.
runtime::Status checkMicroBatches(const runtime::RunConfig &config, const ModelSharding &sharding);

} // namespace minigptc

#endif // MINIGPTC_MODELS_MODELSHARDING_H
