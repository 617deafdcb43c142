#include "runtime/exec/HostProgram.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace minigptc;
using namespace minigptc::runtime;
using fb::ScalarOp;

/// The value of one operation on constants.
static double valueOf(ScalarOp op, double a, double b = 0, double c = 0) {
  HostProgram program;
  for (double value : {a, b, c})
    program.instructions.emplace_back(ScalarOp::constant, 0, 0, 0, value);
  program.instructions.emplace_back(op, 0, 1, 2, 0);
  program.results = {3};
  program.resultTypes = {f64};
  REQUIRE(program.check().ok());
  double result;
  program.evaluate({}, std::span(&result, 1));
  return result;
}

TEST_CASE("scalar operations") {
  CHECK(valueOf(ScalarOp::add, 2, 3) == 5);
  CHECK(valueOf(ScalarOp::subtract, 2, 3) == -1);
  CHECK(valueOf(ScalarOp::multiply, 2, 3) == 6);
  CHECK(valueOf(ScalarOp::divide, 1, 3) == 1.0 / 3);
  CHECK(valueOf(ScalarOp::negate, 2) == -2);
  CHECK(valueOf(ScalarOp::minimum, 2, 3) == 2);
  CHECK(valueOf(ScalarOp::minimum, 3, 2) == 2);
  CHECK(valueOf(ScalarOp::maximum, 2, 3) == 3);
  CHECK(valueOf(ScalarOp::maximum, 3, 2) == 3);
  CHECK(std::isnan(valueOf(ScalarOp::maximum, NAN, 3)));
  CHECK(std::isnan(valueOf(ScalarOp::minimum, 3, NAN)));
  CHECK(valueOf(ScalarOp::power, 0.95, 7) == std::pow(0.95, 7));
  CHECK(valueOf(ScalarOp::sqrt, 2) == std::sqrt(2.0));
  CHECK(valueOf(ScalarOp::exp, 2) == std::exp(2.0));
  CHECK(valueOf(ScalarOp::log, 2) == std::log(2.0));
  CHECK(valueOf(ScalarOp::sin, 2) == std::sin(2.0));
  CHECK(valueOf(ScalarOp::cos, 2) == std::cos(2.0));
  CHECK(valueOf(ScalarOp::tanh, 2) == std::tanh(2.0));
  CHECK(valueOf(ScalarOp::abs, -2) == 2);
  CHECK(valueOf(ScalarOp::floor, -1.5) == -2);
  CHECK(valueOf(ScalarOp::ceil, -1.5) == -1);
  CHECK(valueOf(ScalarOp::lt, 1, 2) == 1);
  CHECK(valueOf(ScalarOp::lt, 2, 2) == 0);
  CHECK(valueOf(ScalarOp::le, 2, 2) == 1);
  CHECK(valueOf(ScalarOp::eq, 2, 2) == 1);
  CHECK(valueOf(ScalarOp::eq, 2, 3) == 0);
  CHECK(valueOf(ScalarOp::select, 1, 5, 6) == 5);
  CHECK(valueOf(ScalarOp::select, 0, 5, 6) == 6);
}

TEST_CASE("inputs, several results") {
  HostProgram program;
  program.instructions = {{ScalarOp::input, 1, 0, 0, 0},
                          {ScalarOp::input, 0, 0, 0, 0},
                          {ScalarOp::subtract, 0, 1, 0, 0}};
  program.inputTypes = {i64, i64};
  program.results = {2, 0};
  program.resultTypes = {f64, f64};
  REQUIRE(program.check().ok());
  double inputs[] = {3, 10}, results[2];
  program.evaluate(inputs, results);
  CHECK(results[0] == 7);
  CHECK(results[1] == 10);
}
