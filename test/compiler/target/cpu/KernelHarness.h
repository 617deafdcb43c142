//===- KernelHarness.h - compiles a kernel and runs it ----------*- C++ -*-===//
//
//   KernelHarness harness;
//   harness.check("func.func private @k(%x: tensor<4xf32>) -> … attributes {exec.kernel} {…}");
//
// compiles the function, calls the code on random inputs in two parts of its work
// items, and compares each result with the interpreter's.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CPU_KERNELHARNESS_H
#define MINIGPTC_TEST_COMPILER_TARGET_CPU_KERNELHARNESS_H

#include "compiler/interpreter/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include <random>
#include <vector>

struct KernelHarness {
  using Tensor = minigptc::interpreter::Tensor;
  /// Largest difference allowed: tolerance · (1 + |expected|).
  double tolerance = 2e-6;
  /// Random floats are drawn from [low, high); integers too, rounded.
  double low = -3, high = 3;

  KernelHarness();
  /// The text of one function, or of a module with one.
  void check(const std::string &text);
  void check(const std::string &text, const std::vector<Tensor> &inputs);
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  /// Compiles and runs; inputs as given.
  std::vector<Tensor> run(mlir::ModuleOp module, const std::vector<Tensor> &inputs);
  Tensor random(mlir::RankedTensorType type);

  mlir::MLIRContext context;
  std::mt19937 generator{7};
};

#endif // MINIGPTC_TEST_COMPILER_TARGET_CPU_KERNELHARNESS_H
