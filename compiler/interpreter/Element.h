//===- Element.h - element types of the interpreter -------------*- C++ -*-===//
//
// C++ types for the bytes of a `Tensor`, and the bridge from an MLIR element type
// to them:
//
//   dispatch(tensor.getType().getElementType(), [&]<typename T>() {
//     for (T x : elements<T>(tensor))
//       use(widen(x));
//   });
//
// Floats widen exactly to double, are computed on as doubles, and are rounded
// once, to nearest even, when they are stored. For + - * / and sqrt on f32, bf16
// and f16 that equals arithmetic in the type itself.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_ELEMENT_H
#define MINIGPTC_COMPILER_INTERPRETER_ELEMENT_H

#include "compiler/interpreter/Tensor.h"

#include <bit>
#include <type_traits>

namespace minigptc::interpreter {

/// Rounds to the float format of 1 sign bit, `exponentBits` and `mantissaBits`
/// (16 in all), to nearest even, and gives its bits. Exact in its argument's
/// precision: a double or a 64-bit integer is not rounded twice.
uint16_t encodeHalf(long double value, int exponentBits, int mantissaBits);
/// The value of such bits.
double decodeHalf(uint16_t bits, int exponentBits, int mantissaBits);

struct BFloat16 {
  uint16_t bits;
  static BFloat16 from(long double value) { return {encodeHalf(value, 8, 7)}; }
  double toDouble() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

struct Float16 {
  uint16_t bits;
  static Float16 from(long double value) { return {encodeHalf(value, 5, 10)}; }
  double toDouble() const { return decodeHalf(bits, 5, 10); }
};

template <typename T>
inline constexpr bool isHalf = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;
template <typename T> inline constexpr bool isFloat = std::is_floating_point_v<T> || isHalf<T>;

/// What a storage type is computed in: double for floats, itself for integers.
template <typename T> using Wide = std::conditional_t<isFloat<T>, double, T>;
/// What sums and products of many elements are kept in: f64 for f64 and f32, f32
/// for bf16 and f16, the type itself (wrapping around) for integers.
template <typename T>
using Accumulator = std::conditional_t<isHalf<T>, float, std::conditional_t<isFloat<T>, double, T>>;

template <typename T> Wide<T> widen(T value) {
  if constexpr (isHalf<T>)
    return value.toDouble();
  else
    return value;
}

template <typename T, typename V> T narrow(V value) {
  if constexpr (isHalf<T>)
    return T::from(value);
  else
    return static_cast<T>(value);
}

template <typename T> llvm::ArrayRef<T> elements(const Tensor &tensor) {
  return llvm::ArrayRef<T>(reinterpret_cast<const T *>(tensor.data()),
                           size_t(tensor.getNumElements()));
}
template <typename T> llvm::MutableArrayRef<T> mutableElements(Tensor &tensor) {
  return llvm::MutableArrayRef<T>(reinterpret_cast<T *>(tensor.mutableData()),
                                  size_t(tensor.getNumElements()));
}

/// Calls `fn.operator()<T>()` with the storage type of a float type.
template <typename Fn> auto dispatchFloat(mlir::Type elementType, Fn &&fn) {
  if (elementType.isF32())
    return fn.template operator()<float>();
  if (elementType.isF64())
    return fn.template operator()<double>();
  if (elementType.isBF16())
    return fn.template operator()<BFloat16>();
  assert(elementType.isF16() && "not a float type of the graph dialect");
  return fn.template operator()<Float16>();
}

/// As `dispatchFloat`, for every graph element type.
template <typename Fn> auto dispatch(mlir::Type elementType, Fn &&fn) {
  if (mlir::isa<mlir::FloatType>(elementType))
    return dispatchFloat(elementType, fn);
  if (elementType.isInteger(1))
    return fn.template operator()<bool>();
  if (elementType.isInteger(8))
    return fn.template operator()<int8_t>();
  bool isUnsigned = elementType.isUnsignedInteger();
  if (elementType.isInteger(32))
    return isUnsigned ? fn.template operator()<uint32_t>() : fn.template operator()<int32_t>();
  assert(elementType.isInteger(64) && "not an element type of the graph dialect");
  return isUnsigned ? fn.template operator()<uint64_t>() : fn.template operator()<int64_t>();
}

/// All elements as doubles, exactly, and back, each rounded once: composite ops
/// are computed in double throughout.
std::vector<double> toDoubles(const Tensor &tensor);
Tensor fromDoubles(mlir::RankedTensorType type, llvm::ArrayRef<double> values);

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_ELEMENT_H
