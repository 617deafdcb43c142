//===- minigptc-opt.cpp - parse, transform, print, run IR -----------------===//
//
// The tool of the lit tests: runs passes and pipelines on textual IR. With
// `--run`, the functions of the resulting module are called in the interpreter
// and their results printed instead of the module (see RunFunctions.h); with
// `--emit-ptx`, the CUDA code of its kernels is printed (see PrintPtx.h).
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/RunFunctions.h"
#include "compiler/pipelines/Nesting.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/target/cuda/PrintPtx.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

static llvm::cl::opt<bool> runFunctions(
    "run",
    llvm::cl::desc("After all passes, call @main or all functions @test_… in the interpreter and "
                   "print their results instead of the module"));

static llvm::cl::opt<bool>
    emitPtx("emit-ptx", llvm::cl::desc("After all passes, print the CUDA code of the functions "
                                       "marked exec.kernel instead of the module"));

/// The tool proper, once the command line is known.
static llvm::LogicalResult runTool(const std::string &input, const std::string &output,
                                   mlir::DialectRegistry &registry) {
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  std::string error;
  auto buffer = mlir::openInputFile(input, &error);
  auto out = buffer ? mlir::openOutputFile(output, &error) : nullptr;
  if (!out) {
    llvm::errs() << error << "\n";
    return llvm::failure();
  }
  if (size_t line = minigptc::lineOfDeepNesting(buffer->getBuffer())) {
    llvm::errs() << input << ":" << line << ": error: brackets are nested more than "
                 << minigptc::kMaxNesting << " deep\n";
    return llvm::failure();
  }
  if (runFunctions || emitPtx) {
    auto passesOfCommandLine = config;
    config.setPassPipelineSetupFn([passesOfCommandLine, &out](mlir::PassManager &passManager) {
      if (failed(passesOfCommandLine.setupPassPipeline(passManager)))
        return llvm::failure();
      passManager.addPass(emitPtx
                              ? minigptc::cuda::createPrintPtxPass(out->os())
                              : minigptc::interpreter::createRunFunctionsPass(out->os()));
      return llvm::success();
    });
  }
  llvm::raw_null_ostream nowhere;
  llvm::raw_ostream &modules = out->os();
  llvm::raw_ostream &moduleOutput = runFunctions || emitPtx ? nowhere : modules;
  if (failed(mlir::MlirOptMain(moduleOutput, std::move(buffer), registry, config)))
    return llvm::failure();
  out->keep();
  return llvm::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  mlir::DialectRegistry registry;
  minigptc::registerAllDialects(registry);
  minigptc::registerAllPasses();
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "minigptc optimizer driver\n", registry);
  return mlir::asMainReturnCode(runTool(input, output, registry));
}
