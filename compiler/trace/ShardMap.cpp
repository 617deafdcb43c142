//===- ShardMap.cpp - programs of one device -------------------------------===//
#include "minigptc/trace/ShardMap.h"
#include "compiler/trace/Annotations.h"
#include "compiler/trace/Arguments.h"
#include "compiler/trace/Emit.h"
#include "dialects/dist/IR/Sharding.h"

using namespace minigptc;
using namespace minigptc::detail;
using llvm::SmallVector;

namespace {

/// One call of a mapped function.
class ShardMapCall {
public:
  ShardMapCall(const Mesh &mesh, const std::source_location &where)
      : emit(where), context(emit.context), mesh(mesh) {
    checkMesh();
  }

  Tree run(const TreeFunction &fn, std::span<const Tree> arguments,
           const std::vector<TreeSpec> &inSpecs, const TreeSpec &outSpecs);

private:
  void checkMesh() const;
  const PathSpec &find(const std::string &what, const std::string &path,
                       const TreeSpec &specs) const;
  mlir::RankedTensorType partOf(const std::string &what, mlir::RankedTensorType type,
                                const PathSpec &spec) const;
  mlir::RankedTensorType wholeOf(mlir::RankedTensorType part, const PartitionSpec &spec) const;
  void note(SmallVector<mlir::Attribute> &shardings, const std::string &what,
            mlir::RankedTensorType type, const PartitionSpec &spec,
            const std::source_location &where) const;
  AxisSet axesOf(const PartitionSpec &spec) const;
  void checkSame(const std::string &what, AxisSet varying, const PathSpec &spec) const;
  int64_t partsOf(const DimSpec &dim) const;

  Emitter emit;
  TraceContext &context;
  const Mesh &mesh;
};

/// "argument 1", "argument 1 'w.kernel'".
std::string describePart(const std::string &what, const std::string &path) {
  return "shardMap: " + what + (path.empty() ? "" : " '" + path + "'");
}

} // namespace

void ShardMapCall::checkMesh() const {
  if (context.manualMesh())
    emit.fail(
        "shardMap: this is in the function of another shardMap, in which all axes of the mesh "
        "are manual already",
        {"call the function itself: its collectives see the same axes"});
  toMeshAttr(context.mlir(), mesh, emit.where);
  if (context.mesh() == mesh || (context.mesh().empty() && mesh.numDevices() == 1))
    return;
  if (context.mesh().empty())
    emit.fail("shardMap: it is over the mesh " + mesh.toString() + ", and the program has none",
              {"give it to jit or to the entry of trace, as .mesh"});
  emit.fail("shardMap: it is over the mesh " + mesh.toString() + ", and the program is for " +
            context.mesh().toString() + "; a program has one mesh");
}

/// The spec of a tensor of an argument or of the result.
const PathSpec &ShardMapCall::find(const std::string &what, const std::string &path,
                                   const TreeSpec &specs) const {
  const PathSpec *best = nullptr;
  for (const PathSpec &spec : specs.paths())
    if (spec.path.empty() || isBelow(path, spec.path))
      if (!best || best->path.size() < spec.path.size())
        best = &spec;
  if (!best)
    emit.fail(
        describePart(what, path) + " has no spec",
        {"P() is for what is whole on every device, and path \"\" for all that have no other"});
  return *best;
}

int64_t ShardMapCall::partsOf(const DimSpec &dim) const {
  int64_t parts = 1;
  for (const std::string &axis : dim.axes)
    parts *= mesh.size(axis);
  return parts;
}

mlir::RankedTensorType ShardMapCall::partOf(const std::string &what, mlir::RankedTensorType type,
                                            const PathSpec &spec) const {
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, dim] : llvm::zip(shape, spec.spec.dims)) {
    int64_t parts = partsOf(dim);
    if (size % parts != 0)
      throw TraceError(what + ": the spec " + spec.spec.toString() + " cuts " +
                           toTensorType(type).toString() + " into " + std::to_string(parts) +
                           " parts along a dimension of " + std::to_string(size) +
                           ", which that does not divide",
                       spec.where);
    size /= parts;
  }
  return type.clone(shape);
}

