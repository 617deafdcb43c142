//===- Combine.h - what reductions do with two elements ---------*- C++ -*-===//
//
// For a type that reductions accumulate in:
//
//   total = combine<double>(ReduceKind::max, total, x);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_COMBINE_H
#define MINIGPTC_COMPILER_INTERPRETER_COMBINE_H

#include "dialects/graph/IR/Graph.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace minigptc::interpreter {

template <typename A> A combine(graph::ReduceKind kind, A x, A y) {
  if constexpr (std::is_floating_point_v<A>)
    if (std::isnan(x) || std::isnan(y)) // wins over everything
      return std::numeric_limits<A>::quiet_NaN();
  // Integers wrap around; 64-bit unsigned arithmetic has the same low bits.
  using Arithmetic = std::conditional_t<std::is_floating_point_v<A>, A, uint64_t>;
  using graph::ReduceKind;
  switch (kind) {
  case ReduceKind::sum: return A(Arithmetic(x) + Arithmetic(y));
  case ReduceKind::prod: return A(Arithmetic(x) * Arithmetic(y));
  case ReduceKind::max:
  case ReduceKind::any: return x < y ? y : x;
  case ReduceKind::min:
  case ReduceKind::all: return y < x ? y : x;
  }
  llvm_unreachable("all kinds are handled");
}

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_COMBINE_H
