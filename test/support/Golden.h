//===- Golden.h - the recorded values of test/golden ------------*- C++ -*-===//
//
//   GoldenCase golden = loadGolden(runner.context(), "synth/linear");
//   CHECK(difference(result, golden.at("expected"), golden.tolerance) == "");
//
// test/golden/README.md says where the values come from.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_SUPPORT_GOLDEN_H
#define MINIGPTC_TEST_SUPPORT_GOLDEN_H

#include "test/support/Arrays.h"
#include "test/support/Compare.h"

#include <vector>

namespace minigptc::test {

/// A file of recorded values, with the tolerance for results (not gradients).
struct GoldenCase {
  Tensors tensors;
  Tolerance tolerance;
  /// The tensor of that name; throws std::runtime_error, naming those there are.
  const interpreter::Tensor &at(const std::string &name) const;
};

/// Loads a case of test/golden/index.json; throws std::runtime_error.
GoldenCase loadGolden(mlir::MLIRContext &context, const std::string &name);
/// Names of all cases.
std::vector<std::string> goldenNames();

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_GOLDEN_H
