//===- AttentionProblem.cpp -----------------------------------------------===//
#include "compiler/target/common/AttentionProblem.h"
#include "compiler/conversion/GraphToLoops/Scalars.h"

#include <type_traits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;
using minigptc::graph::kernel::getShape;

template <typename OpTy> static AttentionProblem describeAny(OpTy op) {
  ArrayRef<int64_t> q = getShape(op.getQuery()), k = getShape(op.getKey());
  Type element = op.getQuery().getType().getElementType();
  AttentionProblem problem{.element = graph::getAccumulatorType(element),
                           .bf16 = element.isBF16(),
                           .batch = q[0],
                           .queries = q[1],
                           .heads = q[2],
                           .width = q[3],
                           .keys = k[1],
                           .groups = k[2],
                           .valueWidth = getShape(op.getValue())[3],
                           .scale = op.getScale().convertToDouble(),
                           .kind = op.getMaskKind(),
                           .window = op.getWindow() ? int64_t(*op.getWindow()) : 0,
                           .maskBatch = 0,
                           .maskHeads = 0,
                           .hasSegments = bool(op.getQuerySegments()),
                           .hasOffset = bool(op.getQueryOffset())};
  if (op.getMask()) {
    problem.maskBatch = getShape(op.getMask())[0];
    problem.maskHeads = getShape(op.getMask())[1];
  }
  return problem;
}

/// `buffers`: operands, then results.
template <typename OpTy> static AttentionBuffers findMasks(OpTy op, ValueRange buffers) {
  AttentionBuffers found;
  unsigned number = std::is_same_v<OpTy, graph::AttentionOp> ? 3 : 6;
  auto next = [&](Value operand) { return operand ? buffers[number++] : Value(); };
  found.mask = next(op.getMask());
  found.querySegments = next(op.getQuerySegments());
  found.keySegments = next(op.getKeySegments());
  found.queryOffset = next(op.getQueryOffset());
  found.query = buffers[0];
  found.key = buffers[1];
  found.value = buffers[2];
  return found;
}

AttentionBuffers minigptc::target::findBuffers(graph::AttentionOp op, ValueRange buffers) {
  AttentionBuffers found = findMasks(op, buffers);
  ValueRange results = buffers.drop_front(op->getNumOperands());
  found.result = results[0];
  found.logSumExp = results[1];
  return found;
}

AttentionBuffers minigptc::target::findBuffers(graph::AttentionGradOp op, ValueRange buffers) {
  AttentionBuffers found = findMasks(op, buffers);
  found.result = buffers[3];
  found.logSumExp = buffers[4];
  found.cotangent = buffers[5];
  ValueRange results = buffers.drop_front(op->getNumOperands());
  found.queryGrad = results[0];
  found.keyGrad = results[1];
  found.valueGrad = results[2];
  return found;
}

AttentionProblem minigptc::target::describe(graph::AttentionOp op) { return describeAny(op); }
AttentionProblem minigptc::target::describe(graph::AttentionGradOp op) { return describeAny(op); }
