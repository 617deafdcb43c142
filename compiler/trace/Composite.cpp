//===- Composite.cpp - functions of networks ------------------------------===//
#include "compiler/trace/ConstantIndices.h"
#include "compiler/trace/Emit.h"
#include "minigptc/runtime/Array.h"

#include <cmath>

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;
using llvm::SmallVector;

Value minigptc::softmax(const Operand &x, int64_t axis) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  int64_t dim = emit.axis("softmax", axis, typeOf(operand).getRank());
  return emit.wrap(emit.op<graph::SoftmaxOp>(operand, emit.integer("dim", dim), operand.getType()));
}

Value minigptc::logSoftmax(const Operand &x, int64_t axis) {
  return x - Operand(logSumExp(x, {axis}, true), x.where());
}

Value minigptc::layerNorm(const Operand &x, const Operand &scale, const Operand &bias,
                          double epsilon) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  return emit.wrap(emit.op<graph::LayerNormOp>({operand, emit.value(scale), emit.value(bias)},
                                               emit.real("epsilon", epsilon), operand.getType()));
}

Value minigptc::rmsNorm(const Operand &x, const Operand &scale, double epsilon) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  return emit.wrap(emit.op<graph::RmsNormOp>({operand, emit.value(scale)},
                                             emit.real("epsilon", epsilon), operand.getType()));
}

Value minigptc::rope(const Operand &x, const Operand &positions, double theta) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  return emit.wrap(emit.op<graph::RopeOp>({operand, emit.value(positions)},
                                          emit.real("theta", theta), operand.getType()));
}

Value minigptc::attention(const Operand &query, const Operand &key, const Operand &value,
                          const AttentionOptions &options) {
  Emitter emit(query);
  SmallVector<mlir::Value> operands{emit.value(query), emit.value(key), emit.value(value)};
  if (typeOf(operands[0]).getRank() != 4)
    emit.fail("attention: the query is " + describe(operands[0]) +
              ", not [batch, positions, heads, size]");
  SmallVector<int32_t> segments{1, 1, 1};
  for (const std::optional<Value> *extra :
       {&options.allowed, &options.querySegments, &options.keySegments, &options.queryOffset}) {
    segments.push_back(extra->has_value());
    if (extra->has_value())
      operands.push_back(emit.context.localize(**extra, emit.where));
  }
  auto *mlir = emit.context.mlir();
  double scale = options.scale.value_or(1 / std::sqrt(double(shapeOf(operands[0])[3])));
  auto kind = options.mask == Mask::none     ? graph::MaskKind::none
              : options.mask == Mask::causal ? graph::MaskKind::causal
                                             : graph::MaskKind::sliding_window;
  SmallVector<mlir::NamedAttribute> attributes{
      emit.attribute("operandSegmentSizes", mlir::DenseI32ArrayAttr::get(mlir, segments)),
      emit.real("scale", scale), emit.attribute("maskKind", graph::MaskKindAttr::get(mlir, kind))};
  if (options.mask == Mask::slidingWindow)
    attributes.push_back(emit.integer("window", options.window));
  return emit.wrap(emit.op<graph::AttentionOp>(operands, attributes));
}

Value minigptc::embedding(const Operand &table, const Operand &ids) {
  Emitter emit(ids);
  mlir::Value rows = emit.value(table), numbers = emit.value(ids);
  if (!shapeOf(rows).empty())
    checkIndices(emit, "embedding", numbers, shapeOf(rows)[0], "the rows of " + describe(rows));
  return emit.wrap(emit.op<graph::EmbeddingOp>({rows, numbers}));
}

Value minigptc::crossEntropy(const Operand &logits, const Operand &targets,
                             std::optional<int64_t> ignoreIndex) {
  Emitter emit(logits);
  SmallVector<mlir::NamedAttribute> attributes;
  if (ignoreIndex)
    attributes.push_back(emit.integer("ignoreIndex", *ignoreIndex));
  return emit.wrap(
      emit.op<graph::SoftmaxCrossEntropyOp>({emit.value(logits), emit.value(targets)}, attributes));
}

Value minigptc::linearCrossEntropy(const Operand &hidden, const Operand &weight,
                                   const Operand &targets,
                                   const LinearCrossEntropyOptions &options) {
  Emitter emit(hidden);
  SmallVector<mlir::Value> operands{emit.value(hidden), emit.value(weight), emit.value(targets)};
  if (options.bias)
    operands.push_back(emit.context.localize(*options.bias, emit.where));
  SmallVector<mlir::NamedAttribute> attributes;
  if (options.ignoreIndex)
    attributes.push_back(emit.integer("ignoreIndex", *options.ignoreIndex));
  if (options.transposed)
    attributes.push_back(emit.attribute("transposed", mlir::UnitAttr::get(emit.context.mlir())));
  return emit.wrap(emit.op<graph::LinearCrossEntropyOp>(operands, attributes));
}

Value minigptc::constant(const Array &array, Where where) {
  Emitter emit(where);
  auto type = emit.context.tensorType(array.type());
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(array.data()),
                             size_t(array.type().numBytes()));
  mlir::DenseElementsAttr data;
  if (array.dtype() == i1) {
    SmallVector<bool> bits;
    for (char byte : bytes)
      bits.push_back(byte != 0);
    data = mlir::DenseElementsAttr::get(type, bits);
  } else {
    data = mlir::DenseElementsAttr::getFromRawBuffer(type, bytes);
  }
  return emit.wrap(emit.op<graph::ConstantOp>({}, emit.attribute("value", data), type));
}
