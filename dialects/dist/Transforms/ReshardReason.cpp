//===- ReshardReason.cpp - why a reshard stands where it does -------------===//
#include "dialects/dist/Transforms/ReshardReason.h"
#include "dialects/dist/Transforms/CallSites.h"
#include "dialects/dist/Transforms/ShardingTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

/// "'dot_general'", "a call of 'f'", "result 2".
static std::string describeUser(OpOperand &use) {
  Operation *user = use.getOwner();
  if (FlatSymbolRefAttr callee = getResultMaker(user))
    return ("'" + callee.getValue() + "'").str();
  if (isa<func::ReturnOp>(user))
    return describe(cast<func::FuncOp>(user->getParentOp()), use.getOperandNumber(), true);
  if (isa<ConstraintOp>(user))
    return "the constraint";
  if (isa<ManualOp>(user))
    return "the shardMap";
  return ("'" + user->getName().stripDialect() + "'").str();
}

/// The annotation of the first decision about an op.
static StringRef annotationOf(Operation *op) {
  auto origins = op ? op->getAttrOfType<ArrayAttr>(attr::kOrigins) : ArrayAttr();
  return origins && !origins.empty() ? cast<OriginAttr>(origins[0]).getAnnotation() : StringRef();
}

/// The operand that an op hands on: the first, unless that is the sum so far of a loop.
static Value handedOn(Operation *op) {
  auto sumSoFar = dyn_cast<BlockArgument>(op->getOperand(0));
  auto body = sumSoFar ? dyn_cast<func::FuncOp>(sumSoFar.getOwner()->getParentOp()) : nullptr;
  bool isSum = body && getCarriedResult(body, sumSoFar.getArgNumber());
  return op->getOperand(isSum && op->getNumOperands() > 1 ? 1 : 0);
}

/// The op that makes a value, through calls and ops that hand on what they get.
static Operation *makerOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (FlatSymbolRefAttr name = getResultMaker(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
      value = callee.front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    } else if (annotationOf(op).empty() && op->getNumOperands()) {
      value = handedOn(op);
    } else {
      return op;
    }
  }
  return nullptr;
}

static std::string describeMaker(Value value) {
  Operation *op = makerOf(value);
  return op ? ("'" + op->getName().stripDialect() + "'").str() : "an argument";
}

/// What happens along the first axis that changes, gathers and sums before slices.
static std::string describeChange(OpOperand &use, const Sharding &from, const Sharding &to,
                                  MeshAttr mesh) {
  std::string user = describeUser(use), slice;
  for (auto [axis, nameAttr] : llvm::enumerate(mesh.getNames())) {
    std::string name = "'" + nameAttr.str() + "'";
    auto before = from.dimOf(axis), after = to.dimOf(axis);
    auto dim = [](unsigned number) { return "dimension " + std::to_string(number); };
    if (llvm::is_contained(from.partial, axis) && !llvm::is_contained(to.partial, axis))
      return "what " + describeMaker(use.get()) + " sums is spread over " + name + ", and " + user +
             " needs the sum" + (after ? ", cut along " + dim(*after) : "");
    if (before && !after)
      return user + " needs all of " + dim(*before) + ", which " + name + " cuts";
    if (before && after && before != after)
      return user + " needs " + name + " to cut " + dim(*after) + ", not " + dim(*before);
    if (after && !before)
      slice = user + " computes its part along " + name;
  }
  return slice.empty() ? user + " needs the parts in another order" : slice;
}

OriginAttr dist::reasonOf(OpOperand &use, const Sharding &from, const Sharding &to, MeshOp mesh) {
  std::string why = describeChange(use, from, to, mesh.getMesh()), annotation, instead, tensor;
  Value value = use.get();
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (function && function.getArgAttr(argument.getArgNumber(), attr::kStored)) {
    tensor = describe(function, argument.getArgNumber(), false);
    annotation = tensor + " " + toSpec(from, mesh.getMesh());
    instead = tensor + " " + toSpec(to, mesh.getMesh());
    tensor = StringRef(tensor).trim('\'').str();
  } else {
    annotation = annotationOf(from.partial.empty() ? use.getOwner() : makerOf(value));
    if (annotation.empty())
      annotation = annotationOf(from.partial.empty() ? makerOf(value) : use.getOwner());
  }
  return OriginAttr::get(mesh.getContext(), why, annotation, instead, tensor);
}
