//===- CarriedSums.cpp - what a loop adds up ------------------------------===//
#include "dialects/graph/Transforms/CarriedSums.h"
#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc;

Value graph::getAddend(BlockArgument before, Value next) {
  auto sum = next.getDefiningOp<AddOp>();
  if (!sum || !before.hasOneUse())
    return {};
  return sum.getOperand(0) == before   ? sum.getOperand(1)
         : sum.getOperand(1) == before ? sum.getOperand(0)
                                       : Value();
}

std::pair<Value, Value> graph::getSummands(Value value) {
  if (auto convert = value.getDefiningOp<ConvertOp>(); convert && value.hasOneUse())
    value = convert.getOperand();
  auto sum = value.getDefiningOp<AddOp>();
  if (!sum || !value.hasOneUse())
    return {};
  return {sum.getOperand(0), sum.getOperand(1)};
}

std::pair<Value, Value> graph::splitSummands(Value value, OpBuilder &builder) {
  auto [a, b] = getSummands(value);
  if (!a || a.getType() == value.getType())
    return {a, b};
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(value.getDefiningOp());
  GraphBuilder at(builder, value.getLoc());
  return {at.convert(a, elementType(value)), at.convert(b, elementType(value))};
}
