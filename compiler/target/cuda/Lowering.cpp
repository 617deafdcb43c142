//===- Lowering.cpp -------------------------------------------------------===//
#include "compiler/target/cuda/Lowering.h"
#include "compiler/conversion/GraphToLoops/KernelModels.h"
#include "compiler/target/common/MathExpansion.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;
using namespace minigptc;

void minigptc::cuda::registerKernelDialects(DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, func::FuncDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                  NVVM::NVVMDialect, gpu::GPUDialect, memref::MemRefDialect, vector::VectorDialect>();
  graph::registerKernelModels(registry); // arith, math, scf
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
}

/// True if an element of a tensor becomes an index that 32 bits may not hold.
static bool hasWideIndex(ModuleOp module) {
  auto isWide = [](Operation *op) {
    Type from = op->getNumOperands() ? op->getOperand(0).getType() : Type();
    if (isa<arith::IndexCastUIOp>(op))
      return from.isInteger(32) || from.isInteger(64);
    return isa<arith::IndexCastOp>(op) && from.isInteger(64);
  };
  return module
      .walk([&](Operation *op) {
        return isWide(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The contents of the gpu.module instead of it.
static void unwrap(ModuleOp module) {
  auto gpuModule = *module.getOps<gpu::GPUModuleOp>().begin();
  module.getBody()->getOperations().splice(module.getBody()->end(),
                                           gpuModule.getBody()->getOperations());
  gpuModule.erase();
}

LogicalResult minigptc::cuda::lowerToNvvm(ModuleOp module, LoweringOptions options) {
  if (failed(target::expandMath(module)))
    return failure();
  for (Operation *op : target::findFunctions(module))
    return op->emitError() << "no CUDA code for " << target::getLibmName(op) << " in "
                           << op->getResult(0).getType() << ": compute it in f32";
  PassManager passes(module.getContext());
  ConvertGpuOpsToNVVMOpsOptions conversion;
  conversion.indexBitwidth = options.wide || hasWideIndex(module) ? 64 : 32;
  OpPassManager &nested = passes.nest<gpu::GPUModuleOp>();
  nested.addPass(createSCFToControlFlowPass());
  nested.addPass(createConvertMathToLLVMPass());
  nested.addPass(createConvertGpuOpsToNVVMOps(conversion));
  nested.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(module)))
    return failure();
  unwrap(module);
  if (!options.lines)
    return success();
  PassManager lines(module.getContext());
  LLVM::DIScopeForLLVMFuncOpPassOptions scope;
  scope.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  lines.addPass(LLVM::createDIScopeForLLVMFuncOpPass(scope));
  return lines.run(module);
}
