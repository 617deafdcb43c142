//===- Ptxas.h - NVIDIA's assembler, where there is one ---------*- C++ -*-===//
//
//   if (!hasPtxas()) { WARN("…"); return; }
//   PtxasReport report = assemble(ptx, "sm_90a"); // report.error, report.spilled
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CUDA_PTXAS_H
#define MINIGPTC_TEST_COMPILER_TARGET_CUDA_PTXAS_H

#include <map>
#include <string>

struct PtxasKernel {
  int registers = 0;   ///< of a thread
  int localBytes = 0;  ///< of a thread's stack frame, and of spills
  int sharedBytes = 0; ///< static, of a block
};

struct PtxasReport {
  bool accepted = false;
  std::string text;    ///< all it said
  int registers = 0;   ///< of a thread
  int localBytes = 0;  ///< of a thread's stack frame, and of spills
  std::map<std::string, PtxasKernel> kernels; ///< by name
};

/// Whether `ptxas` is in the path or in the usual folder.
bool hasPtxas();

/// Assembles a module for the architecture. The sums over its kernels are the report's own
/// numbers. The machine code goes into a file, if one is named.
PtxasReport assemble(const std::string &ptx, const std::string &arch,
                     const std::string &output = "/dev/null");

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_PTXAS_H
