//===- Vjp.cpp - the gradient of a function in a test ---------------------===//
#include "test/support/Vjp.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc;

void test::addGradientFunction(ModuleOp module, ArrayRef<int64_t> wrt) {
  auto primal = module.lookupSymbol<func::FuncOp>("f");
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = primal.getLoc();
  SmallVector<Type> inputs(primal.getArgumentTypes()), results(primal.getResultTypes());
  for (int64_t number : wrt)
    results.push_back(inputs[number]);
  llvm::append_range(inputs, primal.getResultTypes());
  auto gradient =
      func::FuncOp::create(builder, loc, "gradient", builder.getFunctionType(inputs, results));
  Block *body = gradient.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto vjp = graph::VjpOp::create(builder, loc, results, "f",
                                  body->getArguments().take_front(primal.getNumArguments()),
                                  body->getArguments().drop_front(primal.getNumArguments()), wrt);
  func::ReturnOp::create(builder, loc, vjp.getResults());
}
