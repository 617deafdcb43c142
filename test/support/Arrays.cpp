//===- Arrays.cpp - tensors of the interpreter and of the runtime ---------===//
#include "test/support/Arrays.h"
#include "compiler/trace/TraceContext.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <stdexcept>

using namespace minigptc;
using minigptc::interpreter::Tensor;

Array test::toArray(const Tensor &tensor) {
  mlir::Type element = tensor.getType().getElementType();
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32,
                      DType::i8, DType::i1, DType::u64, DType::u32}) {
    if (detail::elementType(dtype, element.getContext()) != element)
      continue;
    Array array(TensorType{dtype, Shape(tensor.getShape().begin(), tensor.getShape().end())});
    std::copy_n(tensor.data(), tensor.getNumBytes(), array.data());
    return array;
  }
  throw std::runtime_error("an element type that the runtime does not have");
}

Tensor test::toTensor(const Array &array, mlir::MLIRContext &context) {
  Tensor tensor(
      mlir::RankedTensorType::get(array.shape(), detail::elementType(array.dtype(), &context)));
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
