//===- KernelLowering.cpp -------------------------------------------------===//
#include "compiler/target/cpu/KernelLowering.h"
#include "compiler/conversion/GraphToLoops/KernelModels.h"
#include "compiler/target/cpu/WholeKernels.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

void minigptc::cpu::registerKernelDialects(DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, func::FuncDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                  vector::VectorDialect>();
  graph::registerKernelModels(registry); // arith, math, scf
  registerWholeKernelModels(registry);   // vector
}

static LogicalResult lowerLoops(ModuleOp module) {
  ConversionTarget target(*module.getContext());
  target.addIllegalOp<scf::ForOp, scf::IfOp, scf::YieldOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  return applyPartialConversion(module, target, std::move(patterns));
}

LogicalResult minigptc::cpu::lowerToLLVM(ModuleOp module) {
  expandExtrema(module);
  if (failed(lowerLoops(module)))
    return failure();
  MLIRContext *context = module.getContext();
  LLVMTypeConverter converter(context);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  return applyFullConversion(module, target, std::move(patterns));
}
