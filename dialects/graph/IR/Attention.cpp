//===- Attention.cpp - inference and cost of attention --------------------===//
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
/// Sizes of an attention: see the description of `graph.attention`.
struct AttentionSizes {
  int64_t batch, queries, keys, heads, keyHeads, width, valueWidth;
};
} // namespace

static LogicalResult checkOperands(const OpChecker &check, Value query, Value key, Value value) {
  std::pair<Value, StringRef> operands[] = {{query, "query"}, {key, "key"}, {value, "value"}};
  for (auto [operand, name] : operands)
    if (failed(check.checkRank(operand, name, 4, "[batch, sequence, heads, head size]")) ||
        failed(check.checkSameElementType(query, "query", operand, name)))
      return failure();
  ArrayRef<int64_t> q = tensorType(query).getShape(), k = tensorType(key).getShape(),
                    v = tensorType(value).getShape();
  if (q[0] != k[0] || q[3] != k[3])
    return check.error() << "query " << describe(query) << " and key " << describe(key)
                         << " have different batch or head sizes" << note(query, "query")
                         << note(key, "key");
  if (k.drop_back() != v.drop_back())
    return check.error() << "key " << describe(key) << " and value " << describe(value)
                         << " may differ in the last dimension only" << note(key, "key")
                         << note(value, "value");
  if (k[2] == 0 || q[2] % k[2] != 0)
    return check.error() << "the " << q[2] << " heads of query " << describe(query)
                         << " are not a multiple of the " << k[2] << " heads of key "
                         << describe(key) << note(query, "query") << note(key, "key");
  return success();
}

template <typename Adaptor>
static LogicalResult checkMasks(const OpChecker &check, Adaptor adaptor,
                                const AttentionSizes &sizes) {
  if (Value mask = adaptor.getMask()) {
    ArrayRef<int64_t> shape = tensorType(mask).getShape();
    bool fits = shape.size() == 4 && (shape[0] == sizes.batch || shape[0] == 1) &&
                (shape[1] == sizes.heads || shape[1] == 1) && shape[2] == sizes.queries &&
                shape[3] == sizes.keys;
    if (!fits)
      return check.error() << "mask " << describe(mask) << " must have the shape [" << sizes.batch
                           << " or 1," << sizes.heads << " or 1," << sizes.queries << ","
                           << sizes.keys << "], [batch, heads, queries, keys]"
                           << note(mask, "mask");
  }
  Value querySegments = adaptor.getQuerySegments(), keySegments = adaptor.getKeySegments();
  if (!querySegments != !keySegments)
    return check.error() << "needs segments of queries and of keys, or none";
  if (querySegments &&
      (failed(check.checkShape(querySegments, "querySegments", {sizes.batch, sizes.queries},
                               "[batch, queries]")) ||
       failed(check.checkShape(keySegments, "keySegments", {sizes.batch, sizes.keys},
                               "[batch, keys]"))))
    return failure();
  if (adaptor.getQueryOffset() &&
      failed(check.checkScalar(adaptor.getQueryOffset(), "queryOffset")))
    return failure();
  bool sliding = adaptor.getMaskKind() == MaskKind::sliding_window;
  std::optional<uint64_t> window = adaptor.getWindow();
  if (sliding != window.has_value())
    return check.error() << (sliding ? "kind sliding_window needs a window"
                                     : "a window needs kind sliding_window");
  if (window && int64_t(*window) < 1)
    return check.error() << "window " << int64_t(*window) << " must be at least 1";
  return success();
}

/// Checks what both ops have in common and gives the sizes.
template <typename Adaptor>
static FailureOr<AttentionSizes> inferSizes(const OpChecker &check, Adaptor adaptor) {
  Value query = adaptor.getQuery(), key = adaptor.getKey(), value = adaptor.getValue();
  if (failed(checkOperands(check, query, key, value)))
    return failure();
  ArrayRef<int64_t> q = tensorType(query).getShape(), k = tensorType(key).getShape();
  AttentionSizes sizes{q[0], q[1], k[1], q[2], k[2], q[3], tensorType(value).getDimSize(3)};
  if (failed(checkMasks(check, adaptor, sizes)))
    return failure();
  return sizes;
}

static RankedTensorType resultType(Value query, const AttentionSizes &s) {
  return tensorType(query).clone({s.batch, s.queries, s.heads, s.valueWidth});
}
static RankedTensorType logSumExpType(Value query, const AttentionSizes &s) {
  return RankedTensorType::get({s.batch, s.heads, s.queries},
                               getAccumulatorType(tensorType(query).getElementType()));
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  auto sizes = inferSizes(check, adaptor);
  if (failed(sizes))
    return failure();
  inferred.append(
      {resultType(adaptor.getQuery(), *sizes), logSumExpType(adaptor.getQuery(), *sizes)});
  return success();
}

LogicalResult AttentionGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  auto sizes = inferSizes(check, adaptor);
  if (failed(sizes))
    return failure();
  std::tuple<Value, StringRef, Type> saved[] = {
      {adaptor.getResult(), "result", resultType(adaptor.getQuery(), *sizes)},
      {adaptor.getLogSumExp(), "logSumExp", logSumExpType(adaptor.getQuery(), *sizes)},
      {adaptor.getCotangent(), "cotangent", resultType(adaptor.getQuery(), *sizes)}};
  for (auto [value, name, type] : saved)
    if (value.getType() != type)
      return check.error() << name << " " << describe(value) << " must be " << describe(type)
                           << ", as `graph.attention` gives for query "
                           << describe(adaptor.getQuery()) << note(value, name);
  inferred.append(
      {adaptor.getQuery().getType(), adaptor.getKey().getType(), adaptor.getValue().getType()});
  return success();
}

/// FLOPs of the two products of the forward pass: q·kᵀ and p·v.
template <typename Op> static double forwardFlops(Op op) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  double keys = double(op.getKey().getType().getDimSize(1));
  double widths = double(q[3] + op.getValue().getType().getDimSize(3));
  double share = op.getMaskKind() == MaskKind::none ? 1.0 : 0.5;
  if (op.getMaskKind() == MaskKind::sliding_window && keys > 0)
    share = std::min(share, double(*op.getWindow()) / keys);
  return 2.0 * double(q[0] * q[1] * q[2]) * keys * widths * share;
}

double AttentionOp::getMatmulFlops() { return forwardFlops(*this); }

/// Five products where the forward pass has two: q·kᵀ, dS·k and dSᵀ·q of the
/// query's width, dO·vᵀ and pᵀ·dO of the value's.
double AttentionGradOp::getMatmulFlops() {
  double width = double(getQuery().getType().getDimSize(3)),
         valueWidth = double(getValue().getType().getDimSize(3));
  if (width + valueWidth == 0)
    return 0;
  return forwardFlops(*this) * (3 * width + 2 * valueWidth) / (width + valueWidth);
}
