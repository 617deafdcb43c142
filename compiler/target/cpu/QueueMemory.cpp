#include "compiler/target/cpu/QueueMemory.h"
#include "compiler/target/cpu/KernelPlan.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/drivers/host/HostDriver.h"
#include "runtime/hal/Gemm.h"

#include <vector>

using namespace mlir;
using namespace minigptc;

namespace {

runtime::GemmProblem problemOf(exec::GemmOp op) {
  auto typeOf = [](Value matrix) { return cast<ShapedType>(matrix.getType()).getElementType(); };
  auto layout = [&](Value matrix, ArrayRef<int64_t> strides, ArrayRef<int64_t> batch) {
    return runtime::MatrixLayout{strides[0], strides[1], batch.vec(), typeOf(matrix).isBF16()};
  };
  runtime::GemmProblem problem;
  Type sum = graph::getAccumulatorType(typeOf(op.getOut()));
  problem.dtype = sum.isF64() ? DType::f64 : DType::f32;
  problem.m = int64_t(op.getM());
  problem.n = int64_t(op.getN());
  problem.k = int64_t(op.getK());
  problem.batch = op.getBatch().vec();
  problem.lhs = layout(op.getLhs(), op.getLhsStrides(), op.getLhsBatchStrides());
  problem.rhs = layout(op.getRhs(), op.getRhsStrides(), op.getRhsBatchStrides());
  problem.out = layout(op.getOut(), op.getOutStrides(), op.getOutBatchStrides());
  problem.beta = op.getBeta().convertToDouble();
  return problem;
}

/// What the blocks that an entry reaches ask of the driver.
struct Work {
  SymbolTable symbols;
  std::vector<runtime::GemmProblem> products;
  int64_t scratch = 0;
  llvm::DenseSet<Operation *> seen;

  explicit Work(ModuleOp module) : symbols(module) {}
  void add(Operation *symbol) {
    if (!symbol || !seen.insert(symbol).second)
      return;
    if (auto kernel = dyn_cast<func::FuncOp>(symbol)) {
      scratch = std::max(scratch, cpu::planKernel(kernel).scratch);
      return;
    }
    symbol->walk([&](exec::GemmOp gemm) { products.push_back(problemOf(gemm)); });
    symbol->walk([&](exec::LaunchOp launch) { add(symbols.lookup(launch.getKernel())); });
    symbol->walk([&](exec::CallOp call) { add(symbols.lookup(call.getCallee())); });
  }
};

} // namespace

uint64_t cpu::queueMemory(ModuleOp module, StringRef entry, int threads) {
  Work work(module);
  work.add(work.symbols.lookup(entry));
  return runtime::hostQueueMemory(work.products, uint64_t(work.scratch), threads);
}
