//===- Value.h - traced tensors and operands --------------------*- C++ -*-===//
//
// A `Value` stands for a tensor of a program that is being traced. It is a small
// handle, free to copy, valid while the function it belongs to is traced; a use
// in a function traced inside that one makes it an argument of the latter.
//
//   Value y = 2 * x + 1;        // numbers take the tensor's element type
//   Value z = y[Slice(0, 4)];   // slices, see Index
//   Value m = y > 0;            // i1 tensors: for `select`, never for `if`
//
// Shapes combine as in NumPy; element types never mix by themselves.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_VALUE_H
#define MINIGPTC_TRACE_VALUE_H

#include "minigptc/runtime/TensorType.h"
#include "minigptc/runtime/Tree.h"
#include "minigptc/trace/TraceError.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <vector>

namespace minigptc {

class Array;
class Index;
class Key;
class Operand;
class Value;

template <> struct TreeTraits<Value> {
  [[noreturn]] static void fail(const std::string &message, const std::source_location &where) {
    throw TraceError(message, where);
  }
};

class Value {
public:
  /// No tensor; any use is an error.
  Value() = default;

  bool valid() const { return type_ != nullptr; }
  const TensorType &type() const;
  const Shape &shape() const { return type().shape; }
  /// Size of a dimension; negative counts from the end.
  int64_t dim(int64_t dimension) const;
  int64_t rank() const { return int64_t(shape().size()); }
  DType dtype() const { return type().dtype; }

  /// Picks along the first dimensions; see Index.
  Value operator[](const Index &index) const;
  Value operator[](std::initializer_list<Index> indices) const;

  /// A traced tensor has no value yet, so that `if (x > 0)` cannot choose:
  /// compute both sides and `select`, or use `cond`.
#if defined(__cpp_deleted_function) && __cpp_deleted_function >= 202403L
  explicit operator bool() const =
      delete ("a traced tensor is no bool: choose with select(condition, a, b), or cond");
#elif defined(__clang__) || __GNUC__ >= 12
  // clang-format off
  __attribute__((unavailable(
      "a traced tensor is no bool: choose with select(condition, a, b), or cond")))
  explicit operator bool() const;
  // clang-format on
#else
  explicit operator bool() const = delete;
#endif

  /// For the tracer: the function that the value belongs to and its IR value.
  uint64_t scopeId() const { return scope_; }
  void *opaque() const { return opaque_; }
  Value(uint64_t scope, void *opaque, std::shared_ptr<const TensorType> type)
      : scope_(scope), opaque_(opaque), type_(std::move(type)) {}

private:
  uint64_t scope_ = 0;
  void *opaque_ = nullptr;
  std::shared_ptr<const TensorType> type_;
};

using Tree = TreeOf<Value>;

/// What op functions take: a tensor, a tree that is one leaf, or a number. Its
/// constructor remembers the place of the call.
class Operand {
public:
  Operand(const Value &value, std::source_location where = std::source_location::current())
      : value_(value), where_(where) {}
  Operand(const Tree &tree, std::source_location where = std::source_location::current())
      : value_(tree.leaf(where)), where_(where) {}
  Operand(const Key &key, std::source_location where = std::source_location::current());
  template <typename Number>
    requires std::is_arithmetic_v<Number>
  Operand(Number number, std::source_location where = std::source_location::current())
      : float_(double(number)), int_(std::is_floating_point_v<Number> ? 0 : int64_t(number)),
        isInt_(!std::is_floating_point_v<Number>), where_(where) {}
  /// A concrete tensor is data: always an error, which says what to do.
  Operand(const Array &array, std::source_location where = std::source_location::current());

  bool isNumber() const { return !value_.has_value(); }
  const Value &value() const { return *value_; }
  double asDouble() const { return float_; }
  int64_t asInt() const { return int_; }
  /// An integer in C++: 2, not 2.0.
  bool isIntegral() const { return isInt_; }
  const std::source_location &where() const { return where_; }

private:
  std::optional<Value> value_;
  double float_ = 0;
  int64_t int_ = 0;
  bool isInt_ = false;
  std::source_location where_;
};

/// Elements start, start+step, … below stop of one dimension. Negative bounds
/// count from the end, as in NumPy; bounds beyond the end are cut off.
struct Slice {
  Slice() = default;
  Slice(int64_t start, int64_t stop, int64_t step = 1) : start(start), stop(stop), step(step) {}
  static Slice from(int64_t start) { return {start, std::numeric_limits<int64_t>::max()}; }
  int64_t start = 0, stop = std::numeric_limits<int64_t>::max(), step = 1;
};

/// One dimension's choice: a number (the dimension disappears) or a Slice.
class Index {
public:
  template <typename Integer>
    requires std::is_integral_v<Integer>
  Index(Integer position, std::source_location where = std::source_location::current())
      : position_(int64_t(position)), where_(where) {}
  Index(Slice slice, std::source_location where = std::source_location::current())
      : slice_(slice), where_(where) {}

  bool isSlice() const { return slice_.has_value(); }
  const Slice &slice() const { return *slice_; }
  int64_t position() const { return position_; }
  const std::source_location &where() const { return where_; }

private:
  std::optional<Slice> slice_;
  int64_t position_ = 0;
  std::source_location where_;
};

Value operator+(const Operand &a, const Operand &b);
Value operator-(const Operand &a, const Operand &b);
Value operator*(const Operand &a, const Operand &b);
Value operator/(const Operand &a, const Operand &b);
Value operator%(const Operand &a, const Operand &b);
Value operator-(const Operand &x);
Value &operator+=(Value &a, const Operand &b);
Value &operator-=(Value &a, const Operand &b);
Value &operator*=(Value &a, const Operand &b);
Value &operator/=(Value &a, const Operand &b);
/// On i1 and integers.
Value operator&(const Operand &a, const Operand &b);
Value operator|(const Operand &a, const Operand &b);
Value operator^(const Operand &a, const Operand &b);
Value operator~(const Operand &x);
/// Elementwise; i1.
Value operator<(const Operand &a, const Operand &b);
Value operator<=(const Operand &a, const Operand &b);
Value operator>(const Operand &a, const Operand &b);
Value operator>=(const Operand &a, const Operand &b);
Value operator==(const Operand &a, const Operand &b);
Value operator!=(const Operand &a, const Operand &b);

} // namespace minigptc

#endif // MINIGPTC_TRACE_VALUE_H
