//===- ShapeSharding.cpp - how constants and data movement may be cut -----===//
//
// Movement is linear: what is moved may be summed later. A dimension of which only a part
// is taken, or to which something is added, is whole on every device.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Builders.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace minigptc::graph;

/// All dimensions of the result pass through, operands (a key, offsets) are whole.
static ShardingRule generatorRule(Operation *op) {
  ShardingRule rule = ShardingRule::replicated(op);
  for (auto [size, factors] : llvm::zip_equal(shapeOf(op->getResult(0)), rule.results[0]))
    factors = {rule.addFactor(size)};
  return rule;
}

ShardingRule ConstantOp::getShardingRule() { return generatorRule(*this); }
ShardingRule IotaOp::getShardingRule() { return generatorRule(*this); }
ShardingRule RandomBitsOp::getShardingRule() { return generatorRule(*this); }

/// A rule of an op that is jointly linear in the operands [first, first + count).
static ShardingRule movementRule(Operation *op, unsigned first = 0, unsigned count = 1) {
  ShardingRule rule = ShardingRule::replicated(op);
  rule.linearity = Linearity::joint;
  rule.linear.assign(op->getNumOperands(), false);
  std::fill_n(rule.linear.begin() + first, count, true);
  return rule;
}

ShardingRule BroadcastInDimOp::getShardingRule() {
  ShardingRule rule = movementRule(*this);
  for (auto [size, factors] : llvm::zip_equal(shapeOf(getResult()), rule.results[0]))
    factors = {rule.addFactor(size)};
  for (auto [number, dim] : llvm::enumerate(getDims()))
    if (shapeOf(getOperand())[number] == shapeOf(getResult())[dim])
      rule.operands[0][number] = rule.results[0][dim];
  return rule;
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule = movementRule(*this);
  for (auto [number, dim] : llvm::enumerate(getPermutation()))
    rule.results[0][number] =
        rule.operands[0][dim] = {rule.addFactor(shapeOf(getResult())[number])};
  return rule;
}

namespace {
/// Walks the dimensions of a reshape's operand and result from major to minor, and gives
/// what both have in common a factor: [6, 4] -> [2, 12] is [ab, c] -> [a, bc] with a = 2,
/// b = 3, c = 4 as long as sizes divide each other, else the rest stays whole.
class ReshapeFactors {
public:
  ReshapeFactors(ShardingRule &rule, ArrayRef<int64_t> from, ArrayRef<int64_t> to)
      : rule(rule), from{from, rule.operands[0]}, to{to, rule.results[0]} {}

  void run() {
    while (from.next() && to.next()) {
      if (int64_t common = std::gcd(from.left, to.left); common > 1) {
        unsigned factor = rule.addFactor(common);
        from.take(factor, common);
        to.take(factor, common);
      } else {
        skipToCommonBoundary();
      }
    }
  }

private:
  struct Side {
    ArrayRef<int64_t> shape;
    SmallVectorImpl<DimFactors> &factors;
    unsigned dim = 0;
    int64_t left = 0; ///< of dimension `dim`, or 0 before it is entered

    /// Enters the next dimension if this one is used up; false at the end.
    bool next() {
      while (left <= 1 && dim < shape.size()) {
        if (left == 1)
          ++dim;
        left = dim < shape.size() ? shape[dim] : 0;
      }
      return dim < shape.size();
    }
    void take(unsigned factor, int64_t size) {
      factors[dim].push_back(factor);
      left /= size;
    }
  };

  /// Sizes are coprime: whole dimensions of both sides belong together.
  void skipToCommonBoundary() {
    int64_t fromProduct = 1, toProduct = 1;
    auto skip = [&](Side &side, int64_t &product) {
      product *= side.left;
      side.take(rule.addFactor(side.left, FactorKind::replicated), side.left);
    };
    skip(from, fromProduct);
    skip(to, toProduct);
    while (fromProduct != toProduct) {
      Side &behind = fromProduct < toProduct ? from : to;
      behind.next();
      skip(behind, fromProduct < toProduct ? fromProduct : toProduct);
    }
  }

  ShardingRule &rule;
  Side from, to;
};
} // namespace

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule = movementRule(*this);
  if (getType().getNumElements() > 0)
    ReshapeFactors(rule, shapeOf(getOperand()), shapeOf(getResult())).run();
  return rule;
}

/// Gives every dimension of which `whole` says so a factor that operands and result share.
static void addKeptDims(ShardingRule &rule, ArrayRef<int64_t> shape, ArrayRef<unsigned> operands,
                        llvm::function_ref<bool(unsigned)> whole) {
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!whole(dim))
      continue;
    DimFactors factor = {rule.addFactor(size)};
    rule.results[0][dim] = factor;
    for (unsigned operand : operands)
      rule.operands[operand][dim] = factor;
  }
}

ShardingRule SliceOp::getShardingRule() {
  ShardingRule rule = movementRule(*this);
  ArrayRef<int64_t> from = shapeOf(getOperand());
  addKeptDims(rule, from, 0u, [&](unsigned dim) {
    return getStart()[dim] == 0 && getLimit()[dim] == from[dim] && getStrides()[dim] == 1;
  });
  return rule;
}

ShardingRule DynamicSliceOp::getShardingRule() {
  ShardingRule rule = movementRule(*this);
  ArrayRef<int64_t> from = shapeOf(getOperand());
  addKeptDims(rule, from, 0u, [&](unsigned dim) { return getSizes()[dim] == from[dim]; });
  return rule;
}

ShardingRule DynamicUpdateSliceOp::getShardingRule() {
  ShardingRule rule = movementRule(*this, 0, 2);
  ArrayRef<int64_t> whole = shapeOf(getOperand()), part = shapeOf(getUpdate());
  addKeptDims(rule, whole, {0, 1}, [&](unsigned dim) { return part[dim] == whole[dim]; });
  return rule;
}

ShardingRule ConcatenateOp::getShardingRule() {
  ShardingRule rule = movementRule(*this, 0, getNumOperands());
  auto operands = llvm::to_vector(llvm::seq<unsigned>(0, getNumOperands()));
  addKeptDims(rule, shapeOf(getResult()), operands,
              [&](unsigned dim) { return int64_t(dim) != int64_t(getDim()); });
  return rule;
}

/// Zeros around summands are zeros around the sum; any other value would be added up.
ShardingRule PadOp::getShardingRule() {
  bool zeros = matchPattern(getValue(), m_AnyZeroFloat()) || matchPattern(getValue(), m_Zero());
  ShardingRule rule = movementRule(*this, 0, zeros ? 1 : 2);
  addKeptDims(rule, shapeOf(getOperand()), 0u, [&](unsigned dim) {
    return getLow()[dim] == 0 && getHigh()[dim] == 0 && getInterior()[dim] == 0;
  });
  return rule;
}
