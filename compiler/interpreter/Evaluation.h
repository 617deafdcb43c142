//===- Evaluation.h - running regions and functions -------------*- C++ -*-===//
//
// What ops that hold or call other ops need in order to be evaluated.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_EVALUATION_H
#define MINIGPTC_COMPILER_INTERPRETER_EVALUATION_H

#include "compiler/interpreter/Tensor.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"

namespace minigptc::interpreter {

/// Per device, one tensor per argument, operand or result. A program without devices has one.
using DeviceTensors = std::vector<llvm::SmallVector<Tensor>>;

/// Runs the one block of a region whose arguments have the given values, op by op, on all
/// devices in lockstep; results are the terminator's operands. Ops are evaluated through
/// `EvaluableOp`, what devices compute together through `TogetherOp`, calls through
/// `CallOpInterface`, loops through `LoopOp`, branches as what they are. Diagnostics name the op that failed.
llvm::FailureOr<DeviceTensors> evaluateRegion(mlir::Region &region, const DeviceTensors &arguments);
/// On one device.
llvm::LogicalResult evaluateRegion(mlir::Region &region, llvm::ArrayRef<Tensor> arguments,
                                   llvm::SmallVectorImpl<Tensor> &results);

/// Runs a callable op (a function); fails for a declaration.
llvm::FailureOr<DeviceTensors> evaluateCallable(mlir::Operation *callable, mlir::Operation *caller,
                                                const DeviceTensors &arguments);
/// On one device.
llvm::LogicalResult evaluateCallable(mlir::Operation *callable, mlir::Operation *caller,
                                     llvm::ArrayRef<Tensor> arguments,
                                     llvm::SmallVectorImpl<Tensor> &results);

/// Calls a loop's body for one part after the other, on all devices in lockstep.
llvm::FailureOr<DeviceTensors> evaluateLoop(graph::LoopOp loop, const DeviceTensors &operands);

/// Devices with one predicate run the same function in lockstep, and no other devices with them.
llvm::FailureOr<DeviceTensors> evaluateCond(graph::CondOp cond, const DeviceTensors &operands);
llvm::FailureOr<DeviceTensors> evaluateWhile(graph::WhileOp loop, const DeviceTensors &operands);

/// Prints on the devices on which compiled code does.
void evaluatePrint(graph::PrintOp op, const DeviceTensors &operands);

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_EVALUATION_H
