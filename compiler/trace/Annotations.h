//===- Annotations.h - specs as attributes of the program -------*- C++ -*-===//
//
// The specs that hold for an entry function's arguments and results, checked and as
// `dist.sharding` attributes.
//
//   EntrySpecs specs(context, entry, inputs, outputs);
//   dist::ShardingAttr attribute = specs.ofInput(0);            // null: the user says nothing
//
// A tensor's spec is that of the longest fitting path in `inSpecs` (`outSpecs`); else that
// of the parameter whose path its own ends with and whose shape it has, which covers
// gradients and moments; a result finally takes that of the input of its path.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_ANNOTATIONS_H
#define MINIGPTC_COMPILER_TRACE_ANNOTATIONS_H

#include "compiler/trace/TraceContext.h"
#include "dialects/dist/IR/Dist.h"

namespace minigptc::detail {

/// Path and type of every leaf.
using Leaves = std::vector<std::pair<std::string, TensorSpec>>;

/// The symbol of a program's mesh.
inline constexpr llvm::StringLiteral kMeshName = "mesh";

/// The mesh as the program has it: without axes of size 1. Throws TraceError if an axis is
/// there twice or has no name or size.
dist::MeshAttr toMeshAttr(mlir::MLIRContext *context, const Mesh &mesh,
                          const std::source_location &where);

/// A spec that holds for a tensor of that type. `what` names it in messages:
/// "parameter 'ln1.scale'". Throws TraceError for an unknown axis, one that is there twice, or
/// more dimensions than the tensor has. Null if the mesh is one device.
dist::ShardingAttr toShardingAttr(mlir::MLIRContext *context, const std::string &what,
                                  const TensorType &type, const PartitionSpec &spec,
                                  const Mesh &mesh, const std::source_location &where);

/// Whether `path` is the name, or below it.
bool isBelow(const std::string &path, const std::string &name);

class EntrySpecs {
public:
  EntrySpecs(TraceContext &context, const Entry &entry, const Leaves &inputs,
             const Leaves &outputs);
  dist::ShardingAttr ofInput(size_t number) const { return input[number]; }
  dist::ShardingAttr ofOutput(size_t number) const { return output[number]; }
  /// Throws TraceError unless a result lies as the donated input whose memory it takes over.
  void checkDonated(const std::string &path, size_t input, size_t output) const;

private:
  dist::ShardingAttr find(const char *kind, const Leaves::value_type &leaf, const PathSpecs &paths,
                          std::vector<bool> &used) const;
  void checkUsed(const char *kind, const Leaves &leaves, const PathSpecs &paths,
                 const std::vector<bool> &used) const;

  TraceContext &context;
  const Entry &entry;
  std::vector<dist::ShardingAttr> input, output;
};

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_ANNOTATIONS_H
