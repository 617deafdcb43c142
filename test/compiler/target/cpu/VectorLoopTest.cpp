//===- VectorLoopTest.cpp - which loops become vector code ----------------===//
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/cpu/KernelLowering.h"
#include "compiler/target/cpu/VectorLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

#include <cstdlib>
#include <memory>

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

TEST_CASE("long reductions are made in four chains") {
  auto sum = [](int64_t columns) {
    std::string type = "tensor<8x" + std::to_string(columns) + "xf32>";
    return countAccesses("func.func private @k(%a: " + type +
                         ") -> tensor<8xf32> attributes {exec.kernel} {\n" +
                         "%0 = graph.reduce sum, %a, dims = [1] : (" + type +
                         ") -> tensor<8xf32>\nreturn %0 : tensor<8xf32>\n}")
        .vectors;
  };
  CHECK(sum(112) == 1);
  CHECK(sum(128) == 4);
  CHECK(sum(144) == 5);
}

/// Of the code before it is lowered.
static int countStreamed(int64_t rows, const std::string &body) {
  KernelHarness harness;
  DialectRegistry registry;
  cpu::registerKernelDialects(registry);
  harness.context.appendDialectRegistry(registry);
  harness.context.loadAllAvailableDialects();
  std::string text = body;
  for (size_t at; (at = text.find("$F")) != std::string::npos;)
    text.replace(at, 2, "tensor<" + std::to_string(rows) + "x1024xf32>");
  OwningOpRef<ModuleOp> module = harness.parse(text);
  OwningOpRef<ModuleOp> code = cpu::emitKernel(*module->getOps<func::FuncOp>().begin());
  REQUIRE(succeeded(cpu::expandMath(*code)));
  cpu::vectoriseLoops(*code);
  int stores = 0, fences = 0;
  code->walk([&](LLVM::StoreOp op) { stores += op.getNontemporal(); });
  code->walk([&](LLVM::CallIntrinsicOp op) { ++fences; });
  CHECK(fences == (stores > 0));
  return stores;
}

TEST_CASE("outputs larger than the caches go past them") {
  const std::string add = R"(
    func.func private @k(%a: $F, %b: $F) -> $F attributes {exec.kernel} {
      %0 = graph.add %a, %b : $F
      return %0 : $F
    })";
  CHECK(countStreamed(1024, add) == 0);
  CHECK(countStreamed(16384, add) == 1);
  KernelHarness harness;
  std::string text = add;
  for (size_t at; (at = text.find("$F")) != std::string::npos;)
    text.replace(at, 2, "tensor<16384x1024xf32>");
  OwningOpRef<ModuleOp> module = harness.parse(text);
  auto run = KernelHarness::compile(*module, *cpu::Isa::named("native"));
  constexpr int64_t size = 16384 * 1024;
  auto allocate = [] {
    return std::unique_ptr<float, decltype(&std::free)>(
        static_cast<float *>(std::aligned_alloc(64, size * sizeof(float))), std::free);
  };
  auto input = allocate(), output = allocate();
  for (int64_t i = 0; i < size; ++i)
    input.get()[i] = float(i % 1021);
  void *buffers[] = {input.get(), input.get(), output.get()};
  run(buffers, 0, size, nullptr);
  int64_t wrong = 0;
  for (int64_t i = 0; i < size; ++i)
    wrong += output.get()[i] != 2 * float(i % 1021);
  CHECK(wrong == 0);
}
