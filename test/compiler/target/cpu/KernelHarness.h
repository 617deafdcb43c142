//===- KernelHarness.h - compiles a kernel and runs it ----------*- C++ -*-===//
//
//   KernelHarness harness;
//   harness.check("func.func private @k(%x: tensor<4xf32>) -> … attributes {exec.kernel} {…}");
//
// compiles the function, runs the code on random inputs, and compares each result with the
// interpreter's. Which target it is compiled for is a matter of linking:
//
//  - CpuKernels.cpp: in two parts of its work items. Where this machine has AVX-512, code for
//    it and baseline code must give the same bits.
//  - ../cuda/CudaKernels.cpp: in the emulator of a GPU, which must find nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CPU_KERNELHARNESS_H
#define MINIGPTC_TEST_COMPILER_TARGET_CPU_KERNELHARNESS_H

#include "compiler/interpreter/Tensor.h"
#include "compiler/target/cpu/Isa.h"
#include "mlir/IR/BuiltinOps.h"

#include <random>
#include <vector>

struct KernelHarness {
  using Tensor = minigptc::interpreter::Tensor;
  /// Largest difference allowed: tolerance · (1 + |expected|).
  double tolerance = 2e-6;
  /// Random floats are drawn from [low, high); integers too, rounded.
  double low = -3, high = 3;
  /// The argument whose memory the first result takes; -1: it has its own.
  int inPlace = -1;

  /// Whether kernels run in the emulator, where large ones take long.
  static const bool isEmulated;

  KernelHarness();
  /// The text of one function, or of a module with one.
  void check(const std::string &text);
  void check(const std::string &text, const std::vector<Tensor> &inputs);
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  /// Compiles and runs; inputs as given. Nothing if the target refuses such kernels, and says
  /// so.
  std::vector<Tensor> run(mlir::ModuleOp module, const std::vector<Tensor> &inputs);
  /// What else a target promises of its results.
  void checkVariants(mlir::ModuleOp module, const std::vector<Tensor> &inputs,
                     const std::vector<Tensor> &got);
  using KernelFunction = void (*)(void *const *, int64_t, int64_t, void *);
  /// The module's function as code of the CPU, which stays loaded.
  static KernelFunction compile(mlir::ModuleOp module, const minigptc::cpu::Isa &isa);
  Tensor random(mlir::RankedTensorType type);

  mlir::MLIRContext context;
  std::mt19937 generator{7};
};

void compareBits(const KernelHarness::Tensor &a, const KernelHarness::Tensor &b);

#endif // MINIGPTC_TEST_COMPILER_TARGET_CPU_KERNELHARNESS_H
