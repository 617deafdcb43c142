//===- Reduction.cpp - reductions along dimensions ------------------------===//
#include "compiler/interpreter/Combine.h"
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"
#include "compiler/interpreter/Strided.h"

#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

template <typename A> static A neutralElement(ReduceKind kind) {
  using Limits = std::numeric_limits<A>;
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::any: return A(0);
  case ReduceKind::prod:
  case ReduceKind::all: return A(1);
  case ReduceKind::max: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  case ReduceKind::min: return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  llvm_unreachable("all kinds are handled");
}

/// Elements along the reduced dimensions are combined in row-major order.
static LogicalResult evaluateReduce(ReduceOp op, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  SmallVector<int64_t> order = otherDims(operands[0].getType().getRank(), op.getDims());
  SmallVector<int64_t> reduced(op.getDims());
  llvm::sort(reduced);
  llvm::append_range(order, reduced);
  Tensor rows = transpose(operands[0], order);
  int64_t length = 1;
  for (int64_t dim : reduced)
    length *= operands[0].getShape()[dim];
  ReduceKind kind = op.getKind();
  dispatch(result.getType().getElementType(), [&]<typename T>() {
    ArrayRef<T> in = elements<T>(rows);
    for (auto [row, out] : llvm::enumerate(mutableElements<T>(result))) {
      auto total = neutralElement<Accumulator<T>>(kind);
      for (T x : in.slice(row * length, length))
        total = combine(kind, total, Accumulator<T>(widen(x)));
      out = narrow<T>(total);
    }
  });
  results.push_back(std::move(result));
  return success();
}

void interpreter::attachReductionModels(MLIRContext *context) {
  attachModel<ReduceOp, evaluateReduce>(context);
}
