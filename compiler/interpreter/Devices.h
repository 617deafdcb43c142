//===- Devices.h - one program on many devices ------------------*- C++ -*-===//
//
// Runs a module of stage `spmd` for all devices of its mesh, op by op in lockstep: what
// the runtime's communicator must compute, without a runtime.
//
//   auto results = evaluateOnDevices(module, "main", {{x0, y0}, {x1, y1}}); // [device][argument]
//   Tensor onDevice1 = (*results)[1][0];
//
// Collectives combine in the order of the devices, in f32 (f64) where elements are
// narrower. Modules without a mesh have one device.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_DEVICES_H
#define MINIGPTC_COMPILER_INTERPRETER_DEVICES_H

#include "compiler/interpreter/Evaluation.h"
#include "mlir/IR/BuiltinOps.h"

namespace minigptc::interpreter {

/// Calls a function on all devices; diagnostics name the op that failed.
llvm::FailureOr<DeviceTensors> evaluateOnDevices(mlir::ModuleOp module, llvm::StringRef function,
                                                 const DeviceTensors &arguments);

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_DEVICES_H
