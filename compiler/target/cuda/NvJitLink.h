//===- NvJitLink.h - from PTX to machine code of a GPU ----------*- C++ -*-===//
//
// nvJitLink of the CUDA toolkit, found when it is first asked for: nothing links it, so that
// the compiler builds and runs without a toolkit. MINIGPTC_NVJITLINK in the environment names
// the library's file; else the loader looks for it, then CUDA_HOME, then /usr/local/cuda.
//
//   std::string error;
//   FailureOr<std::string> cubin = linkPtx({ptx1, ptx2}, *Arch::named("sm_90a"), error);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_NVJITLINK_H
#define MINIGPTC_COMPILER_TARGET_CUDA_NVJITLINK_H

#include "compiler/target/cuda/Arch.h"
#include "mlir/Support/LLVM.h"

namespace minigptc::cuda {

/// One cubin of these PTX modules. On failure `error` says what is missing and what to do, or
/// what the library said. `log`, if given, gets what it told besides (registers, spills).
llvm::FailureOr<std::string> linkPtx(llvm::ArrayRef<std::string> modules, const Arch &arch,
                                     std::string &error, std::string *log = nullptr);

/// Whether the library was found; else `error` says where it was looked for.
bool hasNvJitLink(std::string &error);

/// "13.0"; empty if there is none, or it does not say.
std::string nvJitLinkVersion();

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_NVJITLINK_H
