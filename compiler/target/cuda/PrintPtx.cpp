//===- PrintPtx.cpp -------------------------------------------------------===//
#include "compiler/target/cuda/PrintPtx.h"
#include "compiler/target/common/KernelText.h"
#include "compiler/target/cuda/KernelPlan.h"
#include "compiler/target/cuda/PtxCompiler.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;

namespace {
struct PrintPtx : PassWrapper<PrintPtx, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintPtx)
  explicit PrintPtx(raw_ostream &os) : os(os) {}
  PrintPtx(const PrintPtx &other) : PassWrapper(other), os(other.os) {}

  StringRef getArgument() const final { return "print-ptx"; }
  StringRef getDescription() const final { return "prints the CUDA code of kernels"; }

  LogicalResult print(func::FuncOp kernel) {
    if (failed(verifyKernel(kernel)))
      return failure();
    KernelPlan plan = planKernel(kernel);
    PtxCompiler generator;
    auto code = generator.compile(target::printKernel(kernel, /*locations=*/true),
                                  {.grouped = kernel->hasAttr("cuda.grouped"), .lines = true});
    if (failed(code))
      return kernel.emitError() << generator.error();
    os << "// @" << kernel.getSymName() << ": " << plan.kind() << ", grid " << plan.grid
       << ", block " << plan.block << ", shared memory " << plan.sharedBytes << "\n"
       << code->ptx;
    return success();
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(graph::attr::kKernel) && failed(print(kernel)))
        return signalPassFailure();
  }

  raw_ostream &os;
};
} // namespace

std::unique_ptr<Pass> minigptc::cuda::createPrintPtxPass(raw_ostream &os) {
  return std::make_unique<PrintPtx>(os);
}
