//===- AttentionDecompose.cpp - attention and its gradient in primitives --===//
//
// Scores have the shape [B, G, S, R, T]: batch, key head, query, query head of
// the key head's group (H = G·R), key. Everything is computed in f32 (f64 for f64).
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Builders.h"

#include <limits>

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// What forward and backward share: operands widened and grouped, masked scores.
template <typename Op> class AttentionParts {
public:
  AttentionParts(Op op, GraphBuilder &b) : op(op), b(b) {
    ArrayRef<int64_t> q = shapeOf(op.getQuery()), k = shapeOf(op.getKey());
    batch = q[0], queries = q[1], heads = q[2], width = q[3];
    keys = k[1], groups = k[2], perGroup = heads / groups;
    type = b.accumulatorType(op.getQuery());
    query = group(op.getQuery());
    key = b.convert(op.getKey(), type);
    value = b.convert(op.getValue(), type);
  }

  /// [B, S, H, N] widened, as [B, S, G, R, N].
  Value group(Value heads) {
    int64_t last = shapeOf(heads)[3];
    return b.reshape(b.convert(heads, type), {batch, queries, groups, perGroup, last});
  }
  /// [B, G, S, R, N] as [B, S, H, N] of the element type.
  Value ungroup(Value grouped, Type element) {
    int64_t last = shapeOf(grouped)[4];
    Value byQuery = b.transpose(grouped, {0, 2, 1, 3, 4});
    return b.convert(b.reshape(byQuery, {batch, queries, heads, last}), element);
  }

  /// scale · q·kᵀ, -inf where a query does not attend.
  Value scores() {
    Value products = b.dot(query, key, {0, 2}, {0, 2}, {4}, {3});
    Value scaled = b.multiply(products, op.getScale().convertToDouble());
    Value attends = mask();
    if (!attends)
      return scaled;
    return b.select(attends, scaled, b.splatLike(scaled, -std::numeric_limits<double>::infinity()));
  }

  SmallVector<int64_t> scoreShape() const { return {batch, groups, queries, perGroup, keys}; }

  int64_t batch, queries, heads, width, keys, groups, perGroup;
  Type type;
  Value query, key, value;

private:
  /// i1 [B, G, S, R, T], or null where every query attends to every key.
  Value mask() {
    Value all;
    for (Value part : {positionMask(), explicitMask(), segmentMask()})
      if (part)
        all = all ? b.logicalAnd(all, part) : part;
    return all;
  }

  Value positionMask() {
    if (op.getMaskKind() == MaskKind::none)
      return nullptr;
    SmallVector<int64_t> shape = {queries, keys};
    Value position = b.iota(b.tensor(shape, b.i32()), 0), key = b.iota(b.tensor(shape, b.i32()), 1);
    if (op.getQueryOffset())
      position = b.add(position, b.broadcastScalar(op.getQueryOffset(), shape));
    Value attends = b.compare(CompareDirection::LE, key, position);
    if (op.getMaskKind() == MaskKind::sliding_window) {
      Value first = b.subtract(position, double(*op.getWindow()));
      attends = b.logicalAnd(attends, b.compare(CompareDirection::GT, key, first));
    }
    return b.broadcast(attends, {2, 4}, scoreShape());
  }

  Value explicitMask() {
    Value mask = op.getMask();
    if (!mask)
      return nullptr;
    int64_t maskBatch = shapeOf(mask)[0];
    if (shapeOf(mask)[1] != heads)
      return b.broadcast(mask, {0, 1, 2, 4}, scoreShape());
    Value grouped = b.reshape(mask, {maskBatch, groups, perGroup, queries, keys});
    return b.broadcast(b.transpose(grouped, {0, 1, 3, 2, 4}), {0, 1, 2, 3, 4}, scoreShape());
  }

  Value segmentMask() {
    if (!op.getQuerySegments())
      return nullptr;
    return b.compare(CompareDirection::EQ, b.broadcast(op.getQuerySegments(), {0, 2}, scoreShape()),
                     b.broadcast(op.getKeySegments(), {0, 4}, scoreShape()));
  }

  Op op;
  GraphBuilder &b;
};
} // namespace

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  AttentionParts parts(*this, b);
  auto e = b.shiftedExponential(parts.scores(), 4);
  Value probabilities = b.normalize(e, 4);
  Value result = b.dot(probabilities, parts.value, {0, 1}, {0, 2}, {4}, {1});
  // log of a sum of 0 is -inf, and so is the log-sum-exp of a row without keys.
  Value logSumExp = b.add(e.max, b.make<LogOp>(e.sum));
  Value byHead = b.transpose(logSumExp, {0, 1, 3, 2});
  return {parts.ungroup(result, elementType(getQuery())),
          b.reshape(byHead, {parts.batch, parts.heads, parts.queries})};
}

SmallVector<Value> AttentionGradOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  AttentionParts parts(*this, b);
  SmallVector<int64_t> shape = parts.scoreShape();
  double lowest = parts.type.isF64() ? std::numeric_limits<double>::lowest()
                                     : double(std::numeric_limits<float>::lowest());

  // p = e^(scores - lse); a row without keys has lse = -inf and p = 0.
  Value byHead =
      b.reshape(getLogSumExp(), {parts.batch, parts.groups, parts.perGroup, parts.queries});
  Value logSumExp = b.maximum(b.transpose(byHead, {0, 1, 3, 2}), lowest);
  Value probabilities =
      b.exponential(b.subtract(parts.scores(), b.broadcast(logSumExp, {0, 1, 2, 3}, shape)));

  // ds = p · (do·vᵀ - Σ do·o) · scale.
  Value cotangent = parts.group(getCotangent());
  Value products = b.sum(b.multiply(cotangent, parts.group(getResult())), 4); // [B, S, G, R]
  Value delta = b.broadcast(b.transpose(products, {0, 2, 1, 3}), {0, 1, 2, 3}, shape);
  Value probabilityGrad = b.dot(cotangent, parts.value, {0, 2}, {0, 2}, {4}, {3});
  Value scoreGrad = b.multiply(b.multiply(probabilities, b.subtract(probabilityGrad, delta)),
                               getScale().convertToDouble());

  Value queryGrad = b.dot(scoreGrad, parts.key, {0, 1}, {0, 2}, {4}, {1});
  Value keyGrad = b.dot(scoreGrad, parts.query, {0, 1}, {0, 2}, {2, 3}, {1, 3});
  Value valueGrad = b.dot(probabilities, cotangent, {0, 1}, {0, 2}, {2, 3}, {1, 3});
  auto byKey = [&](Value grad, Value like) {
    return b.convert(b.transpose(grad, {0, 2, 1, 3}), elementType(like));
  };
  return {parts.ungroup(queryGrad, elementType(getQuery())), byKey(keyGrad, getKey()),
          byKey(valueGrad, getValue())};
}
