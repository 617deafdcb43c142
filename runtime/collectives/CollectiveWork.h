//===- CollectiveWork.h - one member's share of a collective ----*- C++ -*-===//
//
// What a member does once all buffers are known, in memory that all members see. Each
// element is combined once, by one member, in the order of members.
//
//   for each member r, at the same time:
//     doShare(problem, i, r, inputs, outputs);    // inputs[q], outputs[q]: of member q
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_COLLECTIVEWORK_H
#define MINIGPTC_RUNTIME_COLLECTIVES_COLLECTIVEWORK_H

#include "runtime/hal/Collective.h"

#include <span>

namespace minigptc::runtime {

/// Operand `operand`. Writes this member's output; of an all-reduce, its share of
/// everybody's.
void doShare(const CollectiveProblem &problem, size_t operand, int64_t rank,
             std::span<const void *const> inputs, std::span<void *const> outputs);
/// All of this member's output, also of an all-reduce: where no other member can write it. The
/// same bits.
void doWhole(const CollectiveProblem &problem, size_t operand, int64_t rank,
             std::span<const void *const> inputs, void *output);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_COLLECTIVEWORK_H
