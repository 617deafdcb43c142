//===- Arrays.cpp - tensors of the interpreter and of the runtime ---------===//
#include "test/support/Arrays.h"
#include "mlir/IR/Builders.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <stdexcept>

using namespace minigptc;
using minigptc::interpreter::Tensor;

static mlir::Type elementType(DType dtype, mlir::MLIRContext &context) {
  mlir::Builder builder(&context);
  switch (dtype) {
  case DType::f64: return builder.getF64Type();
  case DType::f32: return builder.getF32Type();
  case DType::bf16: return builder.getBF16Type();
  case DType::f16: return builder.getF16Type();
  case DType::i64: return builder.getI64Type();
  case DType::i32: return builder.getI32Type();
  case DType::i8: return builder.getI8Type();
  case DType::i1: return builder.getI1Type();
  case DType::u64: return builder.getIntegerType(64, /*isSigned=*/false);
  case DType::u32: return builder.getIntegerType(32, /*isSigned=*/false);
  }
  throw std::runtime_error("no element type");
}

Array test::toArray(const Tensor &tensor) {
  mlir::Type element = tensor.getType().getElementType();
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32,
                      DType::i8, DType::i1, DType::u64, DType::u32}) {
    if (elementType(dtype, *element.getContext()) != element)
      continue;
    Array array(TensorType{dtype, Shape(tensor.getShape().begin(), tensor.getShape().end())});
    std::copy_n(tensor.data(), tensor.getNumBytes(), array.data());
    return array;
  }
  throw std::runtime_error("an element type that the runtime does not have");
}

Tensor test::toTensor(const Array &array, mlir::MLIRContext &context) {
  Tensor tensor(mlir::RankedTensorType::get(array.shape(), elementType(array.dtype(), context)));
  std::copy_n(array.data(), tensor.getNumBytes(), tensor.mutableData());
  return tensor;
}

test::Tensors test::readSafetensors(mlir::MLIRContext &context, const std::string &path) {
  auto file = runtime::SafetensorsFile::open(path);
  if (!file)
    throw std::runtime_error(file.status().toString());
  Tensors tensors;
  for (const runtime::StoredTensor &stored : file->tensors()) {
    runtime::StatusOr<Array> array = file->load(stored);
    if (!array)
      throw std::runtime_error(array.status().toString());
    tensors[stored.name] = toTensor(*array, context);
  }
  return tensors;
}
