#include "minigptc/runtime/TensorType.h"

namespace minigptc {

int64_t sizeOf(DType dtype) {
  switch (dtype) {
  case DType::f64:
  case DType::i64:
  case DType::u64: return 8;
  case DType::f32:
  case DType::i32:
  case DType::u32: return 4;
  case DType::bf16:
  case DType::f16: return 2;
  case DType::i8:
  case DType::i1: return 1;
  }
  return 0;
}

std::string_view nameOf(DType dtype) {
  switch (dtype) {
  case DType::f64: return "f64";
  case DType::f32: return "f32";
  case DType::bf16: return "bf16";
  case DType::f16: return "f16";
  case DType::i64: return "i64";
  case DType::i32: return "i32";
  case DType::i8: return "i8";
  case DType::i1: return "i1";
  case DType::u64: return "u64";
  case DType::u32: return "u32";
  }
  return "?";
}

int64_t TensorType::numElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string TensorType::toString() const {
  std::string text(nameOf(dtype));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + ']';
}

} // namespace minigptc
