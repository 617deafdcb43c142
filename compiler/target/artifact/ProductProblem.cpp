#include "compiler/target/artifact/ProductProblem.h"

#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc;

static Type elementOf(Value matrix) { return cast<ShapedType>(matrix.getType()).getElementType(); }

runtime::GemmProblem target::problemOf(exec::GemmOp op) {
  auto layout = [](Value matrix, ArrayRef<int64_t> strides, ArrayRef<int64_t> batch) {
    return runtime::MatrixLayout{strides[0], strides[1], batch.vec(), elementOf(matrix).isBF16()};
  };
  runtime::GemmProblem problem;
  Type sum = graph::getAccumulatorType(elementOf(op.getOut()));
  problem.dtype = sum.isF64() ? DType::f64 : DType::f32;
  problem.m = int64_t(op.getM());
  problem.n = int64_t(op.getN());
  problem.k = int64_t(op.getK());
  problem.batch = op.getBatch().vec();
  problem.lhs = layout(op.getLhs(), op.getLhsStrides(), op.getLhsBatchStrides());
  problem.rhs = layout(op.getRhs(), op.getRhsStrides(), op.getRhsBatchStrides());
  problem.out = layout(op.getOut(), op.getOutStrides(), op.getOutBatchStrides());
  problem.beta = op.getBeta().convertToDouble();
  problem.tf32 = op.getTf32();
  problem.epilogue = runtime::GemmEpilogue(op.getEpilogue());
  return problem;
}
