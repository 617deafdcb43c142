//===- ModelSharding.cpp - how a model lies on its devices ----------------===//
#include "models/ModelSharding.h"
#include "models/Registry.h"

#include <numeric>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

Mesh minigptc::meshOf(const runtime::ShardingConfig &config) {
  std::vector<MeshAxis> axes;
  if (config.enabled)
    for (size_t i = 0; i < config.meshShape.size() && i < config.meshAxisNames.size(); ++i)
      axes.push_back({config.meshAxisNames[i], config.meshShape[i]});
  return Mesh(std::move(axes));
}

/// "set it to 96 or 104, or choose another mesh".
static std::string suggestSizes(const Mesh &mesh, const CutSize &cut) {
  int64_t unit = cut.unit;
  for (const std::string &axis : cut.axes)
    unit = std::lcm(unit, mesh.size(axis));
  auto possible = [&](int64_t size) { return cut.whole == 0 || cut.whole % size == 0; };
  int64_t below = cut.size / unit * unit, above = below + unit;
  while (below > 0 && !possible(below))
    below -= unit;
  while (above <= cut.whole && !possible(above))
    above += unit;
  std::string nearest = below > 0 ? std::to_string(below) : "";
  if (possible(above))
    nearest += (nearest.empty() ? "" : " or ") + std::to_string(above);
  return nearest.empty() ? "choose another mesh"
                         : "set it to " + nearest + ", or choose another mesh";
}

Status minigptc::checkDivides(const Mesh &mesh, const CutSize &cut) {
  for (const std::string &axis : cut.axes)
    if (int64_t parts = mesh.size(axis); cut.size % parts != 0)
      return Status(StatusCode::invalidArgument,
                    cut.key + " is " + std::to_string(cut.size) + ", which axis '" + axis + "' (" +
                        std::to_string(parts) + " devices) does not divide")
          .withHelp(suggestSizes(mesh, cut));
  return Status::success();
}

Status minigptc::checkBatches(const runtime::RunConfig &config, const Mesh &mesh,
                              const std::string &axis) {
  MINIGPTC_RETURN_IF_ERROR(
      checkDivides(mesh, {"training.batch_size", config.training.batchSize, {axis}}));
  if (config.eval.batchSize > 0)
    MINIGPTC_RETURN_IF_ERROR(
        checkDivides(mesh, {"eval.eval_batch_size", config.eval.batchSize, {axis}}));
  return Status::success();
}

/// The axes that cut a batch.
static std::vector<std::string> batchAxes(const ModelSharding &sharding) {
  return sharding.batch.dims.empty() ? std::vector<std::string>() : sharding.batch.dims[0].axes;
}

/// Into how many parts.
static int64_t batchShards(const ModelSharding &sharding) {
  int64_t shards = 1;
  for (const std::string &axis : batchAxes(sharding))
    shards *= sharding.mesh.size(axis);
  return shards;
}

int64_t minigptc::sequencesOfReplica(const runtime::RunConfig &config,
                                     const ModelSharding &sharding) {
  return config.training.batchSize / batchShards(sharding);
}

Status minigptc::checkMicroBatches(const runtime::RunConfig &config,
                                   const ModelSharding &sharding) {
  int64_t batch = config.training.batchSize, count = config.training.microBatches;
  int64_t shards = batchShards(sharding), own = sequencesOfReplica(config, sharding);
  std::string axes;
  for (const std::string &axis : batchAxes(sharding))
    axes += (axes.empty() ? "" : " and ") + ("'" + axis + "'");
  if (count >= 1 && own % count == 0)
    return Status::success();
  int64_t below = std::min(count, own), above = count;
  while (below > 1 && own % below != 0)
    --below;
  while (above < own && own % above != 0)
    ++above;
  std::string nearest = std::to_string(std::max<int64_t>(below, 1));
  if (above > below && above <= own && own % above == 0)
    nearest += " or " + std::to_string(above);
  std::string whose = shards > 1 ? "what each of " + std::to_string(shards) + " parts along " +
                                       axes + " has of a batch: " + std::to_string(own) + " of " +
                                       std::to_string(batch) + " sequences"
                                 : "training.batch_size (" + std::to_string(batch) + ")";
  return Status(StatusCode::invalidArgument, "training.micro_batches is " + std::to_string(count) +
                                                 ", which does not divide " + whose)
      .withHelp("set it to " + nearest + ", or training.batch_size to a multiple of " +
                std::to_string(shards * std::max<int64_t>(count, 1)));
}
