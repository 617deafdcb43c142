//===- GemmParts.h - an epilogue as a product of its own --------*- C++ -*-===//
//
// For a product with an epilogue that the library has no algorithm for: two without one, the first
// of which multiplies ones. A bias is spread over C, to which the product is added; sums are a row
// of ones times the right operand. The same roundings: ones change nothing, C is rounded once.
//
//   GemmParts parts = partsOf(problem);
//   // bias: first: ones, vector -> out;  sums: first: ones, rhs -> vector
//   // then second: lhs, rhs -> out
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMPARTS_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMPARTS_H

#include "runtime/hal/Gemm.h"

#include <cstddef>
#include <vector>

namespace minigptc::runtime::cuda {

struct GemmParts {
  GemmProblem first, second;
  /// The first one's left operand.
  std::vector<std::byte> ones() const;
};

/// Of a product with an epilogue.
GemmParts partsOf(const GemmProblem &problem);

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMPARTS_H