mlir::RankedTensorType ShardMapCall::wholeOf(mlir::RankedTensorType part,
                                             const PartitionSpec &spec) const {
  SmallVector<int64_t> shape(part.getShape());
  for (auto [size, dim] : llvm::zip(shape, spec.dims))
    size *= partsOf(dim);
  return part.clone(shape);
}

/// Checks a spec and adds its attribute.
void ShardMapCall::note(SmallVector<mlir::Attribute> &shardings, const std::string &what,
                        mlir::RankedTensorType type, const PartitionSpec &spec,
                        const std::source_location &where) const {
  if (auto sharding = toShardingAttr(context.mlir(), what, toTensorType(type), spec, mesh, where))
    shardings.push_back(sharding);
}

AxisSet ShardMapCall::axesOf(const PartitionSpec &spec) const {
  AxisSet axes = 0;
  for (const DimSpec &dim : spec.dims)
    axes |= context.axisSet(dim.axes);
  return axes;
}

/// Along axes that its spec does not name, devices must return the same.
void ShardMapCall::checkSame(const std::string &what, AxisSet varying, const PathSpec &spec) const {
  AxisSet differs = varying & ~axesOf(spec.spec);
  if (!differs)
    return;
  throw TraceError(what + " may differ between devices along " + context.namesOf(differs) +
                       ", but its spec " + spec.spec.toString() +
                       " says that it is the same on all of them",
                   spec.where,
                   {"psum, pmean or allGather over " + context.namesOf(differs) +
                    " makes it the same; or name the axis in the spec, to have all of them"});
}

Tree ShardMapCall::run(const TreeFunction &fn, std::span<const Tree> arguments,
                       const std::vector<TreeSpec> &inSpecs, const TreeSpec &outSpecs) {
  if (inSpecs.size() != arguments.size())
    emit.fail("shardMap: the function has " + std::to_string(arguments.size()) +
              " arguments, and there are specs for " + std::to_string(inSpecs.size()));
  FlatArguments flat = flattenArguments(context, arguments, emit.where);
  SmallVector<mlir::Attribute> in, out;
  PrivateOptions options;
  options.manualMesh = &mesh;
  for (auto [number, argument] : llvm::enumerate(arguments))
    for (const auto &[path, leaf] : argument.flatten()) {
      std::string name = "argument " + std::to_string(number);
      const PathSpec &spec = find(name, path, inSpecs[number]);
      std::string what = describePart(name, path);
      mlir::RankedTensorType type = typeOf(flat.values[options.localTypes.size()]);
      note(in, what, type, spec.spec, spec.where);
      options.localTypes.push_back(partOf(what, type, spec));
      options.varying.push_back(axesOf(spec.spec));
    }
  TracedFunction traced =
      context.traceFunction("shard_map", flat.values, bodyOf(fn, arguments), emit.where, options);
  for (mlir::Value captured : llvm::drop_begin(traced.operands, flat.values.size()))
    note(in, "shardMap", typeOf(captured), P(), emit.where);

  SmallVector<mlir::Type> types;
  for (const auto &[path, leaf] : traced.output.flatten()) {
    const PathSpec &spec = find("the result", path, outSpecs);
    std::string what = describePart("the result", path);
    auto part = llvm::cast<mlir::RankedTensorType>(traced.function.getResultTypes()[types.size()]);
    note(out, what, part, spec.spec, spec.where);
    checkSame(what, traced.varying[types.size()], spec);
    types.push_back(wholeOf(part, spec.spec));
  }
  if (mesh.numDevices() == 1)
    return context.call(traced, emit.where);
  mlir::OpBuilder &builder = context.scope().builder;
  auto op = dist::ManualOp::create(builder, context.location(emit.where), types,
                                   traced.function.getSymName(), traced.operands, kMeshName,
                                   builder.getArrayAttr(in), builder.getArrayAttr(out));
  return context.rebuild(traced.output, op.getResults());
}

Tree minigptc::detail::runShardMap(const TreeFunction &fn, std::span<const Tree> arguments,
                                   const Mesh &mesh, const std::vector<TreeSpec> &inSpecs,
                                   const TreeSpec &outSpecs, const std::source_location &where) {
  return ShardMapCall(mesh, where).run(fn, arguments, inSpecs, outSpecs);
}
