//===- LocalOp.cpp - an op of which one device computes a part ------------===//
#include "dialects/dist/IR/LocalOp.h"

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

static Value scalar(OpBuilder &builder, Location loc, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return graph::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
}

Value LocalOp::getAxisIndex(OpBuilder &builder, ArrayRef<unsigned> axes) const {
  if (axes.empty())
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

Value LocalOp::allReduce(OpBuilder &builder, Value value, ArrayRef<unsigned> axes,
                         graph::ReduceKind kind, StringRef why) const {
  if (axes.empty())
    return value;
  auto reduce = AllReduceOp::create(builder, op->getLoc(), value.getType(), value,
                                    FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                                    toAttr(axes, mesh.getMesh()),
                                    graph::ReduceKindAttr::get(builder.getContext(), kind));
  reduce->setAttr(attr::kOrigins,
                  builder.getArrayAttr(OriginAttr::get(builder.getContext(), why, "", "", "")));
  return reduce.getResult(0);
}
