//===- CollectiveCases.h - collectives and what they give -------*- C++ -*-===//
//
// Problems of all kinds, types, layouts and ways to combine, in small numbers, which every
// type holds exactly.
//
//   for (const CollectiveProblem &p : problemsOf(group, {0, 1, 7}))
//     // of operand i, on member r: inputOf(p, i, r) -> outputOf(p, i, r)
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_RUNTIME_SUPPORT_COLLECTIVECASES_H
#define MINIGPTC_TEST_RUNTIME_SUPPORT_COLLECTIVECASES_H

#include "runtime/hal/Collective.h"

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace minigptc::runtime::test {

/// A tensor of that type.
std::vector<std::byte> bytesOf(DType dtype, const std::vector<double> &values);

/// All kinds, types and ways of combining in a group, for each size. Each has two operands of
/// that size, which lie differently, and an empty one.
std::vector<CollectiveProblem> problemsOf(const DeviceGroup &group,
                                          std::initializer_list<int64_t> sizes);

/// What member `rank` brings, which differs from round to round, and what it must get.
std::vector<std::byte> inputOf(const CollectiveProblem &p, size_t operand, int64_t rank,
                               int64_t round = 0);
std::vector<std::byte> outputOf(const CollectiveProblem &p, size_t operand, int64_t rank,
                                int64_t round = 0);

} // namespace minigptc::runtime::test

#endif // MINIGPTC_TEST_RUNTIME_SUPPORT_COLLECTIVECASES_H
