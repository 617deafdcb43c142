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
/// Sums over rows.
class HeadSums {
public:
  HeadSums(LinearCrossEntropyOp op, ArrayRef<Tensor> operands)
      : hidden(toDoubles(operands[0])), weight(toDoubles(operands[1])),
        bias(op.getBias() ? toDoubles(operands[3]) : std::vector<double>()),
        width(size_t(operands[0].getShape().back())),
        classes(size_t(operands[1].getNumElements() / std::max<int64_t>(width, 1))),
        classStride(op.getTransposed() ? width : 1), rowStride(op.getTransposed() ? 1 : classes),
        hiddenGrad(hidden.size()), weightGrad(weight.size()), biasGrad(bias.size()) {
    if (width == 0)
      classes = size_t(operands[1].getShape()[op.getTransposed() ? 0 : 1]);
  }

  void addRow(size_t row, int64_t target) {
    std::vector<double> logits(classes);
    for (size_t c = 0; c < classes; ++c) {
      logits[c] = bias.empty() ? 0 : bias[c];
      for (size_t i = 0; i < width; ++i)
        logits[c] += hidden[row * width + i] * weight[i * rowStride + c * classStride];
    }
    double maximum = *llvm::max_element(logits), sum = 0;
    for (double x : logits)
      sum += std::exp(x - maximum);
    bool inside = target >= 0 && size_t(target) < classes;
    loss += std::log(sum) - (inside ? logits[target] - maximum : 0);
    for (size_t c = 0; c < classes; ++c)
      addGradient(row, c, std::exp(logits[c] - maximum) / sum - (int64_t(c) == target));
  }

  std::vector<double> hidden, weight, bias;
  size_t width, classes, classStride, rowStride;
  double loss = 0;
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
} // namespace

static LogicalResult evaluateLinearCrossEntropy(LinearCrossEntropyOp op, ArrayRef<Tensor> operands,
                                                SmallVectorImpl<Tensor> &results) {
  HeadSums sums(op, operands);
  const Tensor &targets = operands[2];
  for (int64_t row = 0; row < targets.getNumElements(); ++row) {
    int64_t target = targets.getInt(row);
    if (op.getIgnoreIndex() && target == int64_t(*op.getIgnoreIndex()))
      continue;
    sums.addRow(size_t(row), target);
  }
  results.push_back(fromDoubles(resultType(op, 0), sums.loss));
  results.push_back(fromDoubles(resultType(op, 1), sums.hiddenGrad));
  results.push_back(fromDoubles(resultType(op, 2), sums.weightGrad));
  if (op.getBias())
    results.push_back(fromDoubles(resultType(op, 3), sums.biasGrad));
  return success();
}

void interpreter::attachLinearCrossEntropyModels(MLIRContext *context) {
  attachModel<LinearCrossEntropyOp, evaluateLinearCrossEntropy>(context);
}
