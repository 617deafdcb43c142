//===- Sharding.cpp - the Transformer LM's sharding modes -----------------===//
#include "models/transformer_lm/Sharding.h"
#include "models/ConfigChecks.h"
#include "models/Stages.h"
#include "runtime/base/Suggest.h"

#include <algorithm>
#include <functional>

using namespace minigptc;
using runtime::Status;
using runtime::StatusOr;

namespace {

struct Mode {
  const char *name;
  bool data, tensor; ///< whether the axis is more than 1
  ModeSpecs specs;
  PartitionSpec batch;
};

const std::vector<Mode> &modes() {
  static const std::vector<Mode> list = {
      {"dp",
       true,
       false,
       {.in = P(None, None),
        .out = P(None, None),
        .embedding = P(None, None),
        .head = P(None, None),
        .norm = P(None)},
       P("data", None)},
      {"fsdp",
       true,
       false,
       {.in = P("data", None),
        .out = P(None, "data"),
        .embedding = P(None, None),
        .head = P(None, None),
        .norm = P(None)},
       P("data", None)},
      {"tp",
       false,
       true,
       {.in = P(None, "tensor"),
        .out = P("tensor", None),
        .embedding = P(None, "tensor"),
        .head = P("tensor", None),
        .norm = P(None)},
       P(None, None)},
      {"fsdp_tp",
       true,
       true,
       {.in = P("data", "tensor"),
        .out = P("tensor", "data"),
        .embedding = P(None, "tensor"),
        .head = P("tensor", None),
        .norm = P(None)},
       P("data", None)},
      {"fsdp_full",
       true,
       false,
       {.in = P("data", None),
        .out = P(None, "data"),
        .embedding = P("data", None),
        .head = P(None, "data"),
        .norm = P(None)},
       P("data", None)},
      {"tp_sp",
       false,
       true,
       {.in = P(None, "tensor"),
        .out = P("tensor", None),
        .embedding = P("tensor", None),
        .head = P(None, "tensor"),
        .norm = P(None),
        .blockInput = P(None, "tensor", None)},
       P(None, None)},
  };
  return list;
}

StatusOr<const Mode *> findMode(const std::string &name) {
  for (const Mode &mode : modes())
    if (name == mode.name)
      return &mode;
  std::string help = runtime::suggestion(name, shardingModes());
  if (name.empty())
    return invalidConfig("sharding.mode is missing: how shall the model lie on the devices?", help);
  return invalidConfig("sharding.mode: unknown sharding mode '" + name + "'", help);
}

/// The modes that a mesh of these sizes can have.
std::string modesFor(bool data, bool tensor,
                     const std::function<bool(const char *)> &possible = nullptr) {
  std::string names;
  for (const Mode &mode : modes())
    if (mode.data == data && mode.tensor == tensor && (!possible || possible(mode.name)))
      names += (names.empty() ? "" : ", ") + std::string(mode.name);
  return names;
}

/// The axes that cut something.
std::vector<std::string> axesOf(std::initializer_list<const PartitionSpec *> specs) {
  std::vector<std::string> axes;
  for (const char *axis : {"data", "tensor"})
    for (const PartitionSpec *spec : specs)
      for (const DimSpec &dim : spec->dims)
        if (std::ranges::find(dim.axes, axis) != dim.axes.end() &&
            std::ranges::find(axes, axis) == axes.end())
          axes.push_back(axis);
  return axes;
}

} // namespace

const PartitionSpec &ModeSpecs::of(std::string_view parameter) const {
  auto has = [&](const char *part) { return parameter.find(part) != std::string_view::npos; };
  if (has("token_embeddings"))
    return embedding;
  if (has("lm_head"))
    return head;
  if (has("output_proj") || has(".w2."))
    return out;
  return has("_proj") || has(".w1.") || has(".w3.") ? in : norm;
}

std::vector<std::string> minigptc::shardingModes() {
  std::vector<std::string> names;
  for (const Mode &mode : modes())
    names.push_back(mode.name);
  return names;
}

StatusOr<ModeSpecs> minigptc::getShardingConfigForMode(const std::string &name) {
  StatusOr<const Mode *> mode = findMode(name);
  if (!mode)
    return mode.status();
  return (*mode)->specs;
}

StatusOr<PartitionSpec> minigptc::getBatchShardingForMode(const std::string &name) {
  StatusOr<const Mode *> mode = findMode(name);
  if (!mode)
    return mode.status();
  return (*mode)->batch;
}

StatusOr<Mesh> minigptc::defaultMeshForMode(const std::string &name, int64_t devices) {
  StatusOr<const Mode *> mode = findMode(name);
  if (!mode)
    return mode.status();
  if (!(*mode)->data || !(*mode)->tensor)
    return (*mode)->data ? Mesh{{"data", devices}, {"tensor", 1}}
                         : Mesh{{"data", 1}, {"tensor", devices}};
  if (devices % 2 != 0 || devices < 4)
    return invalidConfig("mode " + name +
                             " needs at least 2 x 2 devices, and an even number of them; "
                             "there are " +
                             std::to_string(devices),
                         modesFor(true, false) + " and " + modesFor(false, true) +
                             " take any number of devices");
  return Mesh{{"data", devices / 2}, {"tensor", 2}};
}

