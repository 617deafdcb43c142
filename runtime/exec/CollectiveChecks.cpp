// The mesh of an artifact, its groups and collectives, and how parameters lie on the mesh.
#include "runtime/base/Log.h"
#include "runtime/exec/ArtifactReader.h"

#include <algorithm>

namespace minigptc::runtime {
namespace {

/// As the compiler's meshes.
constexpr int64_t kMaxDevices = int64_t(1) << 20;
constexpr size_t kMaxAxes = 20;

Status readMesh(const fb::Artifact &table, Program &program) {
  std::vector<MeshAxis> axes;
  int64_t devices = 1;
  for (uint32_t i = 0; i < (table.mesh() ? table.mesh()->size() : 0); ++i) {
    const fb::MeshAxis &axis = *table.mesh()->Get(i);
    std::string name = axis.name() ? axis.name()->str() : "";
    bool known = std::ranges::any_of(axes, [&](const MeshAxis &a) { return a.name == name; });
    if (name.empty() || known || axes.size() == kMaxAxes)
      return invalidArtifact("a mesh axis without a name of its own");
    if (axis.size() < 1 || axis.size() > kMaxDevices || (devices *= axis.size()) > kMaxDevices)
      return invalidArtifact("mesh axis " + quote(name) + " has no sensible size");
    axes.push_back({std::move(name), axis.size()});
  }
  program.mesh = Mesh(std::move(axes));
  return {};
}

/// Axes that are some of a mesh, whole or split.
bool isGroupOf(const DeviceGroup &group, int64_t devices) {
  if (group.strides.size() != group.sizes.size() || group.sizes.size() > kMaxAxes)
    return false;
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (size_t i = 0; i < group.sizes.size(); ++i)
    axes.emplace_back(group.strides[i], group.sizes[i]);
  std::sort(axes.begin(), axes.end());
  int64_t end = 1;
  for (auto [stride, size] : axes) {
    if (stride < 1 || size < 1 || stride > devices || size > devices || stride % end != 0)
      return false;
    end = stride * size;
  }
  return devices % end == 0;
}

Status readGroups(const fb::Artifact &table, Program &program) {
  int64_t devices = program.mesh.numDevices();
  for (uint32_t i = 0; i < (table.groups() ? table.groups()->size() : 0); ++i) {
    const fb::Group &from = *table.groups()->Get(i);
    DeviceGroup group;
    if (from.strides())
      group.strides.assign(from.strides()->begin(), from.strides()->end());
    if (from.sizes())
      group.sizes.assign(from.sizes()->begin(), from.sizes()->end());
    if (!isGroupOf(group, devices))
      return invalidArtifact("group " + std::to_string(i) + " is none of the mesh's");
    program.groups.push_back(std::move(group));
  }
  return {};
}

StatusOr<CollectiveOperand> readOperand(const fb::CollectiveOperand &from, int64_t members) {
  if (from.element() > fb::ElementType::MAX)
    return invalidArtifact("an unknown element type");
  CollectiveOperand operand{DType(from.element()), from.outer(), from.inner(), from.block(),
                            from.from_major()};
  uint64_t bytes = uint64_t(sizeOf(operand.dtype)) * uint64_t(members);
  for (int64_t size : {operand.outer, operand.inner, operand.block})
    if (size < 0 || uint64_t(size) > kMaxBytes ||
        __builtin_mul_overflow(bytes, std::max<uint64_t>(uint64_t(size), 1), &bytes) ||
        bytes > kMaxBytes)
      return invalidArtifact("a collective's operand of no sensible size");
  return operand;
}

/// any and all are for i1, the others for numbers.
Status checkCombine(const CollectiveProblem &problem) {
  bool logical = problem.combine == ReduceKind::any || problem.combine == ReduceKind::all;
  if (problem.kind == CollectiveKind::allReduce || problem.kind == CollectiveKind::reduceScatter)
    for (const CollectiveOperand &operand : problem.operands)
      if (logical != (operand.dtype == DType::i1))
        return invalidArtifact("a collective that cannot combine " +
                               std::string(nameOf(operand.dtype)) + " so");
  return {};
}

Status checkSources(const CollectiveProblem &problem) {
  bool permutes = problem.kind == CollectiveKind::permute;
  if (problem.sources.size() != (permutes ? size_t(problem.group.size()) : 0))
    return invalidArtifact("a collective with a wrong number of sources");
  for (int64_t source : problem.sources)
    if (source < -1 || source >= problem.group.size())
      return invalidArtifact("a collective whose source is not in its group");
  return {};
}

StatusOr<CollectiveProblem> readCollective(const fb::Collective &from, const Program &program) {
  if (from.kind() > fb::CollectiveKind::MAX || from.combine() > fb::Combine::MAX)
    return invalidArtifact("a collective of unknown kind");
  if (from.group() >= program.groups.size())
    return invalidArtifact("a collective of a group that is not there");
  CollectiveProblem problem{CollectiveKind(from.kind()),
                            ReduceKind(from.combine()),
                            program.groups[from.group()],
                            {},
                            {}};
  for (uint32_t i = 0; i < (from.operands() ? from.operands()->size() : 0); ++i) {
    StatusOr<CollectiveOperand> operand =
        readOperand(*from.operands()->Get(i), problem.group.size());
    if (!operand)
      return operand.status();
    problem.operands.push_back(*operand);
  }
  if (problem.operands.empty())
    return invalidArtifact("a collective of nothing");
  if (from.sources())
    problem.sources.assign(from.sources()->begin(), from.sources()->end());
  MINIGPTC_RETURN_IF_ERROR(checkCombine(problem));
  MINIGPTC_RETURN_IF_ERROR(checkSources(problem));
  return problem;
}

} // namespace

Status readDevices(const fb::Artifact &table, Program &program) {
  MINIGPTC_RETURN_IF_ERROR(readMesh(table, program));
  MINIGPTC_RETURN_IF_ERROR(readGroups(table, program));
  for (uint32_t i = 0; i < (table.collectives() ? table.collectives()->size() : 0); ++i) {
    StatusOr<CollectiveProblem> problem = readCollective(*table.collectives()->Get(i), program);
    if (!problem)
      return problem.status();
    program.collectives.push_back(std::move(*problem));
  }
  return {};
}

Status readLayout(const fb::Parameter &from, const Mesh &mesh, ParameterDecl &decl) {
  decl.global = decl.type;
  auto fail = [&](const std::string &what) {
    return invalidArtifact("the sharding of " + quote(decl.name) + " " + what);
  };
  for (uint32_t i = 0; i < (from.stages() ? from.stages()->size() : 0); ++i) {
    std::vector<int64_t> &stages = decl.spec.stages;
    int64_t stage = from.stages()->Get(i);
    if (stage >= mesh.size(kStageAxis) || (!stages.empty() && stage <= stages.back()))
      return fail("names stages that the mesh does not have, or not in their order");
    stages.push_back(stage);
  }
  if (!from.global_shape()) {
    if (from.dims() && from.dims()->size() > 0)
      return fail("has no global shape");
    return {};
  }
  decl.global.shape.assign(from.global_shape()->begin(), from.global_shape()->end());
  if (decl.global.shape.size() != decl.type.shape.size())
    return fail("has another number of dimensions");
  uint64_t bytes = uint64_t(sizeOf(decl.type.dtype));
  for (int64_t size : decl.global.shape)
    if (size < 0 || uint64_t(size) > kMaxBytes ||
        __builtin_mul_overflow(bytes, std::max<uint64_t>(uint64_t(size), 1), &bytes) ||
        bytes > kMaxBytes)
      return fail("has no sensible size");
  std::vector<bool> used(mesh.axes().size());
  for (uint32_t i = 0; i < (from.dims() ? from.dims()->size() : 0); ++i) {
    DimSpec &dim = decl.spec.dims.emplace_back();
    const auto *axes = from.dims()->Get(i)->axes();
    for (uint32_t j = 0; j < (axes ? axes->size() : 0); ++j) {
      uint32_t axis = axes->Get(j);
      if (axis >= used.size() || used[axis])
        return fail("uses an axis that the mesh does not have, or one twice");
      used[axis] = true;
      dim.axes.push_back(mesh.axes()[axis].name);
    }
  }
  if (decl.spec.dims.size() > decl.type.shape.size() ||
      localShape(decl.global.shape, decl.spec, mesh) != decl.type.shape)
    return fail("does not give its shape on a device");
  decl.spec = decl.spec.trimmed();
  return {};
}

} // namespace minigptc::runtime
