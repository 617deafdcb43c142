//===- WholeKernels.cpp ---------------------------------------------------===//
#include "compiler/target/cpu/WholeKernels.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

void minigptc::cpu::registerWholeKernelModels(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect, vector::VectorDialect>();
  registry.addExtension(
      +[](MLIRContext *context, graph::GraphDialect *) { attachAttentionKernels(context); });
}
