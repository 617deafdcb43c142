//===- VectorIsa.h - the vector registers that code is written for -*- C++ -*-===//
//
// The same for a kernel's plan and its code, and for every machine.
//
//   int64_t lanes = getLanes(builder.getF32Type()); // 8
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_VECTORISA_H
#define MINIGPTC_COMPILER_TARGET_CPU_VECTORISA_H

#include "mlir/IR/Types.h"

namespace minigptc::cpu {

struct VectorIsa {
  int64_t bytes = 32, registers = 16;
};

inline VectorIsa getVectorIsa() { return {}; }

/// Elements of a float type in a register.
inline int64_t getLanes(mlir::Type element) {
  return getVectorIsa().bytes * 8 / element.getIntOrFloatBitWidth();
}

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_VECTORISA_H
