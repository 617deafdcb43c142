#include "compiler/target/cpu/QueueMemory.h"
#include "compiler/target/artifact/ProductProblem.h"
#include "compiler/target/common/EntryWalk.h"
#include "compiler/target/cpu/KernelPlan.h"
#include "runtime/drivers/host/HostDriver.h"

#include <vector>

using namespace mlir;
using namespace minigptc;

uint64_t cpu::queueMemory(ModuleOp module, StringRef entry, int threads) {
  std::vector<runtime::GemmProblem> products;
  int64_t scratch = 0;
  target::walkEntry(module, entry, [&](Operation *op) {
    if (auto gemm = dyn_cast<exec::GemmOp>(op))
      products.push_back(target::problemOf(gemm));
    else if (auto kernel = dyn_cast<func::FuncOp>(op))
      scratch = std::max(scratch, planKernel(kernel).scratch);
  });
  return runtime::hostQueueMemory(products, uint64_t(scratch), threads);
}
