//===- KernelWork.h - what a kernel computes and moves ----------*- C++ -*-===//
//
// For profiles and models of cost. FLOPs: those of matrix products, and one for each float
// element that an elementwise op gives or a reduction takes (a square root, an exponential is
// one, too). Bytes: what is read and written once, however often the code does it; of a tensor of
// which only looked-up rows are read, these rows.
//
//   KernelWork work = workOf(kernel); // work.flops, work.bytes
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_ARTIFACT_KERNELWORK_H
#define MINIGPTC_COMPILER_TARGET_ARTIFACT_KERNELWORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace minigptc::target {

struct KernelWork {
  double flops = 0, bytes = 0;
  std::vector<mlir::Operation *> ops; ///< but for constants
};

KernelWork workOf(mlir::func::FuncOp kernel);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_ARTIFACT_KERNELWORK_H
