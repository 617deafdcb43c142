//===- Attention.cpp - attention and its gradient -------------------------===//
//
// Computed in f64 and rounded once.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

namespace {
/// A query row: batch, head, query.
struct Row {
  int64_t b, h, s;
};

/// What both ops share: sizes, which keys a query attends to, and its scores.
struct Attention {
  /// `mask` and the others are null where the op has no such operand.
  struct Restrictions {
    const Tensor *mask, *querySegments, *keySegments, *queryOffset;
    MaskKind kind;
    int64_t window;
  };

  Attention(const Tensor &queryTensor, const Tensor &keyTensor, const Tensor &valueTensor,
            double scale, Restrictions restrictions)
      : batches(queryTensor.getShape()[0]), queries(queryTensor.getShape()[1]),
        heads(queryTensor.getShape()[2]), width(queryTensor.getShape()[3]),
        keys(keyTensor.getShape()[1]), groups(keyTensor.getShape()[2]),
        valueWidth(valueTensor.getShape()[3]), query(toDoubles(queryTensor)),
        key(toDoubles(keyTensor)), value(toDoubles(valueTensor)), scale(scale),
        restrictions(restrictions) {}

  bool attends(Row row, int64_t t) const {
    const Restrictions &r = restrictions;
    int64_t position = row.s + (r.queryOffset ? r.queryOffset->getInt(0) : 0);
    if (r.kind != MaskKind::none && t > position)
      return false;
    if (r.kind == MaskKind::sliding_window && t <= position - r.window)
      return false;
    if (r.querySegments &&
        r.querySegments->getInt(row.b * queries + row.s) != r.keySegments->getInt(row.b * keys + t))
      return false;
    if (!r.mask)
      return true;
    ArrayRef<int64_t> shape = r.mask->getShape(); // [B or 1, H or 1, S, T]
    int64_t b = shape[0] == 1 ? 0 : row.b, h = shape[1] == 1 ? 0 : row.h;
    return r.mask->getInt(((b * shape[1] + h) * queries + row.s) * keys + t) != 0;
  }

  // Where rows begin in [B, S, H, D] (or E) and [B, T, G, D] (or E) tensors.
  int64_t queryRow(Row row, int64_t width) const {
    return ((row.b * queries + row.s) * heads + row.h) * width;
  }
  int64_t keyRow(Row row, int64_t t, int64_t width) const {
    return ((row.b * keys + t) * groups + row.h / (heads / groups)) * width;
  }

  /// scale · q·k, -inf where the query does not attend.
  double score(Row row, int64_t t) const {
    if (!attends(row, t))
      return -std::numeric_limits<double>::infinity();
    const double *q = query.data() + queryRow(row, width), *k = key.data() + keyRow(row, t, width);
    double sum = 0;
    for (int64_t d = 0; d < width; ++d)
      sum += q[d] * k[d];
    return scale * sum;
  }

  template <typename Fn> void forEachRow(Fn &&fn) const {
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t s = 0; s < queries; ++s)
          fn(Row{b, h, s});
  }

  int64_t batches, queries, heads, width, keys, groups, valueWidth;
  std::vector<double> query, key, value;
  double scale;
  Restrictions restrictions;
};
} // namespace

/// Operands by group, of an op whose optional operands follow `tensors` others.
template <typename OpTy>
static Attention describe(OpTy op, ArrayRef<Tensor> operands, unsigned tensors) {
  ArrayRef<Tensor> rest = operands.drop_front(tensors);
  auto next = [&](Value present) -> const Tensor * {
    if (!present)
      return nullptr;
    const Tensor *tensor = &rest.front();
    rest = rest.drop_front();
    return tensor;
  };
  Attention::Restrictions restrictions;
  restrictions.mask = next(op.getMask());
  restrictions.querySegments = next(op.getQuerySegments());
  restrictions.keySegments = next(op.getKeySegments());
  restrictions.queryOffset = next(op.getQueryOffset());
  restrictions.kind = op.getMaskKind();
  restrictions.window = op.getWindow() ? int64_t(*op.getWindow()) : 0;
  return Attention(operands[0], operands[1], operands[2], op.getScale().convertToDouble(),
                   restrictions);
}

