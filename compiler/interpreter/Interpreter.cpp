//===- Interpreter.cpp - runs functions and regions -----------------------===//
#include "compiler/interpreter/Interpreter.h"
#include "compiler/interpreter/Evaluation.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

namespace {
/// Calls in progress on this thread; a program of graph ops never needs many.
thread_local int callDepth = 0;
constexpr int kMaxCallDepth = 1000;

struct CallDepth {
  CallDepth() { ++callDepth; }
  ~CallDepth() { --callDepth; }
};
} // namespace

static LogicalResult evaluateCall(CallOpInterface call, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  Operation *callee = call.resolveCallable();
  if (!callee)
    return call->emitError("calls a function that the module does not have");
  return evaluateCallable(callee, call, operands, results);
}

static LogicalResult evaluateOp(Operation *op, ArrayRef<Tensor> operands,
                                SmallVectorImpl<Tensor> &results) {
  if (auto call = dyn_cast<CallOpInterface>(op))
    return evaluateCall(call, operands, results);
  if (auto evaluable = dyn_cast<graph::EvaluableOp>(op))
    return evaluable.evaluate(operands, results);
  return op->emitError("the interpreter runs tensor ops, calls and fusions; it cannot run '")
         << op->getName() << "'";
}

LogicalResult interpreter::evaluateRegion(Region &region, ArrayRef<Tensor> arguments,
                                          SmallVectorImpl<Tensor> &results) {
  if (!region.hasOneBlock())
    return region.getParentOp()->emitError("the interpreter runs regions of one block only");
  Block &block = region.front();
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, tensor] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = tensor;
  auto lookUp = [&](OperandRange operands) {
    return llvm::map_to_vector(operands, [&](Value operand) { return values.lookup(operand); });
  };
  for (Operation &op : block.without_terminator()) {
    SmallVector<Tensor> opResults;
    if (failed(evaluateOp(&op, lookUp(op.getOperands()), opResults)))
      return failure();
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), opResults)) {
      if (tensor.getType() != value.getType())
        return op.emitError("evaluated to ")
               << tensor.getType() << " instead of " << value.getType();
      values[value] = std::move(tensor);
    }
  }
  for (Value operand : block.getTerminator()->getOperands())
    results.push_back(values.lookup(operand));
  return success();
}

LogicalResult interpreter::evaluateCallable(Operation *callable, Operation *caller,
                                            ArrayRef<Tensor> arguments,
                                            SmallVectorImpl<Tensor> &results) {
  CallDepth depth;
  if (callDepth > kMaxCallDepth)
    return caller->emitError("calls nest more than ")
           << kMaxCallDepth << " deep: a recursive function?";
  Region *body = cast<CallableOpInterface>(callable).getCallableRegion();
  if (!body)
    return caller->emitError("calls a function without a body").attachNote(callable->getLoc())
           << "declared here";
  return evaluateRegion(*body, arguments, results);
}

FailureOr<SmallVector<Tensor>> interpreter::evaluate(ModuleOp module, StringRef function,
                                                     ArrayRef<Tensor> arguments) {
  auto callee = module.lookupSymbol<FunctionOpInterface>(function);
  if (!callee)
    return module.emitError("the module has no function @") << function;
  ArrayRef<Type> types = callee.getArgumentTypes();
  if (types.size() != arguments.size())
    return callee.emitError("called with ")
           << arguments.size() << " arguments, takes " << types.size();
  for (auto [index, type] : llvm::enumerate(types))
    if (arguments[index].getType() != type)
      return callee.emitError("called with ")
             << arguments[index].getType() << " as argument " << index << ", takes " << type;
  SmallVector<Tensor> results;
  if (failed(evaluateCallable(callee, callee, arguments, results)))
    return failure();
  return results;
}
