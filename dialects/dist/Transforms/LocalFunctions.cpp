//===- LocalFunctions.cpp - functions that are local already --------------===//
#include "dialects/dist/Transforms/LocalFunctions.h"
#include "dialects/dist/Transforms/CallSites.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

LocalFunctions::LocalFunctions(ModuleOp module) : module(module) {
  module.walk([&](Operation *op) {
    if (auto manual = dyn_cast<ManualOp>(op))
      ++numUses[manual.getCalleeAttr().getAttr()];
    for (const CalledFunction &callee : getCalledFunctions(op))
      ++numUses[callee.name.getAttr()];
  });
}

SmallVector<Value> LocalFunctions::emit(OpBuilder &builder, ManualOp manual, ValueRange operands) {
  auto callee = module.lookupSymbol<func::FuncOp>(manual.getCalleeAttr());
  if (numUses.lookup(callee.getSymNameAttr()) > 1) {
    auto call = func::CallOp::create(builder, manual.getLoc(), callee, operands);
    if (graph::prints(manual))
      call->setAttr(graph::attr::kPrints, builder.getUnitAttr());
    return SmallVector<Value>(call.getResults());
  }
  IRMapping map;
  Block &body = callee.front();
  map.map(body.getArguments(), operands);
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, map);
    copy->walk([&](Operation *inner) {
      inner->setLoc(CallSiteLoc::get(inner->getLoc(), manual.getLoc()));
    });
  }
  inlined.push_back(callee);
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return map.lookup(value); });
}

void LocalFunctions::finish() {
  for (func::FuncOp function : inlined)
    function.erase();
  module.walk([](VaryOp vary) {
    vary.replaceAllUsesWith(vary.getInput());
    vary.erase();
  });
  for (auto function : module.getOps<func::FuncOp>())
    function->removeAttr(attr::kLocal);
}
