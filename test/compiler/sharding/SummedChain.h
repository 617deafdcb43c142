//===- SummedChain.h - programs whose sums are made late --------*- C++ -*-===//
//
// Random programs rarely have what models are full of: a product whose contracted dimension
// is cut, of which only linear ops are computed before it is combined. This adds one:
//
//   addSummedChain(*module, random);
//
// @f gets arguments a, b [K, 6] and w [K, 2], of which K is cut, and one result more, all of
// the element type of its first argument.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_SHARDING_SUMMEDCHAIN_H
#define MINIGPTC_TEST_COMPILER_SHARDING_SUMMEDCHAIN_H

#include "mlir/IR/BuiltinOps.h"

#include <random>

namespace minigptc::test {

/// The module has a mesh.
void addSummedChain(mlir::ModuleOp module, std::mt19937_64 &random);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_SHARDING_SUMMEDCHAIN_H
