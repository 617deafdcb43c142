//===- Safetensors.h - recorded tensors as test data ------------*- C++ -*-===//
#ifndef MINIGPTC_TEST_SUPPORT_SAFETENSORS_H
#define MINIGPTC_TEST_SUPPORT_SAFETENSORS_H

#include "compiler/interpreter/Tensor.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <string>

namespace minigptc::test {

using TensorMap = std::map<std::string, interpreter::Tensor>;

/// Reads all tensors of a .safetensors file; throws std::runtime_error.
TensorMap readSafetensors(mlir::MLIRContext &context, const std::string &path);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_SAFETENSORS_H
