//===- CudaTarget.cpp -----------------------------------------------------===//
#include "compiler/target/cuda/CudaTarget.h"
#include "compiler/target/artifact/ArtifactTypes.h"
#include "compiler/target/artifact/ProductProblem.h"
#include "compiler/target/common/EntryWalk.h"
#include "compiler/target/common/ObjectCache.h"
#include "compiler/target/cuda/Kernels.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/Transforms/Passes.h"
#include "runtime/drivers/cuda/CudaCollective.h"
#include "runtime/drivers/cuda/CudaGemm.h"
#include "runtime/drivers/cuda/GemmLayout.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;

/// As far as memory depends on it.
static runtime::CollectiveProblem problemOf(exec::CollectiveOp op) {
  runtime::CollectiveProblem problem;
  problem.kind = runtime::CollectiveKind(op.getKind());
  problem.group = {op.getStrides().vec(), op.getSizes().vec()};
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    Type element = cast<ShapedType>(input.getType()).getElementType();
    problem.operands.push_back({DType(target::toElementType(element)), op.getOuter()[i],
                                op.getInner()[i], op.getBlock()[i],
                                op.getFromMajor() && (*op.getFromMajor())[i]});
  }
  return problem;
}

namespace {
/// "// @add_1: map, grid 4, block 256, shared memory 0"
std::string describe(const KernelCode &kernel) {
  return "// @" + kernel.name + ": " + kernel.kind + ", grid " + std::to_string(kernel.grid) +
         (kernel.grouped ? " for each group" : "") + ", block " + std::to_string(kernel.block) +
         ", shared memory " + std::to_string(kernel.sharedBytes) + "\n";
}

/// A chunk of a head adds to the weight's gradient, which a GPU reads and writes for it: eight
/// bytes for every 2 · rows FLOPs. With so many rows the product takes longer than that.
constexpr int64_t kLossRows = 1024;

class CudaTarget final : public target::Target {
public:
  CudaTarget(std::vector<Arch> archs, bool emulate, const CompileOptions &options)
      : archs(std::move(archs)), emulate(emulate), options(options) {}

  bool overlaps() const override { return true; }
  void tune(ModuleOp module) const override {
    Builder builder(module.getContext());
    module->setAttr(graph::kFewestLossRows, builder.getI64IntegerAttr(kLossRows));
    // No ReLU: the library's loses a NaN.
    module->setAttr(
        graph::attr::kProductEpilogues,
        builder.getDictionaryAttr({builder.getNamedAttr("bias", builder.getI64IntegerAttr(1)),
                                   builder.getNamedAttr("sums", builder.getI64IntegerAttr(1))}));
  }
  uint64_t memoryBeside(ModuleOp module, StringRef entry, int) const override {
    bool products = false;
    target::walkEntry(module, entry, [&](Operation *op) { products |= isa<exec::GemmOp>(op); });
    std::vector<runtime::CollectiveProblem> collectives; // Of all entries, as a session has them.
    module.walk([&](exec::CollectiveOp op) { collectives.push_back(problemOf(op)); });
    return runtime::cuda::stagingBytes(collectives) +
           (products ? runtime::cuda::CudaGemm::kWorkspace : 0);
  }
  LogicalResult start(ModuleOp) override { return success(); }

  LogicalResult verify(ModuleOp module) override {
    WalkResult result = module.walk([](exec::GemmOp op) {
      runtime::GemmProblem problem = target::problemOf(op);
      if (runtime::cuda::isEmpty(problem))
        return WalkResult::advance();
      if (auto layout = runtime::cuda::layoutForBlas(problem); !layout) {
        op.emitError("a GPU cannot run this matrix product: ") << layout.status().message();
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  FailureOr<target::TargetCode> finish(ModuleOp module, ArrayRef<func::FuncOp> kernels,
                                       CompileStats &stats) override {
    FailureOr<ModuleCode> made =
        compileKernels(module, archs,
                       {.threads = options.threads,
                        .lines = false,
                        .emulate = emulate,
                        .cacheDir = target::ObjectCache::directoryOf(options)});
    if (failed(made))
      return failure();
    target::TargetCode code;
    code.kind = fb::TargetKind::cuda;
    llvm::StringMap<const KernelCode *> byName;
    for (const KernelCode &kernel : made->kernels)
      byName[kernel.name] = &kernel;
    for (func::FuncOp kernel : kernels) {
      const KernelCode &from = *byName.lookup(kernel.getSymName());
      target::GpuLaunch launch{uint32_t(from.grid), uint32_t(from.block),
                               uint32_t(from.sharedBytes), from.grouped, from.ptx};
      code.kernels.push_back({0, 1, 0, std::move(launch), from.kind});
    }
    code.emulated = std::move(made->emulated);
    for (Cubin &cubin : made->cubins)
      code.gpus.push_back(
          {uint32_t(cubin.arch.number()), cubin.arch.isSpecific(), std::move(cubin.bytes)});
    stats.kernels = kernels.size();
    stats.kernelsCompiled = made->compiled;
    return options.listings ? addListings(module, std::move(code)) : std::move(code);
  }

private:
  /// Lines of the source are in what people read, not in what the artifact holds: there, equal
  /// kernels of different places are one.
  FailureOr<target::TargetCode> addListings(ModuleOp module, target::TargetCode code) {
    FailureOr<ModuleCode> made =
        compileKernels(module, {},
                       {.threads = options.threads,
                        .lines = true,
                        .emulate = false,
                        .cacheDir = target::ObjectCache::directoryOf(options)});
    if (failed(made))
      return failure();
    for (KernelCode &kernel : made->kernels)
      code.listings.push_back({kernel.name + ".ptx", describe(kernel) + kernel.ptx});
    return code;
  }

  std::vector<Arch> archs;
  bool emulate;
  const CompileOptions &options;
};
} // namespace

std::unique_ptr<target::Target> cuda::makeTarget(std::vector<Arch> archs, bool emulate,
                                                 const CompileOptions &options) {
  return std::make_unique<CudaTarget>(std::move(archs), emulate, options);
}
