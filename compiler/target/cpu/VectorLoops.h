//===- VectorLoops.h - sixteen elements at a time ---------------*- C++ -*-===//
//
// The emitter writes loops over columns in scalar code, one element an iteration, and
// marks them. `vectoriseLoops` makes a loop over blocks of 16 elements of each, followed
// by the scalar loop for what is left over:
//
//   scf.for %c = 0 to 100 step 1 {…}  →  scf.for %c = 0 to 96 step 16 {… vector<16xf32> …}
//                                        scf.for %c = 96 to 100 step 1 {…}
//
// Each value of the body is one of
//  - uniform: the same in all iterations; stays a scalar,
//  - linear: lane 0's value and a stride (indices, and addresses made of them),
//  - a vector of 16 lanes.
// Loads and stores at stride 1 are vector loads and stores, others go lane by lane.
// Branches on a condition that differs between lanes are both computed, under a mask.
// Where the loop is aligned (the column of lane 0 is a multiple of 16), divisions and
// comparisons by multiples of 16 keep blocks together: the heads of a merged dimension,
// or the halves of a concatenation, cost nothing.
//
// A loop with iteration arguments is a reduction: each lane combines its own elements,
// then lanes l and l + 8, l + 4, l + 2, l + 1, then the elements left over, in order. From
// 128 elements on, four vectors take turns (element i goes to vector i / 16 % 4), and vectors
// v and v + 2, v + 1 are combined before what is left of the blocks. So its bits depend on
// the number of elements alone, whatever the machine's vectors.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_VECTORLOOPS_H
#define MINIGPTC_COMPILER_TARGET_CPU_VECTORLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace minigptc::cpu {

inline constexpr int64_t kLanes = 16;

/// Marks a loop whose iterations do not depend on one another but through its iteration
/// arguments, each of which is combined by one op, from a neutral element.
/// `alignment` divides the lower bound, `multiple` the number of iterations.
void markColumnLoop(mlir::scf::ForOp loop, int64_t alignment, int64_t multiple);

/// Vectorises the marked loops; one that holds what has no vector form, or has fewer
/// than 16 iterations, stays as it is. The marks go.
void vectoriseLoops(mlir::ModuleOp module);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_VECTORLOOPS_H
