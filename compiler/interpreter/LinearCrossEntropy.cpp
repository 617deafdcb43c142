//===- LinearCrossEntropy.cpp - a head, its loss and their gradients ------===//
//
// Row by row in f64; results are rounded once.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"

#include <cmath>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

namespace {
/// The logits of rows, and sums over them.
class HeadSums {
public:
  template <typename Op>
  HeadSums(Op op, ArrayRef<Tensor> operands)
      : hidden(toDoubles(operands[0])), weight(toDoubles(operands[1])),
        bias(op.getBias() ? toDoubles(operands.back()) : std::vector<double>()),
        width(size_t(operands[0].getShape().back())),
        classes(size_t(operands[1].getNumElements() / std::max<int64_t>(width, 1))),
        classStride(op.getTransposed() ? width : 1), rowStride(op.getTransposed() ? 1 : classes),
        hiddenGrad(hidden.size()), weightGrad(weight.size()), biasGrad(bias.size()) {
    if (width == 0)
      classes = size_t(operands[1].getShape()[op.getTransposed() ? 0 : 1]);
  }

  /// Computes `logits`, and the logarithm of the sum of their exponentials.
  double logSumExp(size_t row) {
    logits.assign(classes, 0);
    for (size_t c = 0; c < classes; ++c) {
      logits[c] = bias.empty() ? 0 : bias[c];
      for (size_t i = 0; i < width; ++i)
        logits[c] += hidden[row * width + i] * weight[i * rowStride + c * classStride];
    }
    // Finite, as in the decomposition: a part of a head may have no class at all.
    double maximum = std::max(*llvm::max_element(logits), std::numeric_limits<double>::lowest());
    double sum = 0;
    for (double x : logits)
      sum += std::exp(x - maximum);
    return std::log(sum) + maximum;
  }
  bool isClass(int64_t target) const { return target >= 0 && size_t(target) < classes; }

  /// Adds the gradients of the row whose logits were computed last.
  void addGradients(size_t row, int64_t target, double logSumExp) {
    for (size_t c = 0; c < classes; ++c)
      addGradient(row, c, std::exp(logits[c] - logSumExp) - (int64_t(c) == target));
  }

  std::vector<double> hidden, weight, bias;
  size_t width, classes, classStride, rowStride;
  std::vector<double> logits; ///< of one row
  std::vector<double> hiddenGrad, weightGrad, biasGrad;

private:
  void addGradient(size_t row, size_t c, double gradient) {
    for (size_t i = 0; i < width; ++i) {
      size_t at = i * rowStride + c * classStride;
      hiddenGrad[row * width + i] += gradient * weight[at];
      weightGrad[at] += gradient * hidden[row * width + i];
    }
    if (!biasGrad.empty())
      biasGrad[c] += gradient;
  }
};

template <typename Op> bool isIgnored(Op op, int64_t target) {
  return op.getIgnoreIndex() && target == int64_t(*op.getIgnoreIndex());
}
} // namespace

static LogicalResult evaluateLinearCrossEntropy(LinearCrossEntropyOp op, ArrayRef<Tensor> operands,
                                                SmallVectorImpl<Tensor> &results) {
  HeadSums sums(op, operands);
  const Tensor &targets = operands[2];
  double loss = 0;
  for (int64_t row = 0; row < targets.getNumElements(); ++row) {
    int64_t target = targets.getInt(row);
    if (isIgnored(op, target))
      continue;
    double logSumExp = sums.logSumExp(size_t(row));
    loss += logSumExp - (sums.isClass(target) ? sums.logits[target] : 0);
    sums.addGradients(size_t(row), target, logSumExp);
  }
  results.push_back(fromDoubles(resultType(op, 0), loss));
  results.push_back(fromDoubles(resultType(op, 1), sums.hiddenGrad));
  results.push_back(fromDoubles(resultType(op, 2), sums.weightGrad));
  if (op.getBias())
    results.push_back(fromDoubles(resultType(op, 3), sums.biasGrad));
  return success();
}

static LogicalResult evaluateLinearLogSumExp(LinearLogSumExpOp op, ArrayRef<Tensor> operands,
                                             SmallVectorImpl<Tensor> &results) {
  HeadSums sums(op, operands);
  const Tensor &targets = operands[2];
  std::vector<double> logSumExps, logits;
  for (int64_t row = 0; row < targets.getNumElements(); ++row) {
    int64_t target = targets.getInt(row);
    logSumExps.push_back(sums.logSumExp(size_t(row)));
    logits.push_back(sums.isClass(target) ? sums.logits[target] : 0);
  }
  results.push_back(fromDoubles(resultType(op, 0), logSumExps));
  results.push_back(fromDoubles(resultType(op, 1), logits));
  return success();
}

static LogicalResult evaluateLinearCrossEntropyGrad(LinearCrossEntropyGradOp op,
                                                    ArrayRef<Tensor> operands,
                                                    SmallVectorImpl<Tensor> &results) {
  HeadSums sums(op, operands);
  std::vector<double> logSumExps = toDoubles(operands[3]);
  const Tensor &targets = operands[2];
  for (int64_t row = 0; row < targets.getNumElements(); ++row) {
    int64_t target = targets.getInt(row);
    if (isIgnored(op, target))
      continue;
    sums.logSumExp(size_t(row));
    sums.addGradients(size_t(row), target, logSumExps[row]);
  }
  results.push_back(fromDoubles(resultType(op, 0), sums.hiddenGrad));
  results.push_back(fromDoubles(resultType(op, 1), sums.weightGrad));
  if (op.getBias())
    results.push_back(fromDoubles(resultType(op, 2), sums.biasGrad));
  return success();
}

void interpreter::attachLinearCrossEntropyModels(MLIRContext *context) {
  attachModel<LinearCrossEntropyOp, evaluateLinearCrossEntropy>(context);
  attachModel<LinearLogSumExpOp, evaluateLinearLogSumExp>(context);
  attachModel<LinearCrossEntropyGradOp, evaluateLinearCrossEntropyGrad>(context);
}
