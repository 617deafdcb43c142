//===- CallSites.h - ops that call a function of whole tensors --*- C++ -*-===//
//
// A call and a loop (`graph::LoopOp`) alike name a private function that is sharded with all
// that calls it: operand i is its argument i, result i its result i. What a loop carries from
// one call to the next has one sharding for both (an argument with `graph.donate` and its
// result); of what it cuts into parts dimension 0, along which it counts, is cut by no axis.
//
//   if (FlatSymbolRefAttr callee = getCallee(op)) …      // null: no call site
//   for (Operation *site : getCallSites(functions.getUses(function))) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_CALLSITES_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_CALLSITES_H

#include "dialects/graph/Transforms/FunctionGraph.h"

namespace minigptc::dist {

/// The function that an op calls on whole tensors, or null.
mlir::FlatSymbolRefAttr getCallee(mlir::Operation *op);
inline bool isCallSite(mlir::Operation *op) { return bool(getCallee(op)); }
void setCallee(mlir::Operation *site, mlir::StringAttr name);

/// The call sites among what names a function, in the order of the module.
llvm::SmallVector<mlir::Operation *> getCallSites(const graph::FunctionGraph::Uses &uses);

/// Whether the function gets a part of an operand along dimension 0, or makes one of a result.
bool isCutOperand(mlir::Operation *site, unsigned operand);
bool isCutResult(mlir::Operation *site, unsigned result);

/// The result that continues a carried argument of a loop's body, or nothing.
std::optional<unsigned> getCarriedResult(mlir::func::FuncOp body, unsigned argument);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_CALLSITES_H
