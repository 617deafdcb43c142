//===- Scopes.cpp ---------------------------------------------------------===//
#include "compiler/target/common/Scopes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace minigptc::target;

bool Scopes::Key::operator<(const Key &other) const {
  auto order = [](const Key &key) {
    SmallVector<const void *, 5> pointers{key.value.getAsOpaquePointer()};
    for (Value index : key.indices)
      pointers.push_back(index.getAsOpaquePointer());
    return pointers;
  };
  return order(*this) < order(other);
}

Value Scopes::lookup(const Key &key) const {
  for (Block *block = builder.getInsertionBlock(); block;) {
    if (auto map = scalars.find(block); map != scalars.end())
      if (auto found = map->second.find(key); found != map->second.end())
        return found->second;
    Operation *parent = block->getParentOp();
    block = parent ? parent->getBlock() : nullptr;
  }
  return {};
}

void Scopes::note(const Key &key, Value scalar) {
  scalars[builder.getInsertionBlock()][key] = scalar;
}

/// The outermost loop (or branch) around the block on which no value depends.
Operation *Scopes::regionToLeave(Block *block, ValueRange values, bool leaveBranches) const {
  Operation *outermost = nullptr;
  while (true) {
    Operation *parent = block->getParentOp();
    bool mayLeave = isa_and_nonnull<scf::ForOp>(parent) ||
                    (leaveBranches && isa_and_nonnull<scf::IfOp>(parent));
    if (!mayLeave || llvm::any_of(values, [&](Value v) { return v.getParentBlock() == block; }))
      return outermost;
    outermost = parent;
    block = parent->getBlock();
  }
}

void Scopes::leaveLoops(ValueRange values) {
  if (Operation *loop = regionToLeave(builder.getInsertionBlock(), values, false))
    builder.setInsertionPoint(loop);
}

static size_t hashOf(Operation *op) {
  return OperationEquivalence::computeHash(
      op, [](Value operand) { return hash_value(operand); }, OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
}

Value Scopes::canonicalise(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1)
    return value;
  if (Value known = canonical.lookup(value))
    return known;
  for (OpOperand &operand : op->getOpOperands())
    operand.set(canonicalise(operand.get()));
  if (Operation *outer = regionToLeave(op->getBlock(), op->getOperands(), true))
    op->moveBefore(outer);
  auto &equals = arithmetic[{op->getBlock(), hashOf(op)}];
  auto isEqual = [&](Operation *known) {
    return OperationEquivalence::isEquivalentTo(known, op, OperationEquivalence::IgnoreLocations);
  };
  auto known = llvm::find_if(equals, isEqual);
  if (known == equals.end()) {
    equals.push_back(op);
    return canonical[value] = value;
  }
  // Whoever uses this value already must find the other one computed.
  if (op->isBeforeInBlock(*known))
    (*known)->moveBefore(op);
  return canonical[value] = (*known)->getResult(0);
}
