//===- Sharding.cpp - MiniGPT's annotations -------------------------------===//
#include "models/minigpt/Sharding.h"
#include "models/ConfigChecks.h"
#include "models/Stages.h"
#include "runtime/base/Suggest.h"

using namespace minigptc;
using runtime::Status;
using runtime::StatusOr;

namespace {

Status checkMesh(const runtime::RunConfig &config, const Mesh &mesh) {
  if (!config.sharding.mode.empty())
    return invalidConfig(
        "sharding.mode: modes are for the Transformer LM, minigpt has annotations of "
        "its own",
        "leave sharding.mode (--mode) out; the mesh says how to split, as in "
        "--mesh batch=4,model=2");
  for (const MeshAxis &axis : mesh.axes())
    if (axis.name != kStageAxis && axis.name != "batch" && axis.name != "model")
      return invalidConfig("sharding.mesh_axis_names: minigpt has no axis '" + axis.name + "'",
                           runtime::suggestion(axis.name, {"stage", "batch", "model"}));
  return checkStageAxis(mesh);
}

/// The last two names of a path: "query.kernel" of "blocks.3.query.kernel".
std::string_view lastTwo(std::string_view path) {
  size_t dot = path.rfind('.');
  size_t before = dot == std::string_view::npos || dot == 0 ? dot : path.rfind('.', dot - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<ParameterSpec> defaultSpec(const nn::ParameterInfo &parameter) {
  const auto &[path, shape, spec, where] = parameter;
  std::string_view name = lastTwo(path);
  if (isOneOf(name,
              {"query.kernel", "key.kernel", "value.kernel", "linear1.kernel", "output.kernel"}))
    return ParameterSpec(path, shape, P(None, "model"));
  if (isOneOf(name, {"query.bias", "key.bias", "value.bias", "linear1.bias", "output.bias"}))
    return ParameterSpec(path, shape, P("model"));
  if (isOneOf(name, {"out.kernel", "linear2.kernel"}))
    return ParameterSpec(path, shape, P("model"));
  if (path.ends_with("_emb"))
    return std::nullopt;
  return ParameterSpec(path, shape, P());
}

std::optional<ParameterSpec> referenceSpec(const nn::ParameterInfo &parameter) {
  const auto &[path, shape, spec, where] = parameter;
  if (path.ends_with("_emb"))
    return std::nullopt;
  if (path.ends_with(".kernel"))
    return ParameterSpec(path, shape, P(None, "model"));
  return ParameterSpec(path, shape, P("model"));
}

} // namespace

StatusOr<ModelSharding> minigptc::miniGptSharding(const runtime::RunConfig &config,
                                                  const std::vector<nn::ParameterInfo> &all) {
  ModelSharding sharding;
  sharding.mesh = meshOf(config.sharding);
  MINIGPTC_RETURN_IF_ERROR(checkMesh(config, sharding.mesh));
  MINIGPTC_RETURN_IF_ERROR(checkBatches(config, sharding.mesh, "batch"));
  const runtime::ModelConfig &model = config.model;
  for (const CutSize &cut :
       {CutSize{"model.num_heads", model.numHeads, {"model"}, /*unit=*/1, model.dModel},
        CutSize{"model.d_model", model.dModel, {"model"}, /*unit=*/model.numHeads},
        CutSize{"model.d_ff", model.dFf, {"model"}}})
    MINIGPTC_RETURN_IF_ERROR(checkDivides(sharding.mesh, cut));
  bool reference = model.annotations == "reference";
  for (const nn::ParameterInfo &parameter : all)
    if (auto spec = reference ? referenceSpec(parameter) : defaultSpec(parameter))
      sharding.parameters.push_back(*spec);
  sharding.batch = P("batch", None);
  return sharding;
}
