//===- Sharding.h - the Transformer LM's sharding modes ---------*- C++ -*-===//
//
// A mode says how weights [in, out], their moments and the batch lie on a mesh with the axes
// `data` and `tensor`:
//
// | mode | mesh | q, k, v, w1, w3 | o, w2 | embedding | lm_head | batch |
// |---|---|---|---|---|---|---|
// | dp | data > 1, tensor = 1 | –,– | –,– | –,– | –,– | data |
// | fsdp | data > 1, tensor = 1 | data,– | –,data | –,– | –,– | data |
// | tp | data = 1, tensor > 1 | –,tensor | tensor,– | –,tensor | tensor,– | – |
// | fsdp_tp | both > 1 | data,tensor | tensor,data | –,tensor | tensor,– | data |
// | fsdp_full | as fsdp | data,– | –,data | data,– | –,data | data |
// | tp_sp | as tp | –,tensor | tensor,– | tensor,– | –,tensor | – |
//
// An axis `stage` cuts nothing (models/Stages.h); a mesh may have it beside a mode's axes, or alone.
//
// Norms are whole everywhere. In tp_sp, activations between blocks are cut along the
// sequence. The modes split evenly: sizes that an axis does not divide are refused.
//
//   MINIGPTC_RETURN_IF_ERROR(validateMeshForMode(mesh, "fsdp_tp"));
//   StatusOr<ModeSpecs> specs = getShardingConfigForMode("fsdp_tp");
//   specs->out.toString() == "P('tensor', 'data')";
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_MODELS_TRANSFORMER_LM_SHARDING_H
#define MINIGPTC_MODELS_TRANSFORMER_LM_SHARDING_H

#include "models/ModelSharding.h"

namespace minigptc {

/// A mode's specs, by what parameters are for.
struct ModeSpecs {
  PartitionSpec in;  ///< q, k, v, w1, w3: from the model's size
  PartitionSpec out; ///< o, w2: back to it
  PartitionSpec embedding, head, norm;
  std::optional<PartitionSpec> blockInput = {};

  /// The spec of a parameter, by its path in the Transformer LM.
  const PartitionSpec &of(std::string_view parameter) const;
};

/// Names of all modes.
std::vector<std::string> shardingModes();
/// An unknown mode fails with the nearest one, an empty one with all of them.
runtime::StatusOr<ModeSpecs> getShardingConfigForMode(const std::string &mode);
runtime::StatusOr<PartitionSpec> getBatchShardingForMode(const std::string &mode);
/// The mesh that a mode has on so many devices if nothing is said: dp and fsdp data = N, tp
/// tensor = N, fsdp_tp data = N/2, tensor = 2.
runtime::StatusOr<Mesh> defaultMeshForMode(const std::string &mode, int64_t devices);
/// Fails for axes that a mode does not know, and for sizes that belong to another mode. With a
/// configuration, it proposes only meshes and modes that this one can have.
runtime::Status validateMeshForMode(const Mesh &mesh, const std::string &mode,
                                    const runtime::RunConfig *config = nullptr);
/// Fails for sizes, heads and batches that the mode's axes do not divide.
runtime::Status validateModelPartitioning(const runtime::RunConfig &config, const Mesh &mesh,
                                          const std::string &mode);

/// Whether a mesh has an axis `stage` only, which needs no mode.
bool hasStagesOnly(const runtime::RunConfig &config);
/// All of it, for a configuration with sharding.
runtime::StatusOr<ModelSharding> transformerLmSharding(const runtime::RunConfig &config,
                                                       const std::vector<nn::ParameterInfo> &all);

} // namespace minigptc

#endif // MINIGPTC_MODELS_TRANSFORMER_LM_SHARDING_H
