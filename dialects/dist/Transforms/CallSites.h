//===- CallSites.h - ops that call functions of whole tensors ---*- C++ -*-===//
//
// Calls, loops and branches alike name private functions that are sharded with all that calls
// them. Functions that one op calls are relatives: they get the same arguments, and the two of
// a branch give the same results, so that these lie alike in both. What a loop carries from one
// call to the next has one sharding for both (an argument with `graph.donate` and its result);
// of what it cuts into parts dimension 0, along which it counts, is cut by no axis. A predicate
// is the same on all devices.
//
//   for (const CalledFunction &callee : getCalledFunctions(op)) …     // none: no call site
//   for (auto [op, callee] : getCallSites(function, functions.getUses(function))) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_CALLSITES_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_CALLSITES_H

#include "dialects/graph/Transforms/FunctionGraph.h"

namespace minigptc::dist {

/// A function that an op calls on whole tensors: its argument i is operand `firstOperand` + i,
/// its result i the op's result i, if it makes these.
struct CalledFunction {
  mlir::FlatSymbolRefAttr name;
  unsigned firstOperand = 0;
  bool makesResults = true;
};

/// Those that make the op's results first.
llvm::SmallVector<CalledFunction, 2> getCalledFunctions(mlir::Operation *op);
inline bool isCallSite(mlir::Operation *op) { return !getCalledFunctions(op).empty(); }
/// The first function that makes the op's results, or null.
mlir::FlatSymbolRefAttr getResultMaker(mlir::Operation *op);
/// Has the op call `to` wherever it called `from`.
void replaceCallee(mlir::Operation *site, mlir::StringAttr from, mlir::StringAttr to);

/// An op, and what one of the functions that it calls is to it.
struct CallSite {
  mlir::Operation *op;
  CalledFunction callee;
};

/// The sites of a function among what names it, in the order of the module.
llvm::SmallVector<CallSite> getCallSites(mlir::func::FuncOp function,
                                         const graph::FunctionGraph::Uses &uses);

/// Whether the function gets a part of an operand along dimension 0, or makes one of a result.
bool isCutOperand(mlir::Operation *site, unsigned operand);
bool isCutResult(mlir::Operation *site, unsigned result);

/// The result that continues a carried argument of a loop's body, or nothing.
std::optional<unsigned> getCarriedResult(mlir::func::FuncOp body, unsigned argument);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_CALLSITES_H
