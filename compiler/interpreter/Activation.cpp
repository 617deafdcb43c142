//===- Activation.cpp - activations and the optimizer's update ------------===//
//
// Computed in f64 and rounded once: closer to the true value than a chain of
// rounded operations, and independent of how the op is decomposed.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

/// Results of one type with their operand, element by element.
template <typename Fn> static Tensor map(const Tensor &operand, Fn &&fn) {
  Tensor result(operand.getType());
  dispatchFloat(operand.getType().getElementType(), [&]<typename T>() {
    llvm::transform(elements<T>(operand), mutableElements<T>(result).begin(),
                    [&](T x) { return narrow<T>(fn(widen(x))); });
  });
  return result;
}

static LogicalResult evaluateRelu(ReluOp op, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  results.push_back(map(operands[0], [](double x) { return x < 0 ? 0.0 : x; }));
  return success();
}

static LogicalResult evaluateSilu(SiluOp op, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  results.push_back(map(operands[0], [](double x) { return x / (1 + std::exp(-x)); }));
  return success();
}

static double geluExact(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

static double geluByTanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

static LogicalResult evaluateGelu(GeluOp op, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  results.push_back(map(operands[0], op.getApproximate() ? geluByTanh : geluExact));
  return success();
}

static LogicalResult evaluateAdamW(AdamWUpdateOp op, ArrayRef<Tensor> operands,
                                   SmallVectorImpl<Tensor> &results) {
  std::vector<double> param = toDoubles(operands[0]), m = toDoubles(operands[2]),
                      v = toDoubles(operands[3]);
  const std::vector<double> grad = toDoubles(operands[1]);
  const double learningRate = operands[4].getFloat(0), correction1 = operands[5].getFloat(0),
               correction2 = operands[6].getFloat(0);
  const double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  const double epsilon = op.getEpsilon().convertToDouble();
  const double weightDecay = op.getWeightDecay().convertToDouble();
  for (size_t i = 0; i < param.size(); ++i) {
    m[i] = beta1 * m[i] + (1 - beta1) * grad[i];
    v[i] = beta2 * v[i] + (1 - beta2) * grad[i] * grad[i];
    double direction = (m[i] / correction1) / (std::sqrt(v[i] / correction2) + epsilon);
    param[i] -= learningRate * (direction + weightDecay * param[i]);
  }
  results.push_back(fromDoubles(resultType(op, 0), param));
  results.push_back(fromDoubles(resultType(op, 1), m));
  results.push_back(fromDoubles(resultType(op, 2), v));
  return success();
}

void interpreter::attachActivationModels(MLIRContext *context) {
  attachModel<ReluOp, evaluateRelu>(context);
  attachModel<SiluOp, evaluateSilu>(context);
  attachModel<GeluOp, evaluateGelu>(context);
  attachModel<AdamWUpdateOp, evaluateAdamW>(context);
}
