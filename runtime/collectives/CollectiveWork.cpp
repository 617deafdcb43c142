#include "runtime/collectives/CollectiveWork.h"

#include "runtime/base/Scalar.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

namespace minigptc::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Moving parts
//===----------------------------------------------------------------------===//

/// Where one part lies in a tensor, in elements.
struct PartLayout {
  int64_t offset, outerStride, innerStride;
};

PartLayout alone(const CollectiveOperand &o) { return {0, o.inner * o.block, o.block}; }
PartLayout major(const CollectiveOperand &o, int64_t n, int64_t rank) {
  return {rank * o.inner * o.block, n * o.inner * o.block, o.block};
}
PartLayout minor(const CollectiveOperand &o, int64_t n, int64_t rank) {
  return {rank * o.block, o.inner * n * o.block, n * o.block};
}

void copyPart(const CollectiveOperand &o, const void *source, PartLayout from, void *target,
              PartLayout to) {
  if (o.partElements() == 0)
    return;
  int64_t inner = o.inner, block = o.block;
  if (from.innerStride == block && to.innerStride == block) // One run.
    block *= inner, inner = 1;
  int64_t element = sizeOf(o.dtype);
  auto *in = static_cast<const std::byte *>(source);
  auto *out = static_cast<std::byte *>(target);
  for (int64_t outer = 0; outer < o.outer; ++outer)
    for (int64_t i = 0; i < inner; ++i)
      std::memcpy(out + (to.offset + outer * to.outerStride + i * to.innerStride) * element,
                  in + (from.offset + outer * from.outerStride + i * from.innerStride) * element,
                  size_t(block * element));
}

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

/// How an element type lies in memory (Stored) and is combined (Value).
template <typename T> struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(Stored x) { return x; }
  static Stored store(Value x) { return x; }
};
struct Bf16 {
  using Stored = uint16_t;
  using Value = float;
  static float load(uint16_t x) { return bf16ToFloat(x); }
  static uint16_t store(float x) { return floatToBf16(x); }
};
struct F16 {
  using Stored = uint16_t;
  using Value = float;
  static float load(uint16_t x) { return f16ToFloat(x); }
  static uint16_t store(float x) { return floatToF16(x); }
};

/// The larger or smaller one; NaN wins over everything.
template <bool larger, typename T> T select(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(x) || std::isnan(y))
      return std::numeric_limits<T>::quiet_NaN();
  return (larger ? x < y : y < x) ? y : x;
}

template <ReduceKind kind, typename T> T combine(T x, T y) {
  // Integers wrap around.
  using Arithmetic = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                                 std::type_identity<T>>::type;
  if constexpr (kind == ReduceKind::sum)
    return T(Arithmetic(x) + Arithmetic(y));
  else if constexpr (kind == ReduceKind::prod)
    return T(Arithmetic(x) * Arithmetic(y));
  else
    return select < kind == ReduceKind::max || kind == ReduceKind::any > (x, y);
}

/// Combines `count` elements from each source, in order, into all targets. A target may
/// be a source: all sources of a tile are read before it is written.
template <typename Type, ReduceKind kind>
void combineRun(std::span<const void *const> sources, std::span<void *const> targets,
                int64_t offset, int64_t targetOffset, int64_t count) {
  using Stored = typename Type::Stored;
  using Value = typename Type::Value;
  constexpr int64_t tile = 1024;
  Value sums[tile];
  for (int64_t begin = 0; begin < count; begin += tile) {
    int64_t length = std::min(tile, count - begin);
    auto *first = static_cast<const Stored *>(sources[0]) + offset + begin;
    for (int64_t i = 0; i < length; ++i)
      sums[i] = Type::load(first[i]);
    for (const void *source : sources.subspan(1)) {
      auto *next = static_cast<const Stored *>(source) + offset + begin;
      for (int64_t i = 0; i < length; ++i)
        sums[i] = combine<kind>(sums[i], Type::load(next[i]));
    }
    auto *made = static_cast<Stored *>(targets[0]) + targetOffset + begin;
    for (int64_t i = 0; i < length; ++i)
      made[i] = Type::store(sums[i]);
    for (void *target : targets.subspan(1))
      std::memcpy(static_cast<Stored *>(target) + targetOffset + begin, made,
                  size_t(length) * sizeof(Stored));
  }
}

