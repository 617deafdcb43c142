//===- Devices.cpp - one program on many devices --------------------------===//
#include "compiler/interpreter/Devices.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

namespace {
/// One call of a function on all devices.
class LockstepCall {
public:
  LockstepCall(FunctionOpInterface function, const DeviceTensors &arguments, int depth = 0)
      : body(function.getFunctionBody().front()), depth(depth), values(arguments.size()) {
    for (auto [mine, given] : llvm::zip_equal(values, arguments))
      for (auto [argument, tensor] : llvm::zip_equal(body.getArguments(), given))
        mine[argument] = tensor;
  }

  FailureOr<DeviceTensors> run() {
    for (Operation &op : body.without_terminator()) {
      DeviceTensors results(values.size());
      if (failed(evaluate(&op, results)))
        return failure();
      for (auto [mine, made] : llvm::zip_equal(values, results))
        for (auto [value, tensor] : llvm::zip_equal(op.getResults(), made)) {
          if (tensor.getType() != value.getType())
            return op.emitError("evaluated to ")
                   << tensor.getType() << " instead of " << value.getType();
          mine[value] = tensor;
        }
    }
    return lookUp(body.getTerminator()->getOperands());
  }

private:
  DeviceTensors lookUp(OperandRange operands) {
    DeviceTensors tensors;
    for (auto &mine : values)
      tensors.push_back(
          llvm::map_to_vector(operands, [&](Value operand) { return mine.lookup(operand); }));
    return tensors;
  }

  LogicalResult evaluate(Operation *op, DeviceTensors &results) {
    DeviceTensors operands = lookUp(op->getOperands());
    if (auto call = dyn_cast<CallOpInterface>(op))
      return evaluateCall(call, operands, results);
    auto evaluable = dyn_cast<graph::EvaluableOp>(op);
    if (!evaluable)
      return evaluateTogether(op, operands, results);
    for (auto [mine, made] : llvm::zip_equal(operands, results))
      if (failed(evaluable.evaluate(mine, made)))
        return failure();
    return success();
  }

  LogicalResult evaluateCall(CallOpInterface call, const DeviceTensors &operands,
                             DeviceTensors &results) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
    if (!callee || callee.isExternal())
      return call->emitError("calls a function that the module does not have");
    if (depth > kMaxCallDepth)
      return call->emitError("calls nest more than ")
             << kMaxCallDepth << " deep: a recursive function?";
    FailureOr<DeviceTensors> made = LockstepCall(callee, operands, depth + 1).run();
    if (failed(made))
      return failure();
    results = *std::move(made);
    return success();
  }

  static constexpr int kMaxCallDepth = 1000;

  Block &body;
  int depth; ///< of calls that wait for this one
  std::vector<llvm::DenseMap<Value, Tensor>> values;
};
} // namespace

FailureOr<DeviceTensors> interpreter::evaluateOnDevices(ModuleOp module, StringRef function,
                                                        const DeviceTensors &arguments) {
  auto callee = module.lookupSymbol<FunctionOpInterface>(function);
  if (!callee || callee.isExternal())
    return module.emitError("the module has no function @") << function;
  dist::MeshOp mesh = dist::findMesh(module);
  int64_t devices = mesh ? mesh.getMesh().getNumDevices() : 1;
  if (int64_t(arguments.size()) != devices)
    return callee.emitError("called on ")
           << arguments.size() << " devices; the mesh has " << devices;
  for (auto [device, tensors] : llvm::enumerate(arguments)) {
    if (tensors.size() != callee.getNumArguments())
      return callee.emitError("called with ")
             << tensors.size() << " arguments, takes " << callee.getNumArguments();
    for (auto [index, type] : llvm::enumerate(callee.getArgumentTypes()))
      if (tensors[index].getType() != type)
        return callee.emitError("called with ")
               << tensors[index].getType() << " as argument " << index << " of device " << device
               << ", takes " << type;
  }
  return LockstepCall(callee, arguments).run();
}
