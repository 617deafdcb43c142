#include "minigptc/runtime/Array.h"

#include "runtime/base/Float16.h"
#include "runtime/base/Memory.h"

#include <cstring>
#include <limits>

namespace minigptc {

/// Bytes of a type; none if a dimension is negative or the product overflows.
static std::optional<uint64_t> checkedBytes(const TensorType &type) {
  uint64_t bytes = sizeOf(type.dtype);
  for (int64_t size : type.shape)
    if (size < 0 || __builtin_mul_overflow(bytes, uint64_t(size), &bytes))
      return std::nullopt;
  return bytes;
}

Array Array::uninitialized(TensorType type) {
  Array array;
  if (std::optional<uint64_t> bytes = checkedBytes(type))
    array.storage_ = runtime::allocateAligned(*bytes);
  array.type_ = std::move(type);
  return array;
}

Array::Array(TensorType type) : Array(uninitialized(std::move(type))) {
  if (valid())
    std::memset(data(), 0, type_.numBytes());
}

template <typename T> static double load(const std::byte *data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return double(value);
}

double Array::scalar() const {
  if (!valid() || type_.numElements() != 1)
    return std::numeric_limits<double>::quiet_NaN();
  switch (type_.dtype) {
  case DType::f64: return load<double>(data());
  case DType::f32: return load<float>(data());
  case DType::bf16: return runtime::bf16ToFloat(uint16_t(load<uint16_t>(data())));
  case DType::f16: return runtime::f16ToFloat(uint16_t(load<uint16_t>(data())));
  case DType::i64: return load<int64_t>(data());
  case DType::i32: return load<int32_t>(data());
  case DType::i8: return load<int8_t>(data());
  case DType::i1: return load<uint8_t>(data()) != 0;
  case DType::u64: return load<uint64_t>(data());
  case DType::u32: return load<uint32_t>(data());
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Array Array::clone() const {
  if (!valid())
    return *this;
  Array copy = uninitialized(type_);
  if (copy.valid() && type_.numBytes())
    std::memcpy(copy.data(), data(), type_.numBytes());
  return copy;
}

} // namespace minigptc
