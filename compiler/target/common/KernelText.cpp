//===- KernelText.cpp -----------------------------------------------------===//
#include "compiler/target/common/KernelText.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc;

llvm::SetVector<func::FuncOp> minigptc::target::findKernels(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::SetVector<func::FuncOp> kernels;
  auto add = [&](StringAttr name) {
    auto kernel = symbols.lookup<func::FuncOp>(name);
    if (kernel && kernel->hasAttr(graph::attr::kKernel))
      kernels.insert(kernel);
  };
  module.walk([&](Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op))
      add(call.getCalleeAttr().getAttr());
    else if (auto launch = dyn_cast<exec::LaunchOp>(op))
      add(launch.getKernelAttr().getAttr());
  });
  return kernels;
}

std::string minigptc::target::printKernel(func::FuncOp kernel, bool locations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream,
                OpPrintingFlags().enableDebugInfo(locations).useLocalScope().assumeVerified());
  return text;
}
