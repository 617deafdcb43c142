//===- Composite.cpp - inference and verifiers of composite ops -----------===//
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

LogicalResult SoftmaxOp::verify() {
  return OpChecker(*this).checkDims(int64_t(getDim()), getType().getRank(), "dim");
}

/// A norm works on the last dimension, its parameters have that one only. They may be in
/// the type that the norm computes in.
static LogicalResult checkNorm(const OpChecker &check, Value operand, const APFloat &epsilon,
                               ArrayRef<std::pair<Value, StringRef>> parameters) {
  RankedTensorType type = tensorType(operand);
  if (type.getRank() == 0)
    return check.error() << "operand " << describe(type)
                         << " has no last dimension to normalise over" << note(operand, "operand");
  if (epsilon.isNegative() || !epsilon.isFinite())
    return check.error() << "epsilon must be finite and not negative";
  Type wide = getAccumulatorType(type.getElementType());
  for (auto [value, name] : parameters)
    if ((tensorType(value).getElementType() != wide &&
         failed(check.checkSameElementType(operand, "operand", value, name))) ||
        failed(check.checkShape(value, name, type.getShape().back(),
                                "the last dimension of operand " + describe(type))))
      return failure();
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  if (failed(checkNorm(check, adaptor.getOperand(), adaptor.getEpsilon(),
                       {{adaptor.getScale(), "scale"}, {adaptor.getBias(), "bias"}})))
    return failure();
  inferred.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  if (failed(checkNorm(check, adaptor.getOperand(), adaptor.getEpsilon(),
                       {{adaptor.getScale(), "scale"}})))
    return failure();
  inferred.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult RopeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand());
  if (failed(check.checkRank(adaptor.getOperand(), "operand", 4,
                             "[batch, sequence, heads, head size]")))
    return failure();
  if (type.getDimSize(3) % 2 != 0)
    return check.error() << "the last dimension of operand " << describe(type)
                         << " must be even: its elements are turned in pairs"
                         << note(adaptor.getOperand(), "operand");
  if (failed(
          check.checkShape(adaptor.getPositions(), "positions", type.getDimSize(1),
                           "one position per element of dimension 1 of operand " + describe(type))))
    return failure();
  if (!adaptor.getTheta().isFiniteNonZero() || adaptor.getTheta().isNegative())
    return check.error() << "theta must be positive and finite";
  inferred.push_back(type);
  return success();
}

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType table = tensorType(adaptor.getTable());
  if (failed(check.checkRank(adaptor.getTable(), "table", 2, "[vocabulary, width]")))
    return failure();
  SmallVector<int64_t> shape(tensorType(adaptor.getIds()).getShape());
  shape.push_back(table.getDimSize(1));
  inferred.push_back(table.clone(shape));
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::inferReturnTypes(MLIRContext *,
                                                      std::optional<Location> location,
                                                      Adaptor adaptor,
                                                      SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType logits = tensorType(adaptor.getLogits());
  if (logits.getRank() == 0 || logits.getShape().back() == 0)
    return check.error() << "logits " << describe(logits) << " need a last dimension of classes"
                         << note(adaptor.getLogits(), "logits");
  ArrayRef<int64_t> positions = logits.getShape().drop_back();
  if (failed(
          check.checkShape(adaptor.getTargets(), "targets", positions,
                           "that of logits " + describe(logits) + " without its last dimension")))
    return failure();
  inferred.push_back(RankedTensorType::get(positions, getAccumulatorType(logits.getElementType())));
  return success();
}

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  double rate = adaptor.getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return OpError(location, getOperationName())
           << "rate " << std::to_string(rate) << " must be in [0, 1)";
  inferred.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult AdamWUpdateOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType param = tensorType(adaptor.getParam());
  std::pair<Value, StringRef> tensors[] = {
      {adaptor.getGrad(), "grad"}, {adaptor.getM(), "m"}, {adaptor.getV(), "v"}};
  for (auto [value, name] : tensors)
    if (failed(check.checkShape(value, name, param.getShape(), "that of param " + describe(param))))
      return failure();
  std::pair<Value, StringRef> scalars[] = {{adaptor.getLearningRate(), "learningRate"},
                                           {adaptor.getCorrection1(), "correction1"},
                                           {adaptor.getCorrection2(), "correction2"}};
  for (auto [value, name] : scalars)
    if (failed(check.checkScalar(value, name)))
      return failure();
  for (auto [value, name] :
       {std::pair(adaptor.getBeta1(), "beta1"), std::pair(adaptor.getBeta2(), "beta2")}) {
    double beta = value.convertToDouble();
    if (!(beta >= 0 && beta < 1))
      return check.error() << name << " " << std::to_string(beta) << " must be in [0, 1)";
  }
  inferred.append({param, adaptor.getM().getType(), adaptor.getV().getType()});
  return success();
}
