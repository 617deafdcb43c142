//===- Loops.cpp ----------------------------------------------------------===//
#include "compiler/conversion/GraphToLoops/Loops.h"

using namespace mlir;
using namespace minigptc::graph::kernel;

Value minigptc::graph::kernel::emitIf(Scalars s, Value condition, Type type,
                                      function_ref<Value()> onTrue, function_ref<Value()> onFalse) {
  if (!condition)
    return onTrue();
  auto ifOp = scf::IfOp::create(s.builder, s.loc, TypeRange(type), condition,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(s.builder);
  s.builder.setInsertionPointToEnd(ifOp.thenBlock());
  scf::YieldOp::create(s.builder, s.loc, onTrue());
  s.builder.setInsertionPointToEnd(ifOp.elseBlock());
  scf::YieldOp::create(s.builder, s.loc, onFalse());
  return ifOp.getResult(0);
}

Value minigptc::graph::kernel::emitFold(Scalars s, ArrayRef<int64_t> shape, Value initial,
                                        function_ref<Value(ValueRange, Value)> body) {
  if (shape.empty())
    return body({}, initial);
  OpBuilder::InsertionGuard guard(s.builder);
  SmallVector<Value> indices;
  SmallVector<scf::ForOp> loops;
  Value accumulated = initial;
  for (int64_t size : shape) {
    auto loop = scf::ForOp::create(s.builder, s.loc, s.index(0), s.index(size), s.index(1),
                                   ValueRange(accumulated));
    loops.push_back(loop);
    indices.push_back(loop.getInductionVar());
    accumulated = loop.getRegionIterArg(0);
    s.builder.setInsertionPointToEnd(loop.getBody());
  }
  Value result = body(indices, accumulated);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    s.builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(s.builder, s.loc, result);
    result = loop.getResult(0);
  }
  return result;
}
