//===- VjpCases.h - one small function per differentiable op ---*- C++ -*-===//
#ifndef MINIGPTC_TEST_DIALECTS_GRAPH_TRANSFORMS_VJPCASES_H
#define MINIGPTC_TEST_DIALECTS_GRAPH_TRANSFORMS_VJPCASES_H

#include <string>
#include <vector>

namespace minigptc::test {

/// A function of f64 tensors %a0, %a1, … that gives %r0, %r1, … Written `acc` is
/// the type of statistics, f64 here; with another type for f64 the case tests
/// that type.
struct VjpCase {
  std::string op; // "tanh", or "reduce max": the op, and what is special
  std::vector<std::string> arguments;
  std::vector<std::string> results;
  std::string body;
  /// Arguments are 0.5 + |x| for standard normal x.
  bool isPositive = false;

  std::string getOpName() const { return "graph." + op.substr(0, op.find(' ')); }
};

const std::vector<VjpCase> &vjpCases();

} // namespace minigptc::test

#endif // MINIGPTC_TEST_DIALECTS_GRAPH_TRANSFORMS_VJPCASES_H