Status minigptc::validateMeshForMode(const Mesh &mesh, const std::string &name,
                                     const runtime::RunConfig *config) {
  StatusOr<const Mode *> mode = findMode(name);
  if (!mode)
    return mode.status();
  for (const MeshAxis &axis : mesh.axes())
    if (axis.name != "data" && axis.name != "tensor" && axis.name != kStageAxis)
      return invalidConfig("sharding.mesh_axis_names: the Transformer LM has no axis '" +
                               axis.name + "'",
                           runtime::suggestion(axis.name, {"stage", "data", "tensor"}));
  MINIGPTC_RETURN_IF_ERROR(checkStageAxis(mesh));
  bool data = mesh.size("data") > 1, tensor = mesh.size("tensor") > 1;
  if (data == (*mode)->data && tensor == (*mode)->tensor)
    return Status::success();
  auto wanted = [](const char *axis, bool more) {
    return std::string(axis) + (more ? " > 1" : " = 1");
  };
  auto divides = [&](const Mesh &other, const std::string &mode) {
    return !config || validateModelPartitioning(*config, other, mode).ok();
  };
  std::string help;
  if (mesh.numDevices() == 1)
    help = "leave the mode out, or give more devices";
  if (StatusOr<Mesh> fitting = defaultMeshForMode(name, mesh.numDevices());
      fitting && mesh.numDevices() > 1 && mesh.size(kStageAxis) == 1 && divides(*fitting, name))
    help = "for as many devices, the mesh of mode " + name + " is " + fitting->toString();
  if (std::string others =
          modesFor(data, tensor, [&](const char *mode) { return divides(mesh, mode); });
      !others.empty())
    help += (help.empty() ? "" : "; ") + ("this mesh goes with " + others);
  return invalidConfig("sharding.mode: mode " + name + " needs a mesh with " +
                           wanted("data", (*mode)->data) + " and " +
                           wanted("tensor", (*mode)->tensor) + ", this one is " +
                           (mesh.empty() ? "of one device" : mesh.toString()),
                       help);
}

Status minigptc::validateModelPartitioning(const runtime::RunConfig &config, const Mesh &mesh,
                                           const std::string &name) {
  StatusOr<const Mode *> mode = findMode(name);
  if (!mode)
    return mode.status();
  const runtime::ModelConfig &model = config.model;
  if ((*mode)->data)
    MINIGPTC_RETURN_IF_ERROR(checkBatches(config, mesh, "data"));
  const ModeSpecs &specs = (*mode)->specs;
  // All that a matrix has must divide, so that a mode may lay it out either way.
  std::vector<std::string> matrix = axesOf({&specs.in}),
                           vocabulary = axesOf({&specs.embedding, &specs.head});
  std::vector<std::string> tensor, sequence;
  if ((*mode)->tensor)
    tensor.push_back("tensor");
  if (specs.blockInput)
    sequence.push_back("tensor");
  // A head's size is even, for the sake of the rotary positions.
  for (const CutSize &cut :
       {CutSize{"model.d_model", model.dModel, matrix, /*unit=*/2 * model.numHeads},
        CutSize{"model.d_ff", model.dFf, matrix},
        CutSize{"model.vocab_size", model.vocabSize, vocabulary},
        CutSize{"model.num_heads", model.numHeads, tensor, /*unit=*/1, model.dModel / 2},
        CutSize{"model.context_length", model.contextLength, sequence}})
    MINIGPTC_RETURN_IF_ERROR(checkDivides(mesh, cut));
  return Status::success();
}

bool minigptc::hasStagesOnly(const runtime::RunConfig &config) {
  Mesh mesh = meshOf(config.sharding);
  return config.sharding.enabled && config.sharding.mode.empty() && mesh.size(kStageAxis) > 1 &&
         mesh.size(kStageAxis) == mesh.numDevices();
}

StatusOr<ModelSharding> minigptc::transformerLmSharding(const runtime::RunConfig &config,
                                                        const std::vector<nn::ParameterInfo> &all) {
  const std::string &name = config.sharding.mode;
  ModelSharding sharding;
  sharding.mesh = meshOf(config.sharding);
  if (hasStagesOnly(config)) {
    sharding.batch = P(None, None);
    return sharding;
  }
  MINIGPTC_RETURN_IF_ERROR(validateMeshForMode(sharding.mesh, name, &config));
  MINIGPTC_RETURN_IF_ERROR(validateModelPartitioning(config, sharding.mesh, name));
  StatusOr<const Mode *> mode = findMode(name);
  const ModeSpecs &specs = (*mode)->specs;
  for (const nn::ParameterInfo &parameter : all)
    sharding.parameters.emplace_back(parameter.name, parameter.shape, specs.of(parameter.name));
  sharding.batch = (*mode)->batch;
  sharding.blockInput = specs.blockInput;
  return sharding;
}
