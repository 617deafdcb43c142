//===- Registration.cpp - dialects, external models and passes ------------===//
#include "compiler/conversion/GraphToExec/Instructions.h"
#include "compiler/conversion/GraphToExec/Passes.h"
#include "compiler/conversion/GraphToLoops/KernelModels.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/pipelines/Passes.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/target/artifact/HostPrograms.h"
#include "compiler/target/cpu/WholeKernels.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Transforms/PartitionModels.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/exec/Transforms/Passes.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

void minigptc::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, dist::DistDialect, exec::ExecDialect,
                  mlir::func::FuncDialect, mlir::memref::MemRefDialect>();
  interpreter::registerEvaluableModels(registry);
  dist::registerPartitionModels(registry);
  graph::registerKernelModels(registry);
  target::registerHostModels(registry);
  cpu::registerWholeKernelModels(registry);
  registerInstructionModels(registry);
  registerCollectiveInstructionModels(registry);
}

void minigptc::registerAllPasses() {
  mlir::registerTransformsPasses();
  graph::registerGraphPasses();
  dist::registerDistPasses();
  registerGraphToExecPasses();
  exec::registerExecPasses();
  registerPipelinesPasses();
  registerPipelines();
}
