//===- CudaTarget.cpp -----------------------------------------------------===//
#include "compiler/target/cuda/CudaTarget.h"
#include "compiler/target/common/ObjectCache.h"
#include "compiler/target/cuda/Kernels.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"
#include "runtime/drivers/cuda/GemmLayout.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;

static Type elementOf(Value matrix) { return cast<ShapedType>(matrix.getType()).getElementType(); }

/// The product as the driver gets it.
static runtime::GemmProblem problemOf(exec::GemmOp op) {
  auto layout = [](Value matrix, ArrayRef<int64_t> strides, ArrayRef<int64_t> batch) {
    runtime::MatrixLayout result;
    result.rowStride = strides[0], result.columnStride = strides[1];
    result.batchStrides.assign(batch.begin(), batch.end());
    result.bf16 = elementOf(matrix).isBF16();
    return result;
  };
  runtime::GemmProblem problem;
  Type element = graph::getAccumulatorType(elementOf(op.getOut()));
  problem.dtype = element.isF64() ? DType::f64 : DType::f32;
  problem.m = op.getM(), problem.n = op.getN(), problem.k = op.getK();
  problem.batch.assign(op.getBatch().begin(), op.getBatch().end());
  problem.lhs = layout(op.getLhs(), op.getLhsStrides(), op.getLhsBatchStrides());
  problem.rhs = layout(op.getRhs(), op.getRhsStrides(), op.getRhsBatchStrides());
  problem.out = layout(op.getOut(), op.getOutStrides(), op.getOutBatchStrides());
  problem.beta = op.getBeta().convertToDouble();
  return problem;
}

namespace {
/// "// @add_1: map, grid 4, block 256, shared memory 0"
std::string describe(const KernelCode &kernel) {
  return "// @" + kernel.name + ": " + kernel.kind + ", grid " + std::to_string(kernel.grid) +
         (kernel.grouped ? " for each group" : "") + ", block " + std::to_string(kernel.block) +
         ", shared memory " + std::to_string(kernel.sharedBytes) + "\n";
}

class CudaTarget final : public target::Target {
public:
  CudaTarget(std::vector<Arch> archs, bool emulate, const CompileOptions &options)
      : archs(std::move(archs)), emulate(emulate), options(options) {}

  bool overlaps() const override { return true; }

  LogicalResult start(ModuleOp) override { return success(); }

  LogicalResult verify(ModuleOp module) override {
    WalkResult result = module.walk([](exec::GemmOp op) {
      runtime::GemmProblem problem = problemOf(op);
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
    FailureOr<ModuleCode> made = compileKernels(
        module, archs,
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
