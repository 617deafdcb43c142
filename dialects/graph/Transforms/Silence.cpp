//===- Silence.cpp - functions without their prints -----------------------===//
//
// A value that the backward function computes again may come from a call that prints. It has
// printed in the forward function; here it calls copies of its functions that do not.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Transforms/Differentiator.h"
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace minigptc::graph;

bool Differentiator::prints(Operation *op) {
  bool any = minigptc::graph::prints(op);
  forEachReference(op, [&](StringAttr name) {
    if (func::FuncOp callee = lookup(name))
      any |= prints(callee);
  });
  return any;
}

bool Differentiator::prints(func::FuncOp function) {
  if (auto known = printing.find(function); known != printing.end())
    return known->second;
  bool any = !function.isDeclaration() &&
             llvm::any_of(function.getBody().front(), [&](Operation &op) { return prints(&op); });
  return printing[function] = any;
}

void Differentiator::silence(Operation *op) {
  if (!prints(op))
    return;
  op->removeAttr(attr::kPrints);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
    func::FuncOp callee = lookup(symbol.getAttr());
    if (!callee || !prints(callee))
      return std::nullopt;
    return FlatSymbolRefAttr::get(silent(callee).getSymNameAttr());
  });
  replacer.replaceElementsIn(op);
}

func::FuncOp Differentiator::silent(func::FuncOp function) {
  if (func::FuncOp known = silentOf.lookup(function))
    return known;
  func::FuncOp copy = function.clone();
  for (Operation &op : llvm::make_early_inc_range(copy.getBody().front()))
    if (isa<PrintOp>(op))
      op.erase();
    else
      silence(&op);
  insert(copy, function, ".silent");
  return silentOf[function] = copy;
}
