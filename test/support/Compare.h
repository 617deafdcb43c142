//===- Compare.h - are two tensors equal, nearly ----------------*- C++ -*-===//
//
// Each function gives an empty string if they are, else where and by how much
// they differ, ready to be the message of a failed test:
//
//   CHECK(difference(actual, expected, {.relative = 1e-4, .absolute = 1e-6}) == "");
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_SUPPORT_COMPARE_H
#define MINIGPTC_TEST_SUPPORT_COMPARE_H

#include "compiler/interpreter/Tensor.h"

#include <string>

namespace minigptc::test {

struct Tolerance {
  double relative = 0, absolute = 0;
};

/// |actual - expected| ≤ absolute + relative · |expected| for every element; NaN
/// equals NaN, infinities equal themselves. Integers and i1 must be the same.
/// Types must be the same.
std::string difference(const interpreter::Tensor &actual, const interpreter::Tensor &expected,
                       Tolerance tolerance = {});

/// The Euclidean norm of all elements of all tensors.
double normOf(llvm::ArrayRef<interpreter::Tensor> tensors);

/// The rule for gradients: ‖actual - expected‖ ≤ relative · max(‖expected‖, 1e-3 ·
/// normOfAll), where `normOfAll` is the norm of all the program's gradients.
std::string gradientDifference(const interpreter::Tensor &actual,
                               const interpreter::Tensor &expected, double normOfAll,
                               double relative = 1e-5);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_COMPARE_H
