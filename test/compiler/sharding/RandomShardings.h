//===- RandomShardings.h - random meshes and annotations --------*- C++ -*-===//
//
// Annotates a program (RandomProgram.h) as a user of a mesh would:
//
//   annotate(*module, seed, {.even = true});
//
// The module gets a mesh of one to twelve devices in one to three axes, the arguments of
// @f get shardings, some of its values constraints; some of its functions are checkpointed.
// Some get arguments and results more (SummedChain.h, RandomLoop.h).
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_SHARDING_RANDOMSHARDINGS_H
#define MINIGPTC_TEST_COMPILER_SHARDING_RANDOMSHARDINGS_H

#include "dialects/dist/IR/Sharding.h"

#include <random>

namespace minigptc::test {

struct AnnotationOptions {
  bool even = true;           ///< parts of equal size only
  bool differentiable = true; ///< no loop without a known number of rounds
};

void annotate(mlir::ModuleOp module, uint64_t seed, const AnnotationOptions &options);

/// A random sharding of a type; nothing is cut into more parts than it has elements.
dist::Sharding randomSharding(std::mt19937_64 &random, mlir::RankedTensorType type,
                              dist::MeshAttr mesh, const AnnotationOptions &options);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_SHARDING_RANDOMSHARDINGS_H
