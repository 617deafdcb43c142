//===- ReshardCost.cpp - what a change of sharding costs, about -----------===//
#include "dialects/dist/Transforms/ReshardCost.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

/// What a step costs besides its bytes.
static constexpr double kStepCost = 4096;

double dist::reshardCost(RankedTensorType type, const Sharding &from, const Sharding &to,
                         MeshAttr mesh) {
  // What is whole in the target is gathered, what is cut there was cut before it is moved:
  // the bytes are those of a tensor that only axes of both sides cut.
  double bytes = graph::detail::bytesOf(type);
  unsigned numAxes = mesh.getNames().size();
  for (unsigned axis = 0; axis < numAxes; ++axis)
    if (from.dimOf(axis) && from.dimOf(axis) == to.dimOf(axis))
      bytes /= mesh.getSizes()[axis];
  double cost = 0;
  for (unsigned axis = 0; axis < numAxes; ++axis) {
    double size = mesh.getSizes()[axis], ring = bytes * (size - 1) / size;
    auto before = from.dimOf(axis), after = to.dimOf(axis);
    if (before && after && before != after)
      cost += kStepCost + ring / size;
    else if (before && !after)
      cost += kStepCost + ring;
    else if (llvm::is_contained(from.partial, axis) && !llvm::is_contained(to.partial, axis))
      cost += kStepCost + (after ? ring : 2 * ring);
  }
  return cost;
}
