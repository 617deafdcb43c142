//===- Key.h - explicit random keys -----------------------------*- C++ -*-===//
//
// Every draw takes a key; equal keys draw equal numbers. Make new keys from a key,
// never use one twice. A Key made from a seed is concrete: the way into `jit`.
//
//   auto [a, b] = key.split<2>();
//   Value noise = normal(a, {4, 8});
//   Key dropout = key.stream("dropout").foldIn(step);
//   Key third = dropout.part(2, 8); // draws of [b, …]: rows 2·b … 3·b of dropout's of [8·b, …]
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_KEY_H
#define MINIGPTC_TRACE_KEY_H

#include "minigptc/trace/Value.h"

#include <array>
#include <string_view>
#include <utility>

namespace minigptc {

class Key {
public:
  /// The key (low, high) of a seed.
  explicit Key(uint64_t seed) : seed_(seed) {}
  /// A traced u32[2].
  explicit Key(Value value, std::source_location where = std::source_location::current());

  /// A key for one of many uses: number or integer scalar.
  Key foldIn(const Operand &data) const;
  /// `count` independent keys.
  std::vector<Key> split(int64_t count,
                         std::source_location where = std::source_location::current()) const;
  template <size_t N>
  std::array<Key, N> split(std::source_location where = std::source_location::current()) const {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::array<Key, N>{foldIn(Operand(I, where))...};
    }(std::make_index_sequence<N>());
  }
  /// The key of a named stream ("params", "dropout"): the name's 64-bit FNV-1a
  /// hash, folded in.
  Key stream(std::string_view name,
             std::source_location where = std::source_location::current()) const;

  /// The same draws in parts: a draw of [b, …] gets rows number·b to (number + 1)·b of the draw of
  /// [count·b, …] that this key makes. So micro-batches draw what their whole batch would. Keys
  /// made of it draw in parts, too. `number` is a number or an integer scalar in [0, count).
  Key part(const Operand &number, int64_t count) const;
  /// A key that draws in the same parts as this one, if it does.
  Key with(Value value, std::source_location where = std::source_location::current()) const;
  /// The number (an i64 scalar) and how many parts there are; 1 and no value: it draws the whole.
  const Value &partNumber() const { return part_; }
  int64_t parts() const { return parts_; }

  /// u32[2]; a concrete key becomes a constant of the function being traced.
  Value value(std::source_location where = std::source_location::current()) const;
  bool isConcrete() const { return !value_.valid(); }
  uint64_t seed() const { return seed_; }

private:
  uint64_t seed_ = 0;
  Value value_;
  Value part_;
  int64_t parts_ = 1;
};

/// Uniform in [low, high).
Value uniform(const Key &key, const Shape &shape, double low = 0, double high = 1,
              DType dtype = f32, std::source_location where = std::source_location::current());
/// Standard normal.
Value normal(const Key &key, const Shape &shape, DType dtype = f32,
             std::source_location where = std::source_location::current());
/// Standard normal, truncated to [low, high].
Value truncatedNormal(const Key &key, double low, double high, const Shape &shape,
                      DType dtype = f32,
                      std::source_location where = std::source_location::current());
/// u32, 32 random bits per element.
Value randomBits(const Key &key, const Shape &shape,
                 std::source_location where = std::source_location::current());
/// Zeroes a share `rate` of the elements and scales the others by 1/(1 - rate).
Value dropout(const Operand &x, const Key &key, double rate);

} // namespace minigptc

#endif // MINIGPTC_TRACE_KEY_H
