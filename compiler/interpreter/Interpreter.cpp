//===- Interpreter.cpp - runs functions and regions -----------------------===//
#include "compiler/interpreter/Interpreter.h"
#include "compiler/interpreter/Evaluation.h"
#include "dialects/dist/IR/Dist.h"
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

namespace {
/// One run of a block on all devices, op by op.
class Walk {
public:
  Walk(Block &block, const DeviceTensors &arguments) : block(block), values(arguments.size()) {
    for (auto [mine, given] : llvm::zip_equal(values, arguments))
      for (auto [argument, tensor] : llvm::zip_equal(block.getArguments(), given))
        mine[argument] = tensor;
  }

  FailureOr<DeviceTensors> run() {
    for (Operation &op : block.without_terminator())
      if (failed(evaluateAndKeep(&op)))
        return failure();
    return lookUp(block.getTerminator()->getOperands());
  }

private:
  DeviceTensors lookUp(OperandRange operands) const {
    DeviceTensors tensors;
    for (const auto &mine : values)
      tensors.push_back(
          llvm::map_to_vector(operands, [&](Value operand) { return mine.lookup(operand); }));
    return tensors;
  }

  LogicalResult evaluateAndKeep(Operation *op) {
    FailureOr<DeviceTensors> results = evaluate(op, lookUp(op->getOperands()));
    if (failed(results))
      return failure();
    for (auto [mine, made] : llvm::zip_equal(values, *results))
      for (auto [value, tensor] : llvm::zip_equal(op->getResults(), made)) {
        if (tensor.getType() != value.getType())
          return op->emitError("evaluated to ")
                 << tensor.getType() << " instead of " << value.getType();
        mine[value] = std::move(tensor);
      }
    return success();
  }

  FailureOr<DeviceTensors> evaluate(Operation *op, const DeviceTensors &operands) {
    if (auto call = dyn_cast<CallOpInterface>(op)) {
      Operation *callee = call.resolveCallable();
      if (!callee)
        return call->emitError("calls a function that the module does not have");
      return evaluateCallable(callee, call, operands);
    }
    if (auto loop = dyn_cast<graph::LoopOp>(op))
      return evaluateLoop(loop, operands);
    if (auto cond = dyn_cast<graph::CondOp>(op))
      return evaluateCond(cond, operands);
    if (auto loop = dyn_cast<graph::WhileOp>(op))
      return evaluateWhile(loop, operands);
    DeviceTensors results(operands.size());
    if (auto print = dyn_cast<graph::PrintOp>(op)) {
      evaluatePrint(print, operands);
      return results;
    }
    if (auto evaluable = dyn_cast<graph::EvaluableOp>(op)) {
      for (auto [mine, made] : llvm::zip_equal(operands, results))
        if (failed(evaluable.evaluate(mine, made)))
          return failure();
      return results;
    }
    if (auto together = dyn_cast<dist::TogetherOp>(op)) {
      if (failed(checkDevices(op)))
        return failure();
      SmallVector<SmallVectorImpl<Tensor> *> made;
      for (SmallVector<Tensor> &mine : results)
        made.push_back(&mine);
      together.evaluateTogether(SmallVector<ArrayRef<Tensor>>(operands.begin(), operands.end()),
                                made);
      return results;
    }
    return op->emitError("the interpreter runs tensor ops, calls and fusions; it cannot run '")
           << op->getName() << "'";
  }

  LogicalResult checkDevices(Operation *op) const {
    dist::MeshOp mesh = dist::findMesh(op->getParentOfType<ModuleOp>());
    if (mesh && mesh.getMesh().getNumDevices() == int64_t(values.size()))
      return success();
    return op->emitError("devices compute '")
           << op->getName() << "' together, but " << values.size() << " of the mesh's run it";
  }

  Block &block;
  std::vector<llvm::DenseMap<Value, Tensor>> values; ///< per device
};
} // namespace

FailureOr<DeviceTensors> interpreter::evaluateRegion(Region &region,
                                                     const DeviceTensors &arguments) {
  if (!region.hasOneBlock())
    return region.getParentOp()->emitError("the interpreter runs regions of one block only");
  return Walk(region.front(), arguments).run();
}

FailureOr<DeviceTensors> interpreter::evaluateCallable(Operation *callable, Operation *caller,
                                                       const DeviceTensors &arguments) {
  CallDepth depth;
  if (callDepth > kMaxCallDepth)
    return caller->emitError("calls nest more than ")
           << kMaxCallDepth << " deep: a recursive function?";
  Region *body = cast<CallableOpInterface>(callable).getCallableRegion();
  if (!body)
    return caller->emitError("calls a function without a body").attachNote(callable->getLoc())
           << "declared here";
  return evaluateRegion(*body, arguments);
}

/// The results of one device, where there is no other.
static LogicalResult takeOnly(FailureOr<DeviceTensors> made, SmallVectorImpl<Tensor> &results) {
  if (failed(made))
    return failure();
  llvm::append_range(results, made->front());
  return success();
}

LogicalResult interpreter::evaluateRegion(Region &region, ArrayRef<Tensor> arguments,
                                          SmallVectorImpl<Tensor> &results) {
  return takeOnly(evaluateRegion(region, {SmallVector<Tensor>(arguments)}), results);
}

LogicalResult interpreter::evaluateCallable(Operation *callable, Operation *caller,
                                            ArrayRef<Tensor> arguments,
                                            SmallVectorImpl<Tensor> &results) {
  return takeOnly(evaluateCallable(callable, caller, {SmallVector<Tensor>(arguments)}), results);
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
