//===- SinkConverts.cpp - --graph-sink-converts ---------------------------===//
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "dialects/graph/Transforms/Passes.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHSINKCONVERTS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// The conversion of a narrower float that a value is, if it is one.
ConvertOp getWidening(Value value) {
  auto convert = value.getDefiningOp<ConvertOp>();
  if (!convert)
    return nullptr;
  auto from = cast<RankedTensorType>(convert.getOperand().getType()).getElementType();
  auto to = cast<RankedTensorType>(convert.getType()).getElementType();
  bool isWidening = isa<FloatType>(from) && isa<FloatType>(to) &&
                    from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
  return isWidening ? convert : nullptr;
}

/// What all calls widen for this argument: its type, or null.
Type getNarrowType(ArrayRef<func::CallOp> calls, unsigned argument) {
  Type type;
  for (func::CallOp call : calls) {
    ConvertOp convert = getWidening(call.getOperand(argument));
    if (!convert || (type && type != convert.getOperand().getType()))
      return nullptr;
    type = convert.getOperand().getType();
  }
  return type;
}

void sink(func::FuncOp function, unsigned number, Type narrow, ArrayRef<func::CallOp> calls) {
  func::CallOp first = calls.front();
  BlockArgument argument = function.getArgument(number);
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  Type wide = argument.getType();
  argument.setType(narrow);
  auto convert =
      ConvertOp::create(builder, getWidening(first.getOperand(number)).getLoc(), wide, argument);
  argument.replaceAllUsesExcept(convert.getResult(), convert);
  SmallVector<Type> inputs(function.getArgumentTypes());
  inputs[number] = narrow;
  function.setType(builder.getFunctionType(inputs, function.getResultTypes()));
  for (func::CallOp call : calls) {
    ConvertOp old = getWidening(call.getOperand(number));
    call.setOperand(number, old.getOperand());
    if (old->use_empty())
      old.erase();
  }
}

struct SinkConverts : minigptc::graph::impl::GraphSinkConvertsBase<SinkConverts> {
  void runOnOperation() override {
    FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    // Callers first: what reaches a function goes on into those that it calls.
    for (func::FuncOp function : llvm::reverse(functions->getPostOrder())) {
      const FunctionGraph::Uses &uses = functions->getUses(function);
      if (!functions->hasFreeSignature(function) || uses.calls.empty())
        continue;
      for (unsigned number = 0; number < function.getNumArguments(); ++number)
        if (!function.getArgAttr(number, attr::kDonate))
          if (Type narrow = getNarrowType(uses.calls, number))
            sink(function, number, narrow, uses.calls);
    }
  }
};
} // namespace
