//===- ModelCases.h - models, modes and precisions at small odd sizes -*- C++ -*-===//
//
// What the proofs of CUDA kernels compile: both models, every mode on several devices, f32 and
// bf16, with the programs of training, evaluation and generation.
//
//   for (const ModelCase &model : modelCases())
//     mlir::OwningOpRef<mlir::ModuleOp> module = parse(blocksOf(model));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CUDA_MODELCASES_H
#define MINIGPTC_TEST_COMPILER_TARGET_CUDA_MODELCASES_H

#include "runtime/train/RunConfig.h"

#include <string>
#include <vector>

namespace minigptc::test {

struct ModelCase {
  std::string name; ///< "transformer_lm fsdp_tp bf16"
  runtime::RunConfig config;
};

/// All of them, those that differ most first.
std::vector<ModelCase> modelCases();

/// The module of stage `exec`, compiled for CUDA.
std::string blocksOf(const ModelCase &model);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_MODELCASES_H
