//===- Loops.cpp - functions called for one part after the other ----------===//
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

FailureOr<DeviceTensors> interpreter::evaluateLoop(graph::LoopOp loop,
                                                   const DeviceTensors &operands) {
  auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(loop, loop.getLoopBody());
  if (!body)
    return loop->emitError("calls ") << loop.getLoopBody() << ", which the module does not have";
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
