//===- BatchedProgram.h - random programs of many examples ------*- C++ -*-===//
#ifndef MINIGPTC_TEST_SUPPORT_BATCHEDPROGRAM_H
#define MINIGPTC_TEST_SUPPORT_BATCHEDPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

namespace minigptc::test {

/// Makes of @f, in place, the function that `vmap` makes of it: of a few examples, with some
/// arguments that are the same for all, as the seed says. All results are batched.
void batchProgram(mlir::ModuleOp module, uint64_t seed);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_BATCHEDPROGRAM_H
