//===- ConfigSharding.cpp - devices, meshes and modes ---------------------===//
//
// What --devices, --mesh, --mode and the `sharding` section come to.
//
//===----------------------------------------------------------------------===//
#include "minigptc/runtime/Mesh.h"
#include "models/ConfigChecks.h"
#include "models/ModelSharding.h"
#include "models/transformer_lm/Sharding.h"
#include "tools/minigptc/Config.h"
#include "tools/minigptc/ConfigRules.h"

#include <numeric>

using namespace minigptc;
using runtime::RunConfig;
using runtime::ShardingConfig;
using runtime::Status;

namespace {

int64_t devicesOf(const std::vector<int64_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

void setMesh(ShardingConfig &sharding, const Mesh &mesh) {
  sharding.meshShape.clear();
  sharding.meshAxisNames.clear();
  for (const MeshAxis &axis : mesh.axes()) {
    sharding.meshShape.push_back(axis.size);
    sharding.meshAxisNames.push_back(axis.name);
  }
}

/// The axes that a model's meshes have.
std::vector<std::string> axesOf(const RunConfig &config) {
  if (config.model.type == "minigpt")
    return {"batch", "model"};
  return {"data", "tensor"};
}

/// The first key of pipelines that is set to something, or empty.
std::string stageKeyOf(const RunConfig &config) {
  const ShardingConfig &sharding = config.sharding;
  if (config.training.schedule != runtime::TrainingConfig().schedule)
    return "training.schedule";
  if (!sharding.stageBlocks.empty())
    return "sharding.stage_blocks";
  if (sharding.stageBalance != ShardingConfig().stageBalance)
    return "sharding.stage_balance";
  if (!sharding.stageCosts.empty())
    return "sharding.stage_costs";
  return sharding.stageChunks ? "sharding.stage_chunks" : "";
}

void dropStageKeys(RunConfig &config) {
  ShardingConfig defaults;
  config.training.schedule = runtime::TrainingConfig().schedule;
  config.sharding.stageBlocks = defaults.stageBlocks;
  config.sharding.stageBalance = defaults.stageBalance;
  config.sharding.stageCosts = defaults.stageCosts;
  config.sharding.stageChunks = defaults.stageChunks;
}

} // namespace

void ConfigBuilder::dropTrainingLayout() {
  dropStageKeys(config_);
  config_.training.microBatches = runtime::TrainingConfig().microBatches;
}

Status ConfigBuilder::applyDevices(int64_t devices, const std::string &mesh,
                                   const std::string &mode) {
  if (devices == 0 && mesh.empty() && mode.empty())
    return Status::success();
  std::string flag = !mesh.empty()  ? "--mesh " + mesh
                     : devices != 0 ? "--devices " + std::to_string(devices)
                                    : "--mode " + mode;
  bool wasEnabled = config_.sharding.enabled, hadStages = countStages(config_) > 1;
  std::string key = stageKeyOf(config_);
  MINIGPTC_RETURN_IF_ERROR(setDevices(devices, mesh, mode));
  if (std::string place = placeOf("sharding.enabled");
      config_.sharding.enabled && !wasEnabled && !place.empty())
    remarks_.push_back("sharding.enabled is false (" + place + "), but " + flag +
                       " comes after it: the model is sharded");
  places_["sharding.enabled"] = flag;
  // Whoever goes on without stages need not change the configuration of a pipeline.
  if (hadStages && countStages(config_) == 1) {
    dropStageKeys(config_);
    if (!key.empty())
      remarks_.push_back(key + " is for stages of a pipeline, of which " + flag +
                         " has none: it is dropped");
  }
  return Status::success();
}

Status ConfigBuilder::setDevices(int64_t devices, const std::string &mesh,
                                 const std::string &mode) {
  ShardingConfig &sharding = config_.sharding;
  auto number = [](int64_t n) { return std::to_string(n); };
  if (devices == 1 && mesh.empty() && mode.empty()) {
    sharding = {};
    return Status::success();
  }
  sharding.enabled = true;
  if (!mode.empty()) {
    sharding.mode = mode;
    places_["sharding.mode"] = "--mode " + mode;
  }
  if (!mesh.empty()) {
    runtime::StatusOr<Mesh> parsed = Mesh::parse(mesh);
    if (!parsed)
      return Status(parsed.status()).at("--mesh " + mesh);
    setMesh(sharding, *parsed);
    bool stagesOnly = parsed->numDevices() > 1 && countStages(config_) == parsed->numDevices();
    if (mode.empty() && !sharding.mode.empty() && stagesOnly) {
      remarks_.push_back("sharding.mode " + sharding.mode +
                         " shares out data or tensors, and "
                         "--mesh " +
                         mesh + " has stages only: it is dropped");
      sharding.mode.clear();
    }
    places_["sharding.mesh_shape"] = places_["sharding.mesh_axis_names"] = "--mesh " + mesh;
    if (devices != 0 && devices != parsed->numDevices())
      return invalidConfig("the mesh " + parsed->toString() + " has " +
                               number(parsed->numDevices()) + " devices, but --devices is " +
                               number(devices),
                           "leave --devices out, or make it " + number(parsed->numDevices()))
          .at("--mesh " + mesh);
    return Status::success();
  }
  // A mesh of a file stays if it has so many devices and is one for the mode; if only the mode
  // is given, there are as many devices as before.
  if (devices == 0 && sharding.meshShape.empty())
    return Status::success();
  int64_t before = sharding.meshShape.empty() ? 0 : devicesOf(sharding.meshShape);
  bool fits = mode.empty() || validateMeshForMode(meshOf(sharding), mode).ok();
  if (before != 0 && fits && (devices == 0 || devices == before))
    return Status::success();
  if (devices != 0)
    places_["sharding.mesh_shape"] = "--devices " + number(devices);
  else
    devices = before;
  if (config_.model.type == "minigpt") {
    setMesh(sharding, Mesh{{"batch", devices}, {"model", 1}});
    return Status::success();
  }
  runtime::StatusOr<Mesh> fitting = defaultMeshForMode(sharding.mode, devices);
  if (!fitting)
    return Status(fitting.status())
        .at(placeOf(placeOf("sharding.mode").empty() ? "sharding.mesh_shape" : "sharding.mode"));
  setMesh(sharding, *fitting);
  return Status::success();
}

/// Fills in names and axes that go without saying, and checks mesh, mode and sizes.
Status ConfigBuilder::finishSharding(RunConfig &config) const {
  ShardingConfig &sharding = config.sharding;
  // A file with `enabled: false` may keep its mesh; a mode without `enabled` asks for devices.
  if (!resolved_ && placeOf("sharding.enabled").empty() && !sharding.mode.empty())
    sharding.enabled = true;
  auto at = [&](Status status, std::initializer_list<const char *> keys) {
    for (const char *key : keys)
      if (std::string place = placeOf(key); !place.empty())
        return std::move(status).at(place);
    return status;
  };
  // A mode is checked where it isn't used, too: it was meant to be.
  bool hasModes = config.model.type != "minigpt";
  if (hasModes && !hasStagesOnly(config) && (sharding.enabled || !sharding.mode.empty()))
    if (runtime::StatusOr<ModeSpecs> mode = getShardingConfigForMode(sharding.mode); !mode)
      return at(mode.status(), {"sharding.mode", "sharding.mesh_shape", "sharding.enabled"});
  std::vector<std::string> axes = axesOf(config);
  auto checkStageKeys = [&] {
    std::string key = stageKeyOf(config);
    return resolved_ || key.empty() || countStages(config) > 1
               ? Status()
               : at(invalidConfig(key + " is for stages of a pipeline, but the mesh has no axis "
                                        "'stage' of size 2 or more",
                                  "give --mesh stage=2," + axes[0] + "=2, or leave " + key +
                                      " out"),
                    {key.c_str()});
  };
  if (!sharding.enabled) {
    MINIGPTC_RETURN_IF_ERROR(at(checkMicroBatches(config, ModelSharding{}),
                                {"training.micro_batches", "training.batch_size"}));
    // Where sharding is switched off, its keys may stay.
    return placeOf("sharding.enabled").empty() ? checkStageKeys() : Status();
  }
  if (sharding.meshShape.empty())
    return at(
        invalidConfig("sharding.mesh_shape is missing: on how many devices shall the model lie?",
                      "give --devices N, or --mesh " + axes[0] + "=4," + axes[1] + "=2"),
        {"sharding.mode", "sharding.enabled"});
  if (sharding.meshAxisNames.empty() && sharding.meshShape.size() <= axes.size())
    sharding.meshAxisNames.assign(axes.begin(), axes.begin() + sharding.meshShape.size());
  if (sharding.meshAxisNames.empty() && sharding.meshShape.size() == axes.size() + 1)
    sharding.meshAxisNames = {"stage", axes[0], axes[1]};
  if (sharding.meshAxisNames.size() != sharding.meshShape.size())
    return at(invalidConfig("sharding.mesh_shape has " + std::to_string(sharding.meshShape.size()) +
                            " sizes, sharding.mesh_axis_names " +
                            std::to_string(sharding.meshAxisNames.size()) + " names"),
              {"sharding.mesh_axis_names", "sharding.mesh_shape"});
  // The command line's rules for meshes hold for files, too.
  runtime::StatusOr<Mesh> mesh = Mesh::parse(meshOf(sharding).toString());
  if (!mesh)
    return at(mesh.status(), {"sharding.mesh_axis_names", "sharding.mesh_shape"});
  for (const std::string &axis : axes)
    if (!mesh->has(axis)) {
      sharding.meshAxisNames.push_back(axis);
      sharding.meshShape.push_back(1);
    }
  runtime::StatusOr<ModelSharding> result = shardingOf(config);
  if (result)
    return checkStageKeys();
  // The message begins with the key that is wrong; where that has its default, what it does not
  // go with has not.
  std::string key =
      result.status().message().substr(0, result.status().message().find_first_of(" :"));
  return at(result.status(),
            {key.c_str(), key == "training.micro_batches" ? "training.schedule" : "sharding.mode",
             "sharding.mode", "sharding.mesh_shape"});
}
