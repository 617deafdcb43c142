//===- Ptxas.h - NVIDIA's assembler, where there is one ---------*- C++ -*-===//
//
//   if (!hasPtxas()) { WARN("…"); return; }
//   PtxasReport report = assemble(ptx, "sm_90a"); // report.error, report.spilled
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CUDA_PTXAS_H
#define MINIGPTC_TEST_COMPILER_TARGET_CUDA_PTXAS_H

#include <string>

struct PtxasReport {
  bool accepted = false;
  std::string text;    ///< all it said
  int registers = 0;   ///< of a thread
  int localBytes = 0;  ///< of a thread's stack frame, and of spills
};

/// Whether `ptxas` is in the path or in the usual folder.
bool hasPtxas();

/// Assembles a module of one kernel for the architecture.
PtxasReport assemble(const std::string &ptx, const std::string &arch);

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_PTXAS_H
