//===- Annotations.cpp - specs as attributes of the program ---------------===//
#include "compiler/trace/Annotations.h"
#include "compiler/trace/Emit.h"
#include "minigptc/trace/Sharding.h"
#include "runtime/base/Suggest.h"

#include <map>
#include <set>

using namespace minigptc;
using namespace minigptc::detail;
using llvm::SmallVector;

static std::vector<std::string> axisNames(const Mesh &mesh) {
  std::vector<std::string> names;
  for (const MeshAxis &axis : mesh.axes())
    names.push_back(axis.name);
  return names;
}

dist::MeshAttr minigptc::detail::toMeshAttr(mlir::MLIRContext *context, const Mesh &mesh,
                                            const std::source_location &where) {
  SmallVector<mlir::StringAttr> names;
  SmallVector<int64_t> sizes;
  std::set<std::string> seen;
  for (const MeshAxis &axis : mesh.axes()) {
    if (axis.name.empty() || axis.size < 1)
      throw TraceError("axis '" + axis.name + "' of the mesh has size " +
                           std::to_string(axis.size) +
                           "; an axis has a name, and a size of at "
                           "least 1",
                       where);
    if (!seen.insert(axis.name).second)
      throw TraceError("the mesh has axis '" + axis.name + "' twice", where);
    if (axis.size == 1)
      continue;
    names.push_back(mlir::StringAttr::get(context, axis.name));
    sizes.push_back(axis.size);
  }
  return dist::MeshAttr::get(context, names, sizes);
}

//===----------------------------------------------------------------------===//
// One spec
//===----------------------------------------------------------------------===//

namespace {

/// The spec that was meant by one that is too long: without the dimensions that it leaves
/// whole.
std::string suggestion(const PartitionSpec &spec, size_t rank) {
  PartitionSpec shorter;
  for (const DimSpec &dim : spec.dims)
    if (!dim.axes.empty())
      shorter.dims.push_back(dim);
  return shorter.dims.size() <= rank ? "; did you mean " + shorter.toString() + "?" : "";
}

void checkSpec(const std::string &what, const TensorType &type, const PartitionSpec &spec,
               const Mesh &mesh, const std::source_location &where) {
  auto number = [](size_t n) { return std::to_string(n); };
  if (spec.dims.size() > type.shape.size())
    throw TraceError(what + ": the spec " + spec.toString() + " has rank " +
                         number(spec.dims.size()) + ", the tensor " + type.toString() +
                         " has rank " + number(type.shape.size()) +
                         suggestion(spec, type.shape.size()),
                     where);
  std::map<std::string, size_t> dimOf;
  for (auto [dim, entry] : llvm::enumerate(spec.dims))
    for (const std::string &axis : entry.axes) {
      if (!mesh.has(axis)) {
        std::vector<std::string> names = axisNames(mesh);
        std::string nearest = runtime::nearestName(axis, names);
        throw TraceError(what + ": the spec " + spec.toString() + " names axis '" + axis +
                             "', which the mesh " + mesh.toString() + " does not have",
                         where,
                         nearest.empty() ? std::vector<std::string>{}
                                         : std::vector{"did you mean '" + nearest + "'?"});
      }
      auto [seen, isNew] = dimOf.try_emplace(axis, dim);
      if (!isNew)
        throw TraceError(what + ": the spec " + spec.toString() + " uses axis '" + axis +
                             "' twice, in dimensions " + number(seen->second) + " and " +
                             number(dim) + "; an axis cuts one dimension",
                         where);
    }
}

} // namespace

dist::ShardingAttr minigptc::detail::toShardingAttr(mlir::MLIRContext *context,
                                                    const std::string &what, const TensorType &type,
                                                    const PartitionSpec &spec, const Mesh &mesh,
                                                    const std::source_location &where) {
  checkSpec(what, type, spec, mesh, where);
  if (mesh.numDevices() == 1)
    return {};
  mlir::Builder builder(context);
  SmallVector<mlir::ArrayAttr> dims(type.shape.size(), builder.getArrayAttr({}));
  for (auto [dim, entry] : llvm::enumerate(spec.dims)) {
    SmallVector<mlir::Attribute> axes;
    for (const std::string &axis : entry.axes)
      if (mesh.size(axis) > 1)
        axes.push_back(builder.getStringAttr(axis));
    dims[dim] = builder.getArrayAttr(axes);
  }
  SmallVector<bool> closed(dims.size(), false);
  return dist::ShardingAttr::get(context, mlir::FlatSymbolRefAttr::get(context, kMeshName), dims,
                                 closed, {}, {}, graph::ReduceKind::sum);
}

/// A spec that is shorter than the tensor and ends in an axis may have been meant for the last
/// dimension: P('batch', 'model') on [batch, sequence, features] cuts the sequence.
static void remarkShortSpec(const Emitter &emit, const TensorType &type, const PartitionSpec &spec,
                            const std::source_location &where) {
  size_t rank = type.shape.size(), last = spec.dims.size();
  if (last < 2 || last >= rank || spec.dims[last - 1].axes.empty())
    return;
  PartitionSpec meant = spec;
  meant.dims.resize(rank);
  std::swap(meant.dims[last - 1], meant.dims[rank - 1]);
  double parts = 1, bytes = double(type.numBytes());
  for (const std::string &axis : spec.dims[last - 1].axes)
    parts *= double(emit.context.mesh().size(axis));
  for (size_t dim = 0; dim + 1 < last; ++dim)
    for (const std::string &axis : spec.dims[dim].axes)
      bytes /= double(emit.context.mesh().size(axis));
  emit.context.remark({"withShardingConstraint: " + spec.toString() + " on " + type.toString() +
                           " cuts dimension " + std::to_string(last - 1) + " of " +
                           std::to_string(rank) +
                           " (the sequence, of [batch, sequence, features])"
                           ": whatever needs it whole gathers it; did you mean " +
                           meant.toString() + "?",
                       displayFile(where.file_name()) + ":" + std::to_string(where.line()),
                       bytes * (parts - 1) / parts});
}

