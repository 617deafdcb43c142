//===- RandomLoop.h - programs with a loop ----------------------*- C++ -*-===//
//
// What training with micro-batches has, and random programs do not: a loop that adds up
// gradients, carries a value that is not linear in anything, and stacks what it makes.
//
//   addLoop(*module, random);
//
// @f gets arguments xs [count·rows, n, 6], of which n is mostly cut, w [6, 2], h [n, 2] and one
// where a sum may start, and results more: the sum, the last h, what was stacked. All are of the
// element type of its first argument. The loop may call functions, and may hold a loop itself.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_SHARDING_RANDOMLOOP_H
#define MINIGPTC_TEST_COMPILER_SHARDING_RANDOMLOOP_H

#include "test/compiler/sharding/RandomShardings.h"

namespace minigptc::test {

/// The module has a mesh.
void addLoop(mlir::ModuleOp module, std::mt19937_64 &random, const AnnotationOptions &options);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_SHARDING_RANDOMLOOP_H
