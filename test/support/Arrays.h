//===- Arrays.h - tensors of the interpreter and of the runtime -*- C++ -*-===//
#ifndef MINIGPTC_TEST_SUPPORT_ARRAYS_H
#define MINIGPTC_TEST_SUPPORT_ARRAYS_H

#include "compiler/interpreter/Tensor.h"
#include "minigptc/runtime/Array.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <string>

namespace minigptc::test {

/// Tensors by name.
using Tensors = std::map<std::string, interpreter::Tensor>;

/// The same type and bytes on the other side; a type that is not there is a
/// std::runtime_error.
Array toArray(const interpreter::Tensor &tensor);
interpreter::Tensor toTensor(const Array &array, mlir::MLIRContext &context);

/// All tensors of a .safetensors file, by the reader that weights are read with; throws
/// std::runtime_error.
Tensors readSafetensors(mlir::MLIRContext &context, const std::string &path);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_ARRAYS_H
