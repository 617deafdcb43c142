//===- Lowering.cpp -------------------------------------------------------===//
#include "compiler/target/cuda/Lowering.h"
#include "compiler/conversion/GraphToLoops/KernelModels.h"
#include "compiler/target/common/MathExpansion.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
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
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace minigptc;

void minigptc::cuda::registerKernelDialects(DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, func::FuncDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                  NVVM::NVVMDialect, gpu::GPUDialect, memref::MemRefDialect, vector::VectorDialect>();
  graph::registerKernelModels(registry); // arith, math, scf
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

/// What would be a call of libdevice.
static LogicalResult refuseFunctions(ModuleOp module) {
  SmallVector<Operation *> functions = target::findFunctions(module);
  module.walk([&](arith::RemFOp op) { functions.push_back(op); });
  if (functions.empty())
    return success();
  Operation *op = functions.front();
  Type type = op->getResult(0).getType();
  StringRef name = isa<arith::RemFOp>(op) ? "remainder" : target::getLibmName(op);
  return op->emitError() << "no CUDA code for " << name << " in " << type
                         << (type.isF64() ? ": compute it in f32" : "");
}

/// Functions of `math` become LLVM's intrinsics, which NVPTX has instructions for: upstream's
/// patterns for GPUs would call libdevice.
static LogicalResult convertMath(gpu::GPUModuleOp module, const LLVMTypeConverter &converter) {
  ConversionTarget target(*module.getContext());
  target.addIllegalDialect<math::MathDialect>();
  target.addLegalDialect<LLVM::LLVMDialect>();
  RewritePatternSet patterns(module.getContext());
  populateMathToLLVMConversionPatterns(converter, patterns);
  return applyPartialConversion(module, target, std::move(patterns));
}

static LogicalResult convertModule(gpu::GPUModuleOp module, unsigned indexBits) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(indexBits);
  LLVMTypeConverter converter(context, options);
  configureGpuToNVVMTypeConverter(converter);
  if (failed(convertMath(module, converter)))
    return failure();
  LLVMConversionTarget target(*context);
  target.addLegalDialect<NVVM::NVVMDialect>();
  target.addLegalOp<gpu::GPUModuleOp>();
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  return applyFullConversion(module, target, std::move(patterns));
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
  if (failed(refuseFunctions(module)))
    return failure();
  unsigned indexBits = options.wide || hasWideIndex(module) ? 64 : 32;
  PassManager passes(module.getContext());
  passes.nest<gpu::GPUModuleOp>().addPass(createSCFToControlFlowPass());
  if (failed(passes.run(module)))
    return failure();
  auto gpuModule = *module.getOps<gpu::GPUModuleOp>().begin();
  if (failed(convertModule(gpuModule, indexBits)))
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
