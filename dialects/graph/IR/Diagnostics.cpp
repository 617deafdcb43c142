//===- Diagnostics.cpp - errors of ops, with shapes and culprits ----------===//
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace minigptc::graph;

std::string minigptc::graph::describe(ArrayRef<int64_t> sizes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleave(sizes, os, ",");
  os << "]";
  return text;
}

std::string minigptc::graph::describe(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto tensor = dyn_cast<RankedTensorType>(type);
  os << (tensor ? tensor.getElementType() : type);
  if (tensor)
    os << describe(tensor.getShape());
  return text;
}

OpChecker::OpChecker(Operation *op)
    : location(op->getLoc()), opName(op->getName().getStringRef()) {}

LogicalResult OpChecker::checkDims(ArrayRef<int64_t> dims, int64_t rank, StringRef what) const {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return error() << what << " " << describe(dims) << " holds " << dim
                     << ", which is not in [0, " << rank << ")";
    if (seen.test(dim))
      return error() << what << " " << describe(dims) << " holds " << dim << " twice";
    seen.set(dim);
  }
  return success();
}

LogicalResult OpChecker::checkOnePerDim(ArrayRef<int64_t> list, int64_t rank,
                                        StringRef what) const {
  if (int64_t(list.size()) == rank)
    return success();
  return error() << what << " has " << list.size() << " entries for a tensor of rank " << rank;
}

LogicalResult OpChecker::checkScalar(Value value, StringRef name) const {
  if (cast<RankedTensorType>(value.getType()).getRank() == 0)
    return success();
  return error() << name << " " << describe(value) << " must be a scalar" << note(value, name);
}

LogicalResult OpChecker::checkSameElementType(Value a, StringRef nameA, Value b,
                                              StringRef nameB) const {
  if (getElementTypeOrSelf(a.getType()) == getElementTypeOrSelf(b.getType()))
    return success();
  return error() << nameA << " " << describe(a) << " and " << nameB << " " << describe(b)
                 << " have different element types; convert one of them" << note(a, nameA)
                 << note(b, nameB);
}

LogicalResult OpChecker::checkShape(Value value, StringRef name, ArrayRef<int64_t> expected,
                                    StringRef why) const {
  if (cast<RankedTensorType>(value.getType()).getShape() == expected)
    return success();
  return error() << name << " " << describe(value) << " must have the shape " << describe(expected)
                 << ", " << why << note(value, name);
}

LogicalResult OpChecker::checkRank(Value value, StringRef name, int64_t rank,
                                   StringRef layout) const {
  if (cast<RankedTensorType>(value.getType()).getRank() == rank)
    return success();
  return error() << name << " " << describe(value) << " must have " << rank << " dimensions, "
                 << layout << note(value, name);
}
