// The comparisons that other tests rely on.
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace minigptc::test;
using Catch::Contains;

TEST_CASE("Differences are found, and only those") {
  ModuleRunner runner;
  Tensor expected = runner.tensor("3xf32", {1, -100, INFINITY});
  Tensor near = runner.tensor("3xf32", {1.001, -100.1, INFINITY});
  CHECK(difference(expected, expected) == "");
  CHECK(difference(near, expected, {.relative = 2e-3}) == "");
  CHECK_THAT(difference(near, expected, {.relative = 1e-4}),
             Contains("2 of 3 elements differ, most at position 1"));
  CHECK_THAT(difference(runner.tensor("3xf32", {NAN, -100, INFINITY}), expected, {.absolute = 1e9}),
             Contains("1 of 3"));
  CHECK_THAT(difference(runner.tensor("3xf32", {1, -100, 5}), expected, {.absolute = 1e9}),
             Contains("1 of 3"));
  CHECK_THAT(difference(runner.tensor("3xf64", {1}), expected), Contains("type is"));
  CHECK_THAT(difference(runner.tensor("2xi1", {1, 0}), runner.tensor("2xi1", {1, 1})),
             Contains("0 instead of 1"));
}

TEST_CASE("Gradients are compared norm-wise") {
  ModuleRunner runner;
  Tensor expected = runner.tensor("2xf32", {3, 4});
  CHECK(normOf({expected}) == Approx(5));
  CHECK(gradientDifference(runner.tensor("2xf32", {3, 4.00004}), expected, 5) == "");
  CHECK(gradientDifference(runner.tensor("2xf32", {3, 4.0001}), expected, 5) != "");
  CHECK(gradientDifference(runner.tensor("2xf32", {3, NAN}), expected, 5) != "");
  // A gradient that is zero may carry rounding noise of the others.
  Tensor zero = runner.tensor("2xf32", {0}), noise = runner.tensor("2xf32", {1e-8});
  CHECK(gradientDifference(noise, zero, 10) == "");
  CHECK(gradientDifference(noise, zero, 0.1) != "");
}
