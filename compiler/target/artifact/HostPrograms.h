//===- HostPrograms.h - graph.host functions for the runtime ----*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_TARGET_ARTIFACT_HOSTPROGRAMS_H
#define MINIGPTC_COMPILER_TARGET_ARTIFACT_HOSTPROGRAMS_H

#include "dialects/graph/IR/Graph.h"
#include "runtime/exec/Artifact_generated.h"

namespace minigptc::target {

/// Attaches `HostOp` to the ops that host functions may hold.
void registerHostModels(mlir::DialectRegistry &registry);

/// A function's instructions; see HostProgram in Artifact.fbs. Type lists are
/// filled in by the user: they are those of the buffers.
struct HostProgram {
  std::vector<fb::ScalarInstruction> instructions;
  std::vector<uint32_t> results;
};

/// A diagnostic and failure for an op that the host cannot evaluate.
llvm::FailureOr<HostProgram> buildHostProgram(mlir::func::FuncOp function);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_ARTIFACT_HOSTPROGRAMS_H