Value minigptc::withShardingConstraint(const Operand &x, const PartitionSpec &spec) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  if (emit.context.manualMesh())
    emit.fail("withShardingConstraint: in a function of shardMap, tensors are one device's parts; "
              "there is nothing to lay out",
              {"pin the operands or results of the shardMap"});
  const Mesh &mesh = emit.context.mesh();
  if (mesh.empty())
    return emit.wrap(operand);
  dist::ShardingAttr sharding =
      toShardingAttr(emit.context.mlir(), "withShardingConstraint", toTensorType(operand.getType()),
                     spec, mesh, x.where());
  if (!sharding)
    return emit.wrap(operand);
  remarkShortSpec(emit, toTensorType(operand.getType()), spec, x.where());
  return emit.wrap(emit.op<dist::ConstraintOp>(operand, {emit.attribute("sharding", sharding)},
                                               operand.getType()));
}

//===----------------------------------------------------------------------===//
// An entry function's arguments and results
//===----------------------------------------------------------------------===//

bool minigptc::detail::isBelow(const std::string &path, const std::string &name) {
  return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
}

void TraceContext::declareParameterSpec(const ParameterSpec &spec) {
  parameterSpecs.insert_or_assign(spec.path, spec);
}

const ParameterSpec *TraceContext::findParameterSpec(const std::string &path,
                                                     const Shape &shape) const {
  for (size_t start = 0; start != std::string::npos;) {
    auto found = parameterSpecs.find(path.substr(start));
    if (found != parameterSpecs.end() && found->second.shape == shape)
      return &found->second;
    size_t dot = path.find('.', start);
    start = dot == std::string::npos ? dot : dot + 1;
  }
  return nullptr;
}

EntrySpecs::EntrySpecs(TraceContext &context, const Entry &entry, const Leaves &inputs,
                       const Leaves &outputs)
    : context(context), entry(entry) {
  const EntryOptions &options = entry.options;
  std::vector<bool> used(options.inSpecs.size());
  std::map<std::string, size_t> inputOf;
  for (const auto &leaf : inputs) {
    inputOf.emplace(leaf.first, input.size());
    input.push_back(find("input", leaf, options.inSpecs, used));
  }
  checkUsed("input", inputs, options.inSpecs, used);
  used.assign(options.outSpecs.size(), false);
  for (const auto &leaf : outputs) {
    auto same = inputOf.find(leaf.first);
    bool isInput = same != inputOf.end() && inputs[same->second].second == leaf.second;
    bool hasSpec = llvm::any_of(
        options.outSpecs, [&](const PathSpec &spec) { return isBelow(leaf.first, spec.path); });
    output.push_back(isInput && !hasSpec ? input[same->second]
                                         : find("result", leaf, options.outSpecs, used));
  }
  checkUsed("result", outputs, options.outSpecs, used);
}

dist::ShardingAttr EntrySpecs::find(const char *kind, const Leaves::value_type &leaf,
                                    const PathSpecs &paths, std::vector<bool> &used) const {
  const auto &[path, type] = leaf;
  const PathSpec *best = nullptr;
  for (auto [i, candidate] : llvm::enumerate(paths))
    if (isBelow(path, candidate.path)) {
      used[i] = true;
      if (!best || best->path.size() < candidate.path.size())
        best = &candidate;
    }
  if (best)
    return toShardingAttr(context.mlir(), std::string(kind) + " '" + path + "'", type, best->spec,
                          context.mesh(), best->where);
  const ParameterSpec *parameter = context.findParameterSpec(path, type.shape);
  if (!parameter)
    return {};
  return toShardingAttr(context.mlir(), "parameter '" + parameter->path + "'", type,
                        parameter->spec, context.mesh(), parameter->where);
}

void EntrySpecs::checkDonated(const std::string &path, size_t from, size_t to) const {
  auto isCut = [](dist::ShardingAttr sharding) {
    return sharding &&
           llvm::any_of(sharding.getDims(), [](mlir::ArrayAttr axes) { return !axes.empty(); });
  };
  if (input[from] == output[to] || (!isCut(input[from]) && !isCut(output[to])))
    return;
  std::source_location where = entry.where;
  for (const PathSpec &spec : entry.options.outSpecs)
    if (isBelow(path, spec.path))
      where = spec.where;
  throw TraceError("result '" + path +
                       "' takes over the memory of the input of its name, which is donated, but "
                       "has another spec",
                   where, {"leave out the result's spec, or do not donate '" + path + "'"});
}

void EntrySpecs::checkUsed(const char *kind, const Leaves &leaves, const PathSpecs &paths,
                           const std::vector<bool> &used) const {
  for (auto [spec, isUsed] : llvm::zip_equal(paths, used)) {
    if (isUsed)
      continue;
    std::vector<std::string> names;
    for (const auto &leaf : leaves)
      names.push_back(leaf.first);
    std::string nearest = runtime::nearestName(spec.path, names);
    throw TraceError("function '" + entry.name + "' has no " + kind + " '" + spec.path +
                         "', for which there is a spec",
                     spec.where,
                     nearest.empty() ? std::vector<std::string>{}
                                     : std::vector{"did you mean '" + nearest + "'?"});
  }
}
