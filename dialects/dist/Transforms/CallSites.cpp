//===- CallSites.cpp - ops that call a function of whole tensors ----------===//
#include "dialects/dist/Transforms/CallSites.h"

using namespace mlir;
using namespace minigptc;

FlatSymbolRefAttr dist::getCallee(Operation *op) {
  if (auto loop = dyn_cast<graph::LoopOp>(op))
    return loop.getLoopBody();
  auto call = dyn_cast<func::CallOp>(op);
  return call ? call.getCalleeAttr() : FlatSymbolRefAttr();
}

void dist::setCallee(Operation *site, StringAttr name) {
  auto callee = FlatSymbolRefAttr::get(name);
  if (auto loop = dyn_cast<graph::LoopOp>(site))
    loop.setLoopBody(callee);
  else
    cast<func::CallOp>(site).setCalleeAttr(callee);
}

SmallVector<Operation *> dist::getCallSites(const graph::FunctionGraph::Uses &uses) {
  SmallVector<Operation *> sites(uses.calls.begin(), uses.calls.end());
  llvm::copy_if(uses.others, std::back_inserter(sites), isCallSite);
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
