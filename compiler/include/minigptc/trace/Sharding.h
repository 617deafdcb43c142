//===- Sharding.h - what the user says of devices ---------------*- C++ -*-===//
//
// Meshes and specs are the runtime's (minigptc/runtime/Mesh.h). A program says which axes
// cut its inputs, its parameters and, where it must, a value in the middle; the compiler
// finds all other shardings.
//
//   Mesh mesh{{"data", 4}, {"tensor", 2}};
//   auto step = jit(trainStep, {.mesh = mesh, .inSpecs = {{"batch", P("data")}}});
//   x = withShardingConstraint(x, P("data", None, "tensor"));
//   param("kernel", {64, 256}, init, P(None, "tensor"));          // in a module
//
// Specs mean layouts, never values: a program computes the same on any mesh. Axes of size 1
// cut nothing and leave no trace in the program.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_SHARDING_H
#define MINIGPTC_TRACE_SHARDING_H

#include "minigptc/runtime/Mesh.h"
#include "minigptc/trace/Value.h"

#include <utility>

namespace minigptc {

/// A spec for the tensor at a path, or for all tensors below it: "batch" is for "batch.x"
/// and "batch.y". Remembers the place where it was written.
struct PathSpec {
  PathSpec(std::string path, PartitionSpec spec,
           std::source_location where = std::source_location::current())
      : path(std::move(path)), spec(std::move(spec)), where(where) {}
  std::string path;
  PartitionSpec spec;
  std::source_location where;
};
/// Where several paths fit, the longest decides.
using PathSpecs = std::vector<PathSpec>;

/// How a parameter is stored, and with it its gradient and moments: whatever inputs and
/// results have this path at the end of theirs and this shape.
struct ParameterSpec {
  ParameterSpec(std::string path, Shape shape, PartitionSpec spec,
                std::source_location where = std::source_location::current())
      : path(std::move(path)), shape(std::move(shape)), spec(std::move(spec)), where(where) {}
  std::string path;
  Shape shape;
  PartitionSpec spec;
  std::source_location where;
};

/// x, laid out as the spec says wherever this value is; dimensions that it does not name
/// are whole on every device. Without a mesh, x itself.
Value withShardingConstraint(const Operand &x, const PartitionSpec &spec);

} // namespace minigptc

#endif // MINIGPTC_TRACE_SHARDING_H
