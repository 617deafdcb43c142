//===- LinearCrossEntropy.cpp - a language model's head and its loss ------===//
#include "dialects/graph/IR/LinearCrossEntropy.h"

#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/VjpHelpers.h"

using namespace mlir;
using namespace minigptc::graph;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

HeadRows::HeadRows(GraphBuilder &b, const HeadOperands &operands) : b(b), operands(operands) {
  Value product = multiplyWeight(operands.hidden, operands.weight);
  if (operands.bias)
    product = b.add(product, b.broadcastLeading(operands.bias, shapeOf(product)));
  logits = b.convert(product, b.accumulatorType(product));
  if (!operands.logSumExp)
    exponential = b.shiftedExponential(logits, 1);
}

Value HeadRows::isTarget() {
  auto indexType = b.tensor(shapeOf(logits), elementType(operands.targets));
  Value targets = b.broadcastBack(operands.targets, logits, 1);
  return b.compare(CompareDirection::EQ, b.iota(indexType, 1), targets);
}

/// Zero in the rows whose target is ignored; per row, or per logit.
Value HeadRows::zeroIgnored(Value value) {
  if (!operands.ignoreIndex)
    return value;
  Value ignored = b.integerSplat(tensorType(operands.targets), *operands.ignoreIndex);
  Value counts = b.compare(CompareDirection::NE, operands.targets, ignored);
  if (rankOf(value) == 2)
    counts = b.broadcastBack(counts, value, 1);
  return keepWhere(b, counts, value);
}

// As in the decomposition of softmax_cross_entropy.
Value HeadRows::losses() {
  Value picked = b.sum(b.select(isTarget(), exponential.shifted, b.zerosLike(logits)), 1);
  return zeroIgnored(b.subtract(b.make<LogOp>(exponential.sum), picked));
}

Value HeadRows::logSumExp() { return b.add(b.make<LogOp>(exponential.sum), exponential.max); }

Value HeadRows::targetLogit() { return b.sum(keepWhere(b, isTarget(), logits), 1); }

Value HeadRows::getProbabilities() {
  if (!operands.logSumExp)
    return b.normalize(exponential, 1);
  return b.exponential(b.subtract(logits, b.broadcastBack(operands.logSumExp, logits, 1)));
}

Value HeadRows::logitsGradient(double scale) {
  Value probabilities = getProbabilities();
  Value gradient = b.select(isTarget(), b.subtract(probabilities, 1), probabilities);
  if (scale != 1)
    gradient = b.multiply(gradient, scale);
  return zeroIgnored(gradient);
}

Value HeadRows::multiplyWeight(Value hidden, Value weight) {
  return b.dot(hidden, weight, {}, {}, {1}, {operands.transposed ? 1 : 0});
}

Value HeadRows::multiplyTransposed(Value gradient, Value weight) {
  return b.dot(gradient, weight, {}, {}, {1}, {operands.transposed ? 0 : 1});
}

Value HeadRows::multiplyOuter(Value hidden, Value gradient) {
  return operands.transposed ? b.dot(gradient, hidden, {}, {}, {0}, {0})
                             : b.dot(hidden, gradient, {}, {}, {0}, {0});
}

Value HeadRows::hiddenGradient(Value gradient, Type elementType) {
  Value product = multiplyTransposed(b.convert(gradient, minigptc::graph::elementType(operands.hidden)),
                                     operands.weight);
  product.setType(tensorType(product).clone(elementType)); // The sum before it is rounded, or after.
  return product;
}

Value HeadRows::weightGradient(Value gradient) {
  Value product =
      multiplyOuter(operands.hidden, b.convert(gradient, elementType(operands.hidden)));
  product.setType(tensorType(product).clone(elementType(gradient))); // The sum before it is rounded.
  return product;
}

Value HeadRows::biasGradient(Value gradient) { return b.sum(gradient, 0); }

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

