//===- Loops.cpp - functions called again and again, or not at all --------===//
#include "compiler/interpreter/Evaluation.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstring>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

/// Part `number` along dimension 0: a run of memory.
static Tensor cutPart(const Tensor &whole, int64_t number, RankedTensorType type) {
  Tensor part(type);
  std::memcpy(part.mutableData(), whole.data() + number * part.getNumBytes(), part.getNumBytes());
  return part;
}

/// What a device gives the body in one call.
static SmallVector<Tensor> argumentsOf(graph::LoopOp loop, func::FuncOp body, int64_t number,
                                       ArrayRef<Tensor> operands, ArrayRef<Tensor> results) {
  SmallVector<Tensor> arguments(operands);
  for (auto [i, operand] : llvm::enumerate(operands))
    if (loop.isCutOperand(i))
      arguments[i] = cutPart(operand, number, cast<RankedTensorType>(body.getArgumentTypes()[i]));
  for (auto [i, result] : llvm::enumerate(results))
    if (std::optional<unsigned> carried = loop.getCarriedOperand(i))
      arguments[*carried] = result;
  return arguments;
}

/// Takes over what is carried, and puts parts into their places.
static void keep(graph::LoopOp loop, int64_t number, ArrayRef<Tensor> made,
                 SmallVectorImpl<Tensor> &results) {
  for (auto [i, part] : llvm::enumerate(made)) {
    if (loop.isCutResult(i))
      std::memcpy(results[i].mutableData() + number * part.getNumBytes(), part.data(),
                  part.getNumBytes());
    else
      results[i] = part;
  }
}

/// A function that an op names; null, and an error, if there is none.
static func::FuncOp lookUpFunction(Operation *op, FlatSymbolRefAttr name) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
  if (!function)
    op->emitError("calls ") << name << ", which the module does not have";
  return function;
}

FailureOr<DeviceTensors> interpreter::evaluateLoop(graph::LoopOp loop,
                                                   const DeviceTensors &operands) {
  func::FuncOp body = lookUpFunction(loop, loop.getLoopBody());
  if (!body)
    return failure();
  DeviceTensors results(operands.size());
  for (auto [mine, given] : llvm::zip_equal(results, operands))
    for (auto [i, type] : llvm::enumerate(loop->getResultTypes())) {
      std::optional<unsigned> carried = loop.getCarriedOperand(i);
      mine.push_back(carried ? given[*carried] : Tensor(cast<RankedTensorType>(type)));
    }
  for (int64_t call = 0; call < loop.getTripCount(); ++call) {
    int64_t number = loop.isReversed() ? loop.getTripCount() - 1 - call : call;
    DeviceTensors arguments;
    for (auto [mine, given] : llvm::zip_equal(results, operands))
      arguments.push_back(argumentsOf(loop, body, number, given, mine));
    FailureOr<DeviceTensors> made = evaluateCallable(body, loop, arguments);
    if (failed(made))
      return failure();
    for (auto [mine, parts] : llvm::zip_equal(results, *made))
      keep(loop, number, parts, mine);
  }
  return results;
}

/// Calls a function on some of the devices, with what all have; the others' results are empty.
static FailureOr<DeviceTensors> callOn(ArrayRef<size_t> devices, Operation *op,
                                       FlatSymbolRefAttr name, const DeviceTensors &all) {
  func::FuncOp function = lookUpFunction(op, name);
  if (!function)
    return failure();
  DeviceTensors results(all.size()), arguments;
  for (size_t device : devices)
    arguments.push_back(all[device]);
  FailureOr<DeviceTensors> made = evaluateCallable(function, op, arguments);
  if (failed(made))
    return failure();
  for (auto [device, tensors] : llvm::zip_equal(devices, *made))
    results[device] = std::move(tensors);
  return results;
}

FailureOr<DeviceTensors> interpreter::evaluateCond(graph::CondOp cond,
                                                   const DeviceTensors &operands) {
  DeviceTensors results(operands.size()), inputs;
  SmallVector<size_t> devices[2];
  for (auto [device, mine] : llvm::enumerate(operands)) {
    inputs.emplace_back(ArrayRef(mine).drop_front());
    devices[mine[0].getInt(0) != 0].push_back(device);
  }
  for (bool holds : {true, false}) {
    if (devices[holds].empty())
      continue;
    FailureOr<DeviceTensors> made =
        callOn(devices[holds], cond, holds ? cond.getOnTrueAttr() : cond.getOnFalseAttr(), inputs);
    if (failed(made))
      return failure();
    for (size_t device : devices[holds])
      results[device] = std::move((*made)[device]);
  }
  return results;
}

FailureOr<DeviceTensors> interpreter::evaluateWhile(graph::WhileOp loop,
                                                    const DeviceTensors &operands) {
  DeviceTensors arguments = operands;
  size_t constants = loop.getConstants().size();
  for (auto running = llvm::to_vector(llvm::seq(operands.size()));;) {
    FailureOr<DeviceTensors> holds = callOn(running, loop, loop.getConditionAttr(), arguments);
    if (failed(holds))
      return failure();
    llvm::erase_if(running, [&](size_t device) { return !(*holds)[device][0].getInt(0); });
    if (running.empty())
      break;
    FailureOr<DeviceTensors> next = callOn(running, loop, loop.getBodyAttr(), arguments);
    if (failed(next))
      return failure();
    for (size_t device : running)
      llvm::move((*next)[device], arguments[device].begin() + constants);
  }
  for (SmallVector<Tensor> &mine : arguments)
    mine.erase(mine.begin(), mine.begin() + constants);
  return arguments;
}
