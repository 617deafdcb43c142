//===- Elementwise.cpp - inference and verifiers of elementwise ops -------===//
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

/// Operand names of the elementwise ops, by their number.
static StringRef operandName(size_t count, size_t index) {
  static constexpr StringLiteral one[] = {"operand"}, two[] = {"lhs", "rhs"},
                                 three[] = {"low", "operand", "high"};
  return count == 1 ? one[index] : count == 2 ? two[index] : three[index];
}

/// Fails unless the operands named have equal shapes and element types.
static LogicalResult checkSame(const OpChecker &check, Value a, StringRef nameA, Value b,
                               StringRef nameB) {
  if (a.getType() == b.getType())
    return success();
  if (failed(check.checkSameElementType(a, nameA, b, nameB)))
    return failure();
  return check.error() << nameA << " " << describe(a) << " and " << nameB << " " << describe(b)
                       << " have different shapes" << note(a, nameA) << note(b, nameB);
}

LogicalResult minigptc::graph::detail::inferSameTypes(std::optional<Location> location,
                                                      StringRef opName, ValueRange operands,
                                                      SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, opName);
  size_t count = operands.size();
  for (size_t i = 1; i < count; ++i)
    if (failed(checkSame(check, operands[0], operandName(count, 0), operands[i],
                         operandName(count, i))))
      return failure();
  inferred.push_back(operands[0].getType());
  return success();
}

/// i1 with the value's shape.
static Type predicateLike(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.clone(IntegerType::get(type.getContext(), 1));
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  if (failed(checkSame(check, adaptor.getLhs(), "lhs", adaptor.getRhs(), "rhs")))
    return failure();
  inferred.push_back(predicateLike(adaptor.getLhs()));
  return success();
}

LogicalResult IsFiniteOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &inferred) {
  inferred.push_back(predicateLike(adaptor.getOperand()));
  return success();
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  if (failed(checkSame(check, adaptor.getOnTrue(), "onTrue", adaptor.getOnFalse(), "onFalse")))
    return failure();
  auto pred = cast<RankedTensorType>(adaptor.getPred().getType());
  auto branch = cast<RankedTensorType>(adaptor.getOnTrue().getType());
  if (pred.getRank() != 0 && pred.getShape() != branch.getShape())
    return check.error() << "pred " << describe(pred)
                         << " must be a scalar or have the branches' shape "
                         << describe(branch.getShape()) << note(adaptor.getPred(), "pred");
  inferred.push_back(branch);
  return success();
}

LogicalResult BitcastConvertOp::verify() {
  Type from = getOperand().getType().getElementType(), to = getType().getElementType();
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return success();
  return OpChecker(*this).error() << from << " has " << fromWidth << " bits and " << to << " has "
                                  << toWidth << note(getOperand(), "operand");
}
