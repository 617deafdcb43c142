//===- Linker.h - one shared object from many kernels -----------*- C++ -*-===//
//
//   std::string error;
//   FailureOr<std::vector<std::byte>> code = linkSharedObject(objects, error);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_LINKER_H
#define MINIGPTC_COMPILER_TARGET_CPU_LINKER_H

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace minigptc::cpu {

/// Links relocatable objects into an ELF shared object, in process, with lld.
/// Functions of libm and libc stay undefined: whoever loads the code has them.
/// The bytes depend on the objects and their order only. Any thread may call it
/// (calls run one after the other). On failure `error` says why.
llvm::FailureOr<std::vector<std::byte>> linkSharedObject(llvm::ArrayRef<std::string> objects,
                                                         std::string &error);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_LINKER_H
