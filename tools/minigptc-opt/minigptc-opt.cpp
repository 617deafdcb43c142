//===- minigptc-opt.cpp - parse, transform, print IR ----------------------===//
//
// The tool of the lit tests: runs passes and pipelines on textual IR.
//
//===----------------------------------------------------------------------===//
#include "compiler/pipelines/Pipelines.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  minigptc::registerAllDialects(registry);
  minigptc::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "minigptc optimizer driver\n", registry));
}
