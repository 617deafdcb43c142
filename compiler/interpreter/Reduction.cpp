//===- Reduction.cpp - reductions along dimensions ------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"
#include "compiler/interpreter/Strided.h"

#include <cmath>
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

template <typename A> static A combine(ReduceKind kind, A x, A y) {
  if constexpr (std::is_floating_point_v<A>)
    if (std::isnan(x) || std::isnan(y)) // wins over everything
      return std::numeric_limits<A>::quiet_NaN();
  // Integers wrap around; 64-bit unsigned arithmetic has the same low bits.
  using Arithmetic = std::conditional_t<std::is_floating_point_v<A>, A, uint64_t>;
  switch (kind) {
  case ReduceKind::sum: return A(Arithmetic(x) + Arithmetic(y));
  case ReduceKind::prod: return A(Arithmetic(x) * Arithmetic(y));
  case ReduceKind::max:
  case ReduceKind::any: return x < y ? y : x;
  case ReduceKind::min:
  case ReduceKind::all: return y < x ? y : x;
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
