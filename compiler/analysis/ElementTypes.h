//===- ElementTypes.h - element types of IR and runtime ---------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_ANALYSIS_ELEMENTTYPES_H
#define MINIGPTC_COMPILER_ANALYSIS_ELEMENTTYPES_H

#include "minigptc/runtime/TensorType.h"
#include "mlir/IR/BuiltinTypes.h"

namespace minigptc {

/// The runtime's name of a graph element type.
inline DType dtypeOf(mlir::Type element) {
  if (element.isF64())
    return DType::f64;
  if (element.isF32())
    return DType::f32;
  if (element.isBF16())
    return DType::bf16;
  if (element.isF16())
    return DType::f16;
  auto integer = mlir::cast<mlir::IntegerType>(element);
  switch (integer.getWidth()) {
  case 64: return integer.isUnsigned() ? DType::u64 : DType::i64;
  case 32: return integer.isUnsigned() ? DType::u32 : DType::i32;
  case 8: return DType::i8;
  default: return DType::i1;
  }
}

} // namespace minigptc

#endif // MINIGPTC_COMPILER_ANALYSIS_ELEMENTTYPES_H
