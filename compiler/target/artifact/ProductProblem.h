//===- ProductProblem.h - products as drivers get them ----------*- C++ -*-===//
//
//   runtime::GemmProblem problem = problemOf(gemm);   // what the artifact says of it
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_ARTIFACT_PRODUCTPROBLEM_H
#define MINIGPTC_COMPILER_TARGET_ARTIFACT_PRODUCTPROBLEM_H

#include "dialects/exec/IR/Exec.h"
#include "runtime/hal/Gemm.h"

namespace minigptc::target {

runtime::GemmProblem problemOf(exec::GemmOp op);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_ARTIFACT_PRODUCTPROBLEM_H
