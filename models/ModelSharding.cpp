//===- ModelSharding.cpp - how a model lies on its devices ----------------===//
#include "models/ModelSharding.h"
#include "models/Registry.h"

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

Status minigptc::checkDivides(const Mesh &mesh, const std::string &axis, const std::string &key,
                              int64_t size) {
  int64_t parts = mesh.size(axis);
  if (size % parts == 0)
    return Status::success();
  auto number = [](int64_t n) { return std::to_string(n); };
  int64_t below = size / parts * parts;
  std::string nearest = number(below + parts);
  if (below > 0)
    nearest = number(below) + " or " + nearest;
  return Status(StatusCode::invalidArgument, key + " is " + number(size) + ", which axis '" + axis +
                                                 "' (" + number(parts) +
                                                 " devices) does not divide")
      .withHelp("set it to " + nearest + ", or choose another mesh");
}

Status minigptc::checkBatches(const runtime::RunConfig &config, const Mesh &mesh,
                              const std::string &axis) {
  MINIGPTC_RETURN_IF_ERROR(
      checkDivides(mesh, axis, "training.batch_size", config.training.batchSize));
  if (config.eval.batchSize > 0)
    MINIGPTC_RETURN_IF_ERROR(
        checkDivides(mesh, axis, "eval.eval_batch_size", config.eval.batchSize));
  return Status::success();
}
