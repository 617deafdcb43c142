//===- CallSites.cpp - ops that call functions of whole tensors -----------===//
#include "dialects/dist/Transforms/CallSites.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

SmallVector<CalledFunction, 2> dist::getCalledFunctions(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return {{call.getCalleeAttr()}};
  if (auto loop = dyn_cast<graph::LoopOp>(op))
    return {{loop.getLoopBody()}};
  // The predicate comes before what the functions get.
  if (auto cond = dyn_cast<graph::CondOp>(op))
    return {{cond.getOnTrueAttr(), 1}, {cond.getOnFalseAttr(), 1}};
  if (auto loop = dyn_cast<graph::WhileOp>(op))
    return {{loop.getBodyAttr()}, {loop.getConditionAttr(), 0, /*makesResults=*/false}};
  return {};
}

FlatSymbolRefAttr dist::getResultMaker(Operation *op) {
  for (const CalledFunction &callee : getCalledFunctions(op))
    if (callee.makesResults)
      return callee.name;
  return {};
}

void dist::replaceCallee(Operation *site, StringAttr from, StringAttr to) {
  for (NamedAttribute attribute : llvm::to_vector(site->getAttrs()))
    if (auto name = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
        name && name.getAttr() == from)
      site->setAttr(attribute.getName(), FlatSymbolRefAttr::get(to));
}

SmallVector<CallSite> dist::getCallSites(func::FuncOp function,
                                         const graph::FunctionGraph::Uses &uses) {
  llvm::SetVector<Operation *> ops(uses.calls.begin(), uses.calls.end());
  ops.insert_range(uses.others);
  SmallVector<CallSite> sites;
  for (Operation *op : ops)
    for (const CalledFunction &callee : getCalledFunctions(op))
      if (callee.name.getAttr() == function.getSymNameAttr())
        sites.push_back({op, callee});
  return sites;
}

bool dist::isCutOperand(Operation *site, unsigned operand) {
  auto loop = dyn_cast<graph::LoopOp>(site);
  return loop && loop.isCutOperand(operand);
}

bool dist::isCutResult(Operation *site, unsigned result) {
  auto loop = dyn_cast<graph::LoopOp>(site);
  return loop && loop.isCutResult(result);
}

std::optional<unsigned> dist::getCarriedResult(func::FuncOp body, unsigned argument) {
  auto donated = body.getArgAttrOfType<IntegerAttr>(argument, graph::attr::kDonate);
  if (!donated || !body.isPrivate())
    return std::nullopt;
  return unsigned(donated.getInt());
}