static LogicalResult evaluateAttention(AttentionOp op, ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results) {
  Attention attention = describe(op, operands, 3);
  std::vector<double> result(resultType(op, 0).getNumElements()), logSumExps;
  attention.forEachRow([&](Row row) {
    std::vector<double> scores;
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t t = 0; t < attention.keys; ++t) {
      scores.push_back(attention.score(row, t));
      maximum = std::isnan(scores.back()) ? scores.back() : std::max(maximum, scores.back());
    }
    if (std::isinf(maximum) && maximum < 0) { // no keys: zeros
      logSumExps.push_back(maximum);
      return;
    }
    for (double score : scores)
      sum += std::exp(score - maximum);
    logSumExps.push_back(maximum + std::log(sum));
    double *out = result.data() + attention.queryRow(row, attention.valueWidth);
    for (int64_t t = 0; t < attention.keys; ++t) {
      double weight = std::exp(scores[t] - maximum) / sum;
      const double *v = attention.value.data() + attention.keyRow(row, t, attention.valueWidth);
      for (int64_t e = 0; weight != 0 && e < attention.valueWidth; ++e)
        out[e] += weight * v[e];
    }
  });
  results.push_back(fromDoubles(resultType(op, 0), result));
  results.push_back(fromDoubles(resultType(op, 1), logSumExps));
  return success();
}

/// With P the probabilities and dP = dO·vᵀ: dS = P ∘ (dP - Σ dO∘O).
static LogicalResult evaluateAttentionGrad(AttentionGradOp op, ArrayRef<Tensor> operands,
                                           SmallVectorImpl<Tensor> &results) {
  Attention attention = describe(op, operands, 6);
  const std::vector<double> result = toDoubles(operands[3]), logSumExp = toDoubles(operands[4]),
                            cotangent = toDoubles(operands[5]);
  std::vector<double> queryGrad(attention.query.size()), keyGrad(attention.key.size()),
      valueGrad(attention.value.size());
  size_t rowNumber = 0;
  const int64_t width = attention.width, valueWidth = attention.valueWidth;
  attention.forEachRow([&](Row row) {
    const int64_t out = attention.queryRow(row, valueWidth), q = attention.queryRow(row, width);
    const double rowLogSumExp = logSumExp[rowNumber++];
    double correction = 0;
    for (int64_t e = 0; e < valueWidth; ++e)
      correction += cotangent[out + e] * result[out + e];
    for (int64_t t = 0; t < attention.keys; ++t) {
      if (!attention.attends(row, t))
        continue;
      const int64_t k = attention.keyRow(row, t, width), v = attention.keyRow(row, t, valueWidth);
      const double probability = std::exp(attention.score(row, t) - rowLogSumExp);
      double probabilityGrad = 0;
      for (int64_t e = 0; e < valueWidth; ++e) {
        probabilityGrad += cotangent[out + e] * attention.value[v + e];
        valueGrad[v + e] += probability * cotangent[out + e];
      }
      const double scoreGrad = attention.scale * probability * (probabilityGrad - correction);
      for (int64_t d = 0; d < width; ++d) {
        queryGrad[q + d] += scoreGrad * attention.key[k + d];
        keyGrad[k + d] += scoreGrad * attention.query[q + d];
      }
    }
  });
  results.push_back(fromDoubles(resultType(op, 0), queryGrad));
  results.push_back(fromDoubles(resultType(op, 1), keyGrad));
  results.push_back(fromDoubles(resultType(op, 2), valueGrad));
  return success();
}

void interpreter::attachAttentionModels(MLIRContext *context) {
  attachModel<AttentionOp, evaluateAttention>(context);
  attachModel<AttentionGradOp, evaluateAttentionGrad>(context);
}