/// Hidden, weight, targets and bias fit together.
template <typename Adaptor> static LogicalResult checkHead(OpChecker &check, Adaptor adaptor) {
  Value hidden = adaptor.getHidden(), weight = adaptor.getWeight(), bias = adaptor.getBias();
  RankedTensorType type = tensorType(hidden), weightType = tensorType(weight);
  if (type.getRank() == 0)
    return check.error() << "hidden " << describe(type) << " has no last dimension"
                         << note(hidden, "hidden");
  bool transposed = adaptor.getTransposed();
  if (failed(check.checkRank(weight, "weight", 2,
                             transposed ? "[vocabulary, width]" : "[width, vocabulary]")) ||
      failed(check.checkSameElementType(hidden, "hidden", weight, "weight")))
    return failure();
  int64_t width = weightType.getDimSize(transposed ? 1 : 0),
          vocabulary = weightType.getDimSize(transposed ? 0 : 1);
  if (width != type.getShape().back())
    return check.error() << "hidden " << describe(type) << " and weight " << describe(weightType)
                         << (transposed ? " (transposed)" : "") << " differ in width"
                         << note(hidden, "hidden") << note(weight, "weight");
  if (vocabulary == 0)
    return check.error() << "weight " << describe(weightType) << " has no classes"
                         << note(weight, "weight");
  if (failed(check.checkShape(adaptor.getTargets(), "targets", type.getShape().drop_back(),
                              "that of hidden " + describe(type) + " without its last dimension")))
    return failure();
  if (bias && (failed(check.checkShape(bias, "bias", vocabulary,
                                       "one per class of weight " + describe(weightType))) ||
               failed(check.checkSameElementType(hidden, "hidden", bias, "bias"))))
    return failure();
  return success();
}

/// The type of one number per position.
static RankedTensorType rowsType(RankedTensorType hidden) {
  return RankedTensorType::get(hidden.getShape().drop_back(),
                               getAccumulatorType(hidden.getElementType()));
}

/// The gradients' types: those of hidden, weight and, where there is one, bias.
template <typename Adaptor>
static void appendGradTypes(Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  inferred.append({adaptor.getHidden().getType(), adaptor.getWeight().getType()});
  if (adaptor.getBias())
    inferred.push_back(adaptor.getBias().getType());
}

LogicalResult LinearCrossEntropyOp::inferReturnTypes(MLIRContext *,
                                                     std::optional<Location> location,
                                                     Adaptor adaptor,
                                                     SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  if (failed(checkHead(check, adaptor)))
    return failure();
  Type element = tensorType(adaptor.getHidden()).getElementType();
  inferred.push_back(RankedTensorType::get({}, getAccumulatorType(element)));
  appendGradTypes(adaptor, inferred);
  return success();
}

LogicalResult LinearLogSumExpOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  Adaptor adaptor,
                                                  SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  if (failed(checkHead(check, adaptor)))
    return failure();
  inferred.append(2, rowsType(tensorType(adaptor.getHidden())));
  return success();
}

LogicalResult LinearCrossEntropyGradOp::inferReturnTypes(MLIRContext *,
                                                         std::optional<Location> location,
                                                         Adaptor adaptor,
                                                         SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  if (failed(checkHead(check, adaptor)))
    return failure();
  RankedTensorType type = tensorType(adaptor.getHidden());
  Value logSumExp = adaptor.getLogSumExp();
  if (logSumExp.getType() != rowsType(type))
    return check.error() << "logSumExp " << describe(logSumExp) << " must be "
                         << describe(rowsType(type)) << ", one per position of hidden "
                         << describe(type) << note(logSumExp, "logSumExp");
  appendGradTypes(adaptor, inferred);
  return success();
}

bool LinearCrossEntropyOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange types) {
  return detail::areSameOrWider(inferred, types);
}
bool LinearCrossEntropyGradOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange types) {
  return detail::areSameOrWider(inferred, types);
}
bool LinearLogSumExpOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange types) {
  return inferred == types;
}

double LinearCrossEntropyOp::getMatmulFlops() {
  // Of the loss: the gradients are counted where they are asked for, as of any op.
  return 2.0 * double(getWeight().getType().getNumElements()) *
         double(getTargets().getType().getNumElements());
}

double LinearLogSumExpOp::getMatmulFlops() {
  return 2.0 * double(getWeight().getType().getNumElements()) *
         double(getTargets().getType().getNumElements());
}

/// The operands with all rows in one dimension.
template <typename Op> static HeadOperands flatten(GraphBuilder &b, Op op) {
  ArrayRef<int64_t> shape = shapeOf(op.getHidden());
  int64_t rows = tensorType(op.getTargets()).getNumElements();
  return {b.reshape(op.getHidden(), {rows, shape.back()}),
          op.getWeight(),
          op.getBias(),
          b.reshape(op.getTargets(), rows),
          Value(),
          std::nullopt,
          op.getTransposed()};
}

/// The op's gradients, of its results' types.
template <typename Op>
static void appendGradients(GraphBuilder &b, Op op, HeadRows &rows, SmallVectorImpl<Value> &to) {
  Value gradient = rows.logitsGradient(1);
  Value hidden = rows.hiddenGradient(gradient, elementType(op.getHiddenGrad()));
  to.push_back(b.reshape(hidden, shapeOf(op.getHidden())));
  to.push_back(b.convert(rows.weightGradient(gradient), elementType(op.getWeightGrad())));
  if (op.getBias())
    to.push_back(b.convert(rows.biasGradient(gradient), elementType(op.getBiasGrad())));
}

