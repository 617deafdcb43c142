//===- Shrink.cpp - the smallest program that still fails -----------------===//
#include "test/support/Shrink.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

std::string test::printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

static func::FuncOp program(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("f"); }

static void eraseDeadOps(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty())
      op.erase();
}

static void eraseUnusedFunctions(ModuleOp module) {
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
}

static OwningOpRef<ModuleOp> copyOf(ModuleOp module) {
  return OwningOpRef<ModuleOp>(module.clone());
}

/// The program without one of its results; null if it has only that one.
static OwningOpRef<ModuleOp> withoutResult(ModuleOp module, unsigned index) {
  OwningOpRef<ModuleOp> copy = copyOf(module);
  func::FuncOp function = program(*copy);
  Operation *terminator = function.getBody().front().getTerminator();
  if (terminator->getNumOperands() == 1)
    return {};
  terminator->eraseOperand(index);
  if (failed(function.eraseResult(index)))
    return {};
  eraseDeadOps(function);
  return copy;
}

static Value placeholder(OpBuilder &builder, Location loc, RankedTensorType type) {
  Type element = type.getElementType();
  Attribute value = isa<FloatType>(element) ? Attribute(builder.getFloatAttr(element, 0.5))
                                            : Attribute(IntegerAttr::get(element, 1));
  return graph::ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, value));
}

/// The program with op number `index` replaced by constants; null for constants.
static OwningOpRef<ModuleOp> withoutOp(ModuleOp module, unsigned index) {
  OwningOpRef<ModuleOp> copy = copyOf(module);
  func::FuncOp function = program(*copy);
  Operation *op = &*std::next(function.getBody().front().begin(), index);
  if (op->hasTrait<OpTrait::ConstantLike>())
    return {};
  OpBuilder builder(op);
  for (Value result : op->getResults())
    result.replaceAllUsesWith(
        placeholder(builder, op->getLoc(), cast<RankedTensorType>(result.getType())));
  eraseDeadOps(function);
  return copy;
}

OwningOpRef<ModuleOp> test::shrinkProgram(ModuleOp module,
                                          llvm::function_ref<bool(ModuleOp)> fails) {
  OwningOpRef<ModuleOp> best = copyOf(module);
  auto accept = [&](OwningOpRef<ModuleOp> candidate) {
    if (!candidate || !fails(*copyOf(*candidate)))
      return false;
    best = std::move(candidate);
    return true;
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (unsigned i = program(*best).getNumResults(); i-- > 0;)
      progress |= accept(withoutResult(*best, i));
    unsigned ops = unsigned(program(*best).getBody().front().getOperations().size()) - 1;
    for (unsigned i = ops; i-- > 0;)
      if (i + 1 < program(*best).getBody().front().getOperations().size())
        progress |= accept(withoutOp(*best, i));
  }
  eraseUnusedFunctions(*best);
  return best;
}
