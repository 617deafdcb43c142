//===- VectorLoopTest.cpp - what LLVM is told about loops -----------------===//
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/cpu/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include "llvm/ADT/TypeSwitch.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace minigptc;

/// Loops of the kernel's code whose branch says that their accesses are parallel.
static int countParallelLoops(KernelHarness &harness, const std::string &text) {
  OwningOpRef<ModuleOp> module = harness.parse(text);
  OwningOpRef<ModuleOp> code = cpu::emitKernel(*module->getOps<func::FuncOp>().begin());
  REQUIRE(succeeded(cpu::expandMath(*code)));
  REQUIRE(succeeded(cpu::lowerToLLVM(*code)));
  int count = 0;
  auto note = [&](auto branch) {
    LLVM::LoopAnnotationAttr annotation = branch.getLoopAnnotationAttr();
    count += annotation && !annotation.getParallelAccesses().empty();
  };
  code->walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op).Case<LLVM::BrOp, LLVM::CondBrOp>(note);
  });
  return count;
}

// Else LLVM asks at run time whether buffers overlap, and takes the scalar loop where an
// output lies in its input's buffer.
TEST_CASE("loops over elements are told to be parallel, down to LLVM") {
  KernelHarness harness;
  DialectRegistry registry;
  cpu::registerKernelDialects(registry);
  harness.context.appendDialectRegistry(registry);
  harness.context.loadAllAvailableDialects();
  CHECK(countParallelLoops(harness, R"(
    func.func private @k(%a: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {exec.kernel} {
      %0 = graph.exponential %a : tensor<64x256xf32>
      return %0 : tensor<64x256xf32>
    })") == 1);
}
