//===- LocalOp.cpp - an op of which one device computes a part ------------===//
#include "dialects/dist/IR/LocalOp.h"

#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

LocalOp::LocalOp(Operation *op, MeshOp mesh, graph::ShardingRule rule, SmallVector<Axes> factorAxes,
                 ValueRange operands)
    : op(op), mesh(mesh), rule(std::move(rule)), factorAxes(std::move(factorAxes)),
      operands(operands) {}

RankedTensorType LocalOp::getResultType(unsigned result) const {
  return resultSharding(rule, result, factorAxes)
      .localType(cast<RankedTensorType>(op->getResult(result).getType()), mesh.getMesh());
}

int64_t LocalOp::getParts(unsigned factor) const {
  return mesh.getMesh().getSize(factorAxes[factor]);
}

int64_t LocalOp::getLocalSize(unsigned factor) const {
  return llvm::divideCeil(rule.factors[factor].size, getParts(factor));
}

bool LocalOp::isUneven(unsigned factor) const {
  return rule.factors[factor].size % getParts(factor) != 0;
}

bool LocalOp::isCut(graph::FactorKind kind) const {
  return llvm::any_of(llvm::zip_equal(rule.factors, factorAxes), [&](auto pair) {
    return std::get<0>(pair).kind == kind && !std::get<1>(pair).empty();
  });
}

Operation *LocalOp::clone(OpBuilder &builder, ValueRange operands) const {
  Operation *copy = op->clone();
  copy->setOperands(operands);
  for (OpResult result : copy->getResults())
    result.setType(getResultType(result.getResultNumber()));
  for (StringRef name : {attr::kShardings, attr::kFactors, attr::kOrigins})
    copy->removeAttr(name);
  return builder.insert(copy);
}

static Value scalar(OpBuilder &builder, Location loc, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return graph::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
}

Value LocalOp::getAxisIndex(OpBuilder &builder, ArrayRef<unsigned> axes) const {
  if (mesh.getMesh().getSize(axes) == 1)
    return scalar(builder, op->getLoc(), 0);
  return AxisIndexOp::create(builder, op->getLoc(), RankedTensorType::get({}, builder.getI64Type()),
                             FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                             toAttr(axes, mesh.getMesh()));
}

Value LocalOp::getOffset(OpBuilder &builder, unsigned factor) const {
  Value index = getAxisIndex(builder, factorAxes[factor]);
  Value size = scalar(builder, op->getLoc(), getLocalSize(factor));
  return graph::MultiplyOp::create(builder, op->getLoc(), index, size);
}

/// Whence the axes of a factor came.
OriginAttr LocalOp::getOrigin(ArrayRef<unsigned> axes) const {
  auto origins = op->getAttrOfType<ArrayAttr>(attr::kOrigins);
  size_t number = 0;
  for (const Axes &cut : factorAxes) {
    if (cut.empty())
      continue;
    if (ArrayRef(cut) == axes && origins && number < origins.size())
      return dyn_cast<OriginAttr>(origins[number]);
    ++number;
  }
  return OriginAttr();
}

SmallVector<Value> LocalOp::allReduce(OpBuilder &builder, ValueRange values,
                                      ArrayRef<unsigned> axes, graph::ReduceKind kind,
                                      StringRef why) const {
  if (mesh.getMesh().getSize(axes) == 1)
    return SmallVector<Value>(values);
  auto reduce = AllReduceOp::create(builder, op->getLoc(), values.getTypes(), values,
                                    FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                                    toAttr(longAxes(axes, mesh.getMesh()), mesh.getMesh()),
                                    graph::ReduceKindAttr::get(builder.getContext(), kind));
  OriginAttr cut = getOrigin(axes);
  Attribute origin = OriginAttr::get(builder.getContext(), why, cut ? cut.getAnnotation() : "",
                                     cut ? cut.getInstead() : "", cut ? cut.getTensor() : "");
  reduce->setAttr(attr::kOrigins,
                  builder.getArrayAttr(SmallVector<Attribute>(values.size(), origin)));
  return SmallVector<Value>(reduce.getResults());
}

Value LocalOp::splatLike(OpBuilder &builder, Value value, TypedAttr fill) const {
  return graph::ConstantOp::create(
      builder, op->getLoc(),
      DenseElementsAttr::get(cast<RankedTensorType>(value.getType()), ArrayRef<Attribute>(fill)));
}

Value LocalOp::fillPadding(OpBuilder &builder, Value value, ArrayRef<graph::DimFactors> dims,
                           TypedAttr fill, std::optional<graph::FactorKind> kind) const {
  graph::GraphBuilder b(builder, op->getLoc());
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    Axes axes;
    int64_t size = 1;
    for (unsigned factor : factors) {
      size *= rule.factors[factor].size;
      if (!kind || rule.factors[factor].kind == *kind)
        llvm::append_range(axes, factorAxes[factor]);
    }
    int64_t parts = mesh.getMesh().getSize(axes);
    if (size % parts == 0)
      continue;
    Value begin = b.multiply(getAxisIndex(builder, axes), double(llvm::divideCeil(size, parts)));
    Value rest = b.convert(b.subtract(scalar(builder, op->getLoc(), size), begin), b.i32());
    Value index = b.iota(b.tensor(graph::shapeOf(value), b.i32()), int64_t(dim));
    Value isReal = b.compare(graph::CompareDirection::LT, index,
                             b.broadcastScalar(rest, graph::shapeOf(value)));
    value = b.select(isReal, value, splatLike(builder, value, fill));
  }
  return value;
}

Value LocalOp::keepOnFirst(OpBuilder &builder, Value value, ArrayRef<unsigned> axes,
                           TypedAttr fill) const {
  if (mesh.getMesh().getSize(axes) == 1)
    return value;
  graph::GraphBuilder b(builder, op->getLoc());
  Value first = b.compare(graph::CompareDirection::EQ, getAxisIndex(builder, axes), 0);
  return b.select(first, value, splatLike(builder, value, fill));
}

/// The least or largest value of a type, infinite if it can be.
static TypedAttr getExtreme(Type type, bool largest) {
  if (auto real = dyn_cast<FloatType>(type))
    return FloatAttr::get(real, APFloat::getInf(real.getFloatSemantics(), !largest));
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1 || type.isUnsignedInteger())
    return IntegerAttr::get(type, largest ? APInt::getMaxValue(width) : APInt::getZero(width));
  return IntegerAttr::get(type, largest ? APInt::getSignedMaxValue(width)
                                        : APInt::getSignedMinValue(width));
}

TypedAttr dist::getNeutral(graph::ReduceKind kind, Type type) {
  switch (kind) {
  case graph::ReduceKind::max:
  case graph::ReduceKind::any: return getExtreme(type, /*largest=*/false);
  case graph::ReduceKind::min:
  case graph::ReduceKind::all: return getExtreme(type, /*largest=*/true);
  case graph::ReduceKind::sum:
  case graph::ReduceKind::prod: break;
  }
  int64_t value = kind == graph::ReduceKind::prod;
  if (auto real = dyn_cast<FloatType>(type))
    return FloatAttr::get(real, double(value));
  return IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), value));
}
