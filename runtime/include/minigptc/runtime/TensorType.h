//===- TensorType.h - element types and shapes ------------------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_TENSORTYPE_H
#define MINIGPTC_RUNTIME_TENSORTYPE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc {

/// The element types of the system. Order is that of the artifact.
enum class DType : uint8_t { f64, f32, bf16, f16, i64, i32, i8, i1, u64, u32 };
inline constexpr DType f64 = DType::f64, f32 = DType::f32, bf16 = DType::bf16, f16 = DType::f16,
                       i64 = DType::i64, i32 = DType::i32, i8 = DType::i8, i1 = DType::i1,
                       u64 = DType::u64, u32 = DType::u32;

/// Bytes of one element (i1 takes one byte).
int64_t sizeOf(DType dtype);
std::string_view nameOf(DType dtype);

using Shape = std::vector<int64_t>;

/// Element type and static shape, row-major.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  int64_t numElements() const;
  int64_t numBytes() const { return numElements() * sizeOf(dtype); }
  /// "f32[16,128]"; a scalar is "f32[]".
  std::string toString() const;
  friend bool operator==(const TensorType &, const TensorType &) = default;
};

} // namespace minigptc

#endif // MINIGPTC_RUNTIME_TENSORTYPE_H
