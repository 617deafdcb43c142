//===- RandomProgram.h - random functions of graph ops ----------*- C++ -*-===//
//
// Programs for comparing two ways to run the same thing: interpreted and
// compiled, before and after a pass, a gradient and finite differences.
//
//   auto module = generateProgram(context, /*seed=*/7, {.floatType = "f32"});
//
// The module has a public function @f and perhaps private ones that it calls. A
// program is a function of seed and options alone.
//
// Invariants that make programs comparable: values stay of moderate size and
// within the domains of ops; what is not continuous (rounding, comparison,
// conversion to integers) is applied only to values that every way of running
// computes to the last bit.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_SUPPORT_RANDOMPROGRAM_H
#define MINIGPTC_TEST_SUPPORT_RANDOMPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <string>

namespace minigptc::test {

struct RandomProgramOptions {
  std::string floatType = "f32"; ///< of floats (f32, f64, bf16, f16); integers: i32, ui32 and i1
  int steps = 8;                 ///< ops chosen; some bring others with them
  /// The result depends on float arguments by differentiable ops; no op without a
  /// derivative lies in between.
  bool differentiable = false;
  bool callTwice = false; ///< half of the programs with functions call one twice at their end
};

mlir::OwningOpRef<mlir::ModuleOp> generateProgram(mlir::MLIRContext &context, uint64_t seed,
                                                  const RandomProgramOptions &options = {});

/// How often each op occurred with each element type (of its first result).
class Coverage {
public:
  void add(mlir::ModuleOp module);
  /// Occurrences of an op ("graph.add"), with one element type ("f32") or any ("").
  int64_t count(const std::string &op, const std::string &elementType = "") const;
  /// A table, a line per op.
  std::string toString() const;

private:
  std::map<std::string, std::map<std::string, int64_t>> counts_;
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_RANDOMPROGRAM_H
