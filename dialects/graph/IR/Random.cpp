//===- Random.cpp - verifiers of random ops -------------------------------===//
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"

#include <cmath>

using namespace mlir;
using namespace minigptc::graph;

LogicalResult FoldInOp::verify() { return OpChecker(*this).checkScalar(getData(), "data"); }

LogicalResult RandomBitsOp::verify() {
  OpChecker check(*this);
  RankedTensorType type = getType();
  ArrayRef<int64_t> global = getGlobalShape();
  if (failed(check.checkOnePerDim(global, type.getRank(), "the global shape")) ||
      failed(check.checkShape(getOffsets(), "offsets", type.getRank(), "one offset per dimension")))
    return failure();
  int64_t elements = 1;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (global[i] < type.getDimSize(i))
      return check.error() << "block " << describe(type) << " is larger than the global shape "
                           << describe(global) << " in dimension " << i;
    if (llvm::MulOverflow(elements, global[i], elements))
      return check.error() << "the global shape " << describe(global)
                           << " has more than 2^63 elements";
  }
  return success();
}

/// A part has a number, and something to be a part of.
template <typename Op> static LogicalResult checkPart(Op op) {
  std::optional<uint64_t> parts = op.getParts();
  RankedTensorType type = op.getType();
  OpChecker check(op);
  if (bool(op.getPart()) != parts.has_value())
    return check.error() << "needs the number of a part, and of how many";
  if (!parts)
    return success();
  if (type.getRank() == 0)
    return check.error() << "draws a part of a scalar, which has no dimension 0";
  int64_t elements = 0;
  if (int64_t(*parts) < 1 ||
      llvm::MulOverflow(type.getNumElements(), int64_t(*parts), elements))
    return check.error() << "draws one of " << int64_t(*parts)
                         << " parts; there must be at least 1, and fewer than 2^63 elements";
  return success();
}

LogicalResult RandomUniformOp::verify() { return checkPart(*this); }
LogicalResult RandomNormalOp::verify() { return checkPart(*this); }
LogicalResult DropoutOp::verify() { return checkPart(*this); }

LogicalResult RandomTruncatedNormalOp::verify() {
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  if (low < high)
    return checkPart(*this);
  return OpChecker(*this).error() << "low " << std::to_string(low) << " must be less than high "
                                  << std::to_string(high);
}