using CombineRun = void (*)(std::span<const void *const>, std::span<void *const>, int64_t, int64_t,
                            int64_t);

template <typename Type> CombineRun runOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum: return combineRun<Type, ReduceKind::sum>;
  case ReduceKind::prod: return combineRun<Type, ReduceKind::prod>;
  case ReduceKind::max:
  case ReduceKind::any: return combineRun<Type, ReduceKind::max>;
  case ReduceKind::min:
  case ReduceKind::all: return combineRun<Type, ReduceKind::min>;
  }
  return nullptr;
}

CombineRun runOf(DType dtype, ReduceKind kind) {
  switch (dtype) {
  case DType::f64: return runOf<Plain<double>>(kind);
  case DType::f32: return runOf<Plain<float>>(kind);
  case DType::bf16: return runOf<Bf16>(kind);
  case DType::f16: return runOf<F16>(kind);
  case DType::i64: return runOf<Plain<int64_t>>(kind);
  case DType::i32: return runOf<Plain<int32_t>>(kind);
  case DType::i8: return runOf<Plain<int8_t>>(kind);
  case DType::i1: return runOf<Plain<uint8_t>>(kind);
  case DType::u64: return runOf<Plain<uint64_t>>(kind);
  case DType::u32: return runOf<Plain<uint32_t>>(kind);
  }
  return nullptr;
}

void reduceScatter(const CollectiveProblem &problem, const CollectiveOperand &o, int64_t rank,
                   std::span<const void *const> inputs, void *output) {
  CombineRun run = runOf(o.dtype, problem.combine);
  PartLayout from = major(o, int64_t(inputs.size()), rank);
  int64_t length = o.inner * o.block;
  std::span<void *const> targets(&output, 1);
  for (int64_t outer = 0; outer < o.outer && length > 0; ++outer)
    run(inputs, targets, from.offset + outer * from.outerStride, outer * length, length);
}

/// Shares begin at multiples of 64 elements, so that no two members write to a cache line.
void allReduce(const CollectiveProblem &problem, const CollectiveOperand &o, int64_t rank,
               std::span<const void *const> inputs, std::span<void *const> outputs) {
  int64_t total = o.partElements(), members = int64_t(inputs.size());
  int64_t share = ((total + members - 1) / members + 63) / 64 * 64;
  int64_t begin = std::min(rank * share, total);
  if (int64_t count = std::min(share, total - begin); count > 0)
    runOf(o.dtype, problem.combine)(inputs, outputs, begin, begin, count);
}

} // namespace

void doWhole(const CollectiveProblem &problem, size_t operand, int64_t rank,
             std::span<const void *const> inputs, void *output) {
  const CollectiveOperand &o = problem.operands[operand];
  int64_t members = int64_t(inputs.size());
  switch (problem.kind) {
  case CollectiveKind::allGather:
    for (int64_t r = 0; r < members; ++r)
      copyPart(o, inputs[size_t(r)], alone(o), output, major(o, members, r));
    break;
  case CollectiveKind::reduceScatter: reduceScatter(problem, o, rank, inputs, output); break;
  case CollectiveKind::allReduce:
    if (int64_t count = o.partElements(); count > 0)
      runOf(o.dtype, problem.combine)(inputs, std::span(&output, 1), 0, 0, count);
    break;
  case CollectiveKind::allToAll:
    for (int64_t r = 0; r < members; ++r)
      copyPart(o, inputs[size_t(r)],
               o.fromMajor ? major(o, members, rank) : minor(o, members, rank), output,
               o.fromMajor ? minor(o, members, r) : major(o, members, r));
    break;
  case CollectiveKind::permute:
    if (int64_t source = problem.sources[size_t(rank)]; source >= 0)
      copyPart(o, inputs[size_t(source)], alone(o), output, alone(o));
    else if (o.partBytes() > 0)
      std::memset(output, 0, o.partBytes());
    break;
  }
}

void doShare(const CollectiveProblem &problem, size_t operand, int64_t rank,
             std::span<const void *const> inputs, std::span<void *const> outputs) {
  if (problem.kind == CollectiveKind::allReduce)
    allReduce(problem, problem.operands[operand], rank, inputs, outputs);
  else
    doWhole(problem, operand, rank, inputs, outputs[size_t(rank)]);
}

} // namespace minigptc::runtime
