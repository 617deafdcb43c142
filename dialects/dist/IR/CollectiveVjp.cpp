//===- CollectiveVjp.cpp - derivatives of collectives ---------------------===//
//
// Of collectives in the function of a `dist.manual`. Every value is the same on all devices along
// an axis, or differs; a cotangent is as its value is. That of a value that is the same is
// the derivative by it as one number, whole on every device; of one that differs, each
// device has the derivative by its own. So an all-reduce, from many to one, hands its
// cotangent back as it is, and a `dist.vary`, from one to many, sums.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// The operands of a collective whose cotangents are asked for.
class Asked {
public:
  Asked(CollectiveOp op, ArrayRef<Value> cotangents, ArrayRef<bool> wanted) : op(op) {
    for (auto [i, cotangent] : llvm::enumerate(cotangents))
      if (cotangent && wanted[i]) {
        numbers.push_back(i);
        values.push_back(cotangent);
      }
  }

  ValueRange getCotangents() const { return values; }
  SmallVector<Type> getTypes() const {
    return llvm::map_to_vector(numbers, [&](unsigned i) { return op->getOperand(i).getType(); });
  }
  SmallVector<int64_t> pick(ArrayRef<int64_t> perOperand) const {
    return llvm::map_to_vector(numbers, [&](unsigned i) { return perOperand[i]; });
  }
  bool isEmpty() const { return numbers.empty(); }

  /// Hands the results of the collective that was built to the operands.
  void give(Operation *built, MutableArrayRef<Value> gradients) const {
    noteOrigins(built);
    for (auto [i, result] : llvm::zip_equal(numbers, built->getResults()))
      gradients[i] = result;
  }
  /// Says of what it is the derivative.
  void noteOrigins(Operation *built) const {
    auto origins = op->getAttrOfType<ArrayAttr>(attr::kOrigins);
    if (!origins)
      return;
    SmallVector<Attribute> ours;
    for (unsigned i : numbers) {
      auto origin = cast<OriginAttr>(origins[i]);
      ours.push_back(OriginAttr::get(op.getContext(), ("the gradient of " + origin.getWhy()).str(),
                                     origin.getAnnotation(), "", origin.getTensor()));
    }
    built->setAttr(attr::kOrigins, ArrayAttr::get(op.getContext(), ours));
  }

private:
  mutable CollectiveOp op; ///< accessors of ops are not const
  SmallVector<unsigned> numbers;
  SmallVector<Value> values;
};

} // namespace

/// The same value, said to differ along an op's axes.
template <typename OpTy> static Value vary(OpBuilder &builder, OpTy op, Value value) {
  return VaryOp::create(builder, op.getLoc(), value, op.getMeshAttr(), op.getAxes());
}

template <typename OpTy> static LogicalResult verifySum(OpTy op) {
  if (op.getCombine() == graph::ReduceKind::sum)
    return success();
  return op.emitOpError() << "has no derivative: it combines by "
                          << stringifyReduceKind(op.getCombine()) << ", and only sums have one";
}

LogicalResult AllReduceOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                                    ArrayRef<bool> wanted, MutableArrayRef<Value> gradients) {
  if (failed(verifySum(*this)))
    return failure();
  for (auto [i, cotangent] : llvm::enumerate(cotangents))
    if (cotangent && wanted[i])
      gradients[i] = vary(builder, *this, cotangent);
  return success();
}

LogicalResult VaryOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                               MutableArrayRef<Value> gradients) {
  auto sum = AllReduceOp::create(builder, getLoc(), cotangents[0].getType(), cotangents[0],
                                 getMesh(), getAxes(), graph::ReduceKind::sum);
  auto why = "devices use one value each for themselves, and its gradient is the sum of theirs";
  sum->setAttr(attr::kOrigins, builder.getArrayAttr(Attribute(
                                   OriginAttr::get(getContext(), why, "shardMap", "", ""))));
  gradients[0] = sum.getResult(0);
  return success();
}

LogicalResult AllGatherOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                                    ArrayRef<bool> wanted, MutableArrayRef<Value> gradients) {
  Asked asked(*this, cotangents, wanted);
  if (!asked.isEmpty())
    asked.give(AllSliceOp::create(builder, getLoc(), asked.getTypes(), asked.getCotangents(),
                                  getMesh(), getAxes(), asked.pick(getDims())),
               gradients);
  return success();
}

LogicalResult AllSliceOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                                   ArrayRef<bool> wanted, MutableArrayRef<Value> gradients) {
  Asked asked(*this, cotangents, wanted);
  if (!asked.isEmpty())
    asked.give(AllGatherOp::create(builder, getLoc(), asked.getTypes(), asked.getCotangents(),
                                   getMesh(), getAxes(), asked.pick(getDims())),
               gradients);
  return success();
}

LogicalResult ReduceScatterOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                                        ArrayRef<bool> wanted, MutableArrayRef<Value> gradients) {
  Asked asked(*this, cotangents, wanted);
  if (failed(verifySum(*this)))
    return failure();
  if (asked.isEmpty())
    return success();
  asked.give(AllGatherOp::create(builder, getLoc(), asked.getTypes(), asked.getCotangents(),
                                 getMesh(), getAxes(), asked.pick(getDims())),
             gradients);
  for (Value &gradient : gradients)
    if (gradient)
      gradient = vary(builder, *this, gradient);
  return success();
}

LogicalResult AllToAllOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                                   ArrayRef<bool> wanted, MutableArrayRef<Value> gradients) {
  Asked asked(*this, cotangents, wanted);
  if (!asked.isEmpty())
    asked.give(AllToAllOp::create(builder, getLoc(), asked.getTypes(), asked.getCotangents(),
                                  getMesh(), getAxes(), asked.pick(getConcatDims()),
                                  asked.pick(getSplitDims())),
               gradients);
  return success();
}

/// A device gets the cotangent of the one to which it gave its tensor, zeros if there is none.
LogicalResult CollectivePermuteOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                                            ArrayRef<bool> wanted,
                                            MutableArrayRef<Value> gradients) {
  Asked asked(*this, cotangents, wanted);
  SmallVector<int64_t> inverse(getSources().size(), -1);
  for (auto [target, source] : llvm::enumerate(getSources())) {
    if (source < 0)
      continue;
    if (inverse[source] >= 0)
      return emitOpError() << "has no derivative: device " << source
                           << " gives its tensor to more than one";
    inverse[source] = int64_t(target);
  }
  if (!asked.isEmpty())
    asked.give(CollectivePermuteOp::create(builder, getLoc(), asked.getTypes(),
                                           asked.getCotangents(), getMesh(), getAxes(), inverse),
               gradients);
  return success();
}
