//===- KernelWork.cpp -----------------------------------------------------===//
#include "compiler/target/artifact/KernelWork.h"
#include "compiler/target/artifact/ArtifactTypes.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;

static bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

static double elementsOf(Type type) { return double(cast<ShapedType>(type).getNumElements()); }

static double flopsOf(Operation *op) {
  double flops = 0;
  if (auto cost = dyn_cast<graph::CostOp>(op))
    flops = cost.getMatmulFlops();
  auto fusible = dyn_cast<graph::FusibleOp>(op);
  if (flops > 0 || !fusible)
    return flops;
  switch (fusible.getFusionKind()) {
  case graph::FusionKind::elementwise:
    for (Type type : op->getResultTypes())
      flops += isFloat(type) ? elementsOf(type) : 0;
    return flops;
  case graph::FusionKind::reduction:
    for (Type type : op->getOperandTypes())
      flops = std::max(flops, isFloat(type) ? elementsOf(type) : 0);
    return flops;
  case graph::FusionKind::broadcast:
  case graph::FusionKind::data_movement:
  case graph::FusionKind::opaque: return 0;
  }
  return 0;
}

/// Bytes of an argument that are read: no more than what ops take that take one element of it
/// for each of theirs.
static double bytesRead(BlockArgument argument) {
  double whole = double(byteSize(argument.getType())), moved = 0;
  for (Operation *user : argument.getUsers()) {
    auto fusible = dyn_cast<graph::FusibleOp>(user);
    if (!fusible || fusible.getFusionKind() != graph::FusionKind::data_movement ||
        user->getNumResults() != 1)
      return whole;
    moved += double(byteSize(user->getResult(0).getType()));
  }
  return std::min(whole, moved);
}

KernelWork minigptc::target::workOf(func::FuncOp kernel) {
  KernelWork work;
  kernel.walk([&](Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>() || op->hasTrait<OpTrait::ConstantLike>() ||
        op == kernel)
      return;
    work.flops += flopsOf(op);
    work.ops.push_back(op);
  });
  for (BlockArgument argument : kernel.getArguments())
    work.bytes += bytesRead(argument);
  for (Type type : kernel.getResultTypes())
    work.bytes += double(byteSize(type));
  return work;
}
