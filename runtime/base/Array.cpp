#include "minigptc/runtime/Array.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Scalar.h"

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

double Array::scalar() const {
  if (!valid() || type_.numElements() != 1)
    return std::numeric_limits<double>::quiet_NaN();
  return runtime::loadScalar(type_.dtype, data());
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
