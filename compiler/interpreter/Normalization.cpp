//===- Normalization.cpp - softmax, norms, cross-entropy, rope ------------===//
//
// Computed in f64 and rounded once, but for rope's angles: those are in f32, as the
// op says.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"
#include "compiler/interpreter/Strided.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The greatest element; NaN if there is one.
static double maximumOf(ArrayRef<double> row) {
  double maximum = -kInfinity;
  for (double x : row)
    if (x > maximum || std::isnan(x))
      maximum = x;
  return maximum;
}

/// Every slice along the last dimension of `values` becomes its softmax.
static void softmaxRows(std::vector<double> &values, size_t length) {
  for (size_t begin = 0; begin < values.size(); begin += length) {
    MutableArrayRef<double> row(values.data() + begin, length);
    double maximum = maximumOf(row);
    double sum = 0;
    for (double &x : row)
      sum += x = maximum == -kInfinity ? 0 : std::exp(x - maximum);
    for (double &x : row)
      x = maximum == -kInfinity ? 0 : x / sum;
  }
}

static LogicalResult evaluateSoftmax(SoftmaxOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  // Exchanging the dimension with the last one is its own inverse.
  SmallVector<int64_t> exchange(operands[0].getType().getRank());
  std::iota(exchange.begin(), exchange.end(), 0);
  std::swap(exchange[op.getDim()], exchange.back());
  Tensor rows = transpose(operands[0], exchange);
  std::vector<double> values = toDoubles(rows);
  softmaxRows(values, rows.getShape().back());
  results.push_back(transpose(fromDoubles(rows.getType(), values), exchange));
  return success();
}

static double meanOf(ArrayRef<double> row) {
  return std::accumulate(row.begin(), row.end(), 0.0) / double(row.size());
}

/// √(mean(x²) + epsilon), NaN if the squares add up to more than `type`, in which a norm
/// computes, can hold.
static double rootMeanSquareOf(ArrayRef<double> row, double epsilon, Type type) {
  const double sum = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  if (std::isinf(type.isF64() ? sum : double(float(sum))))
    return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(sum / double(row.size()) + epsilon);
}

static LogicalResult evaluateLayerNorm(LayerNormOp op, ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results) {
  std::vector<double> values = toDoubles(operands[0]);
  const std::vector<double> scale = toDoubles(operands[1]), bias = toDoubles(operands[2]);
  const Type type = operands[0].getType().getElementType();
  for (size_t begin = 0; begin < values.size(); begin += scale.size()) {
    MutableArrayRef<double> row(values.data() + begin, scale.size());
    const double mean = meanOf(row);
    for (double &x : row)
      x -= mean;
    const double deviation = rootMeanSquareOf(row, op.getEpsilon().convertToDouble(), type);
    for (auto [i, x] : llvm::enumerate(row))
      x = x / deviation * scale[i] + bias[i];
  }
  results.push_back(fromDoubles(resultType(op), values));
  return success();
}

static LogicalResult evaluateRmsNorm(RmsNormOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  std::vector<double> values = toDoubles(operands[0]);
  const std::vector<double> scale = toDoubles(operands[1]);
  const Type type = operands[0].getType().getElementType();
  for (size_t begin = 0; begin < values.size(); begin += scale.size()) {
    MutableArrayRef<double> row(values.data() + begin, scale.size());
    const double norm = rootMeanSquareOf(row, op.getEpsilon().convertToDouble(), type);
    for (auto [i, x] : llvm::enumerate(row))
      x = x / norm * scale[i];
  }
  results.push_back(fromDoubles(resultType(op), values));
  return success();
}

/// Cosine and sine of an angle, each rounded to f32 as the angle is.
static std::pair<float, float> rotation(int64_t position, double frequency) {
  float angle = float(position) * float(frequency);
  return {float(std::cos(double(angle))), float(std::sin(double(angle)))};
}

static LogicalResult evaluateRope(RopeOp op, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  const double theta = op.getTheta().convertToDouble();
  ArrayRef<int64_t> shape = operands[0].getShape(); // [B, S, H, D]
  const int64_t sequence = shape[1], heads = shape[2], width = shape[3];
  std::vector<double> values = toDoubles(operands[0]);
  for (int64_t pair = 0; pair < int64_t(values.size()) / 2; ++pair) {
    const int64_t i = pair % (width / 2);
    const int64_t s = pair / (width / 2) / heads % sequence;
    auto [cosine, sine] =
        rotation(operands[1].getInt(s), std::pow(theta, -2.0 * double(i) / double(width)));
    if (op.getInverse())
      sine = -sine;
    double a = values[2 * pair], b = values[2 * pair + 1];
    values[2 * pair] = a * cosine - b * sine;
    values[2 * pair + 1] = a * sine + b * cosine;
  }
  results.push_back(fromDoubles(resultType(op), values));
  return success();
}

static LogicalResult evaluateCrossEntropy(SoftmaxCrossEntropyOp op, ArrayRef<Tensor> operands,
                                          SmallVectorImpl<Tensor> &results) {
  const std::vector<double> logits = toDoubles(operands[0]);
  const int64_t classes = operands[0].getShape().back();
  std::vector<double> losses;
  for (int64_t position = 0; position < operands[1].getNumElements(); ++position) {
    const int64_t target = operands[1].getInt(position);
    if (op.getIgnoreIndex() && target == int64_t(*op.getIgnoreIndex())) {
      losses.push_back(0);
      continue;
    }
    if (target < 0 || target >= classes)
      return op.emitError("target ") << target << " at position " << position << " is outside the "
                                     << classes << " classes";
    ArrayRef<double> row(logits.data() + position * classes, classes);
    const double maximum = maximumOf(row);
    double sum = 0;
    for (double x : row)
      sum += std::exp(x - maximum);
    losses.push_back(maximum + std::log(sum) - row[target]);
  }
  results.push_back(fromDoubles(resultType(op), losses));
  return success();
}

void interpreter::attachNormalizationModels(MLIRContext *context) {
  attachModel<SoftmaxOp, evaluateSoftmax>(context);
  attachModel<LayerNormOp, evaluateLayerNorm>(context);
  attachModel<RmsNormOp, evaluateRmsNorm>(context);
  attachModel<RopeOp, evaluateRope>(context);
  attachModel<SoftmaxCrossEntropyOp, evaluateCrossEntropy>(context);
}
