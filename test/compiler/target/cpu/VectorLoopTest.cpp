//===- VectorLoopTest.cpp - which loops become vector code ----------------===//
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/cpu/KernelLowering.h"
#include "compiler/target/cpu/VectorLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace minigptc;

namespace {
struct Accesses {
  int vectors = 0, scalars = 0; ///< loads and stores of buffers in loops over columns
};
} // namespace

/// Of the code before it is lowered; scalar ones are those beside vectors, not what is
/// left over.
static Accesses countAccesses(const std::string &text) {
  KernelHarness harness;
  DialectRegistry registry;
  cpu::registerKernelDialects(registry);
  harness.context.appendDialectRegistry(registry);
  harness.context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = harness.parse(text);
  OwningOpRef<ModuleOp> code = cpu::emitKernel(*module->getOps<func::FuncOp>().begin());
  REQUIRE(succeeded(cpu::expandMath(*code)));
  cpu::vectoriseLoops(*code);
  Accesses count;
  auto note = [&](Type type, Operation *op) {
    bool isPointer = isa<LLVM::LLVMPointerType>(type);
    if (!isPointer && op->getParentOfType<scf::ForOp>())
      ++(isa<VectorType>(type) ? count.vectors : count.scalars);
  };
  code->walk([&](LLVM::LoadOp op) { note(op.getType(), op); });
  code->walk([&](LLVM::StoreOp op) { note(op.getValue().getType(), op); });
  return count;
}

static std::string kernel(const std::string &parameters, const std::string &result,
                          const std::string &body) {
  return "func.func private @k(" + parameters + ") -> " + result + " attributes {exec.kernel} {\n" +
         body + " : " + result + "\n}";
}

TEST_CASE("loops of whole blocks are vector code alone") {
  Accesses flat = countAccesses(kernel("%a: tensor<64x256xf32>", "tensor<64x256xf32>", R"(
    %0 = graph.exponential %a : tensor<64x256xf32>
    return %0)"));
  CHECK(flat.vectors == 2);
  CHECK(flat.scalars == 0);
  Accesses softmax = countAccesses(kernel("%a: tensor<8x64xf32>", "tensor<8x64xf32>", R"(
    %m = graph.reduce max, %a, dims = [1] : (tensor<8x64xf32>) -> tensor<8xf32>
    %b = graph.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
    %0 = graph.subtract %a, %b : tensor<8x64xf32>
    return %0)"));
  CHECK(softmax.vectors == 3);
  CHECK(softmax.scalars == 0);
}

TEST_CASE("what is left over is scalar code") {
  Accesses odd = countAccesses(kernel("%a: tensor<67xf32>", "tensor<67xf32>", R"(
    %0 = graph.negate %a : tensor<67xf32>
    return %0)"));
  CHECK(odd.vectors == 2);
  CHECK(odd.scalars == 2);
}

TEST_CASE("heads that are merged and halves that are joined keep their blocks") {
  Accesses heads = countAccesses(kernel("%a: tensor<2x4x8x32xf32>", "tensor<2x8x128xf32>", R"(
    %t = graph.transpose %a, dims = [0, 2, 1, 3] : (tensor<2x4x8x32xf32>) -> tensor<2x8x4x32xf32>
    %0 = graph.reshape %t : (tensor<2x8x4x32xf32>) -> tensor<2x8x128xf32>
    return %0)"));
  CHECK(heads.vectors == 2);
  CHECK(heads.scalars == 0);
  Accesses halves =
      countAccesses(kernel("%a: tensor<8x16xf32>, %b: tensor<8x16xf32>", "tensor<8x32xf32>", R"(
    %0 = graph.concatenate %a, %b dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %0)"));
  CHECK(halves.vectors == 3);
  CHECK(halves.scalars == 0);
}