SmallVector<Value> LinearLogSumExpOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  HeadRows rows(b, flatten(b, *this));
  ArrayRef<int64_t> shape = shapeOf(getTargets());
  return {b.reshape(rows.logSumExp(), shape), b.reshape(rows.targetLogit(), shape)};
}

SmallVector<Value> LinearCrossEntropyGradOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  HeadOperands operands = flatten(b, *this);
  operands.logSumExp = b.reshape(getLogSumExp(), shapeOf(operands.targets));
  operands.ignoreIndex = getIgnoreIndex();
  HeadRows rows(b, operands);
  SmallVector<Value> results;
  appendGradients(b, *this, rows, results);
  return results;
}

SmallVector<Value> LinearCrossEntropyOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  HeadOperands operands = flatten(b, *this);
  operands.ignoreIndex = getIgnoreIndex();
  HeadRows rows(b, operands);
  SmallVector<Value> results{b.sum(rows.losses(), 0)};
  appendGradients(b, *this, rows, results);
  return results;
}

/// gradient · cotangent, a scalar, in the accumulator type.
static Value scaleBy(GraphBuilder &b, Value gradient, Value cotangent) {
  Value wide = b.convert(gradient, elementType(cotangent));
  return b.convert(b.multiply(wide, b.broadcastScalar(cotangent, shapeOf(gradient))),
                   elementType(gradient));
}

static void addTo(GraphBuilder &b, Value &sum, Value value) {
  sum = sum ? b.add(sum, value) : value;
}

/// The vjp of the gradients: with G the logits' gradient, P the probabilities, and the
/// cotangents X of G·Wᵀ, Y of hᵀ·G, Z of Σ G, their product with G's dependence on the
/// logits is L = P∘(H - Σ P∘H), H = X·W + h·Y + Z.
static void addSecondDerivative(GraphBuilder &b, LinearCrossEntropyOp op,
                                ArrayRef<Value> cotangents, MutableArrayRef<Value> gradients) {
  Type wide = b.accumulatorType(op.getHidden());
  HeadOperands operands = flatten(b, op);
  operands.ignoreIndex = op.getIgnoreIndex();
  for (Value *value : {&operands.hidden, &operands.weight, &operands.bias})
    if (*value)
      *value = b.convert(*value, wide);
  HeadRows rows(b, operands);
  auto widen = [&](Value cotangent) { return cotangent ? b.convert(cotangent, wide) : Value(); };
  Value x = widen(cotangents[1]), y = widen(cotangents[2]),
        z = cotangents.size() > 3 ? widen(cotangents[3]) : Value();
  if (x)
    x = b.reshape(x, shapeOf(operands.hidden));

  Value gradient = rows.logitsGradient(1), h, hidden, weight;
  if (x) {
    addTo(b, h, rows.multiplyWeight(x, operands.weight));
    addTo(b, weight, rows.multiplyOuter(x, gradient));
  }
  if (y) {
    addTo(b, h, rows.multiplyWeight(operands.hidden, y));
    addTo(b, hidden, rows.multiplyTransposed(gradient, y));
  }
  if (z)
    addTo(b, h, b.broadcastLeading(z, shapeOf(gradient)));
  Value p = rows.getProbabilities();
  Value mean = b.reduceAndBroadcast(ReduceKind::sum, b.multiply(p, h), 1);
  Value logits = rows.zeroIgnored(b.multiply(p, b.subtract(h, mean)));
  addTo(b, hidden, rows.multiplyTransposed(logits, operands.weight));
  addTo(b, weight, rows.multiplyOuter(operands.hidden, logits));
  hidden = b.reshape(hidden, shapeOf(op.getHidden()));
  addTo(b, gradients[0], b.convert(hidden, elementType(op.getHidden())));
  addTo(b, gradients[1], b.convert(weight, elementType(op.getWeight())));
  if (op.getBias())
    addTo(b, gradients[3], b.convert(b.sum(logits, 0), elementType(op.getBias())));
}

MINIGPTC_VJP(LinearCrossEntropyOp) {
  GraphBuilder b(builder, getLoc());
  if (Value cotangent = cotangents[0]) {
    if (wanted[0])
      gradients[0] = scaleBy(b, getHiddenGrad(), cotangent);
    if (wanted[1])
      gradients[1] = scaleBy(b, getWeightGrad(), cotangent);
    if (getBias() && wanted[3])
      gradients[3] = scaleBy(b, getBiasGrad(), cotangent);
  }
  if (llvm::any_of(cotangents.drop_front(), [](Value value) { return bool(value); }))
    addSecondDerivative(b, *this, cotangents, gradients);
  return success();
}
