//===- Ops.h - functions of traced tensors ----------------------*- C++ -*-===//
//
// Names and meanings of jax.numpy and jax.nn. Operands broadcast as in NumPy;
// axes may be negative; an empty list of axes means all of them.
//
//   Value p = softmax(matmul(q, transpose(k, {0, 2, 1})) / std::sqrt(64.0));
//   Value l = mean(square(p - y));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_OPS_H
#define MINIGPTC_TRACE_OPS_H

#include "minigptc/trace/Value.h"

#include <optional>
#include <span>
#include <string_view>

namespace minigptc {

using Axes = std::vector<int64_t>;
/// For functions without an Operand to carry the place.
using Where = std::source_location;

// Elementwise, floats.
Value exp(const Operand &x);
Value expm1(const Operand &x);
Value log(const Operand &x);
Value log1p(const Operand &x);
Value sqrt(const Operand &x);
Value rsqrt(const Operand &x);
Value cbrt(const Operand &x);
Value sin(const Operand &x);
Value cos(const Operand &x);
Value tanh(const Operand &x);
Value erf(const Operand &x);
Value sigmoid(const Operand &x);
Value floor(const Operand &x);
Value ceil(const Operand &x);
Value round(const Operand &x); ///< ties to even
Value relu(const Operand &x);
Value silu(const Operand &x);
Value gelu(const Operand &x, bool approximate = false);
Value isFinite(const Operand &x);
Value pow(const Operand &x, const Operand &y);

// Elementwise, numbers.
Value abs(const Operand &x);
Value sign(const Operand &x);
Value square(const Operand &x);
Value maximum(const Operand &a, const Operand &b);
Value minimum(const Operand &a, const Operand &b);
Value clamp(const Operand &x, const Operand &low, const Operand &high);
/// condition ? a : b, elementwise; also called `where` elsewhere.
Value select(const Operand &condition, const Operand &a, const Operand &b);
Value logicalNot(const Operand &x);
/// Another element type; floats round to nearest even, or truncate to integers.
Value convert(const Operand &x, DType dtype);
/// The same bits under a type of equal width.
Value bitcast(const Operand &x, DType dtype);

// Reductions.
Value sum(const Operand &x, const Axes &axes = {}, bool keepDims = false);
Value mean(const Operand &x, const Axes &axes = {}, bool keepDims = false);
Value variance(const Operand &x, const Axes &axes = {}, bool keepDims = false); ///< two-pass
Value max(const Operand &x, const Axes &axes = {}, bool keepDims = false);
Value min(const Operand &x, const Axes &axes = {}, bool keepDims = false);
Value prod(const Operand &x, const Axes &axes = {}, bool keepDims = false);
Value any(const Operand &x, const Axes &axes = {}, bool keepDims = false);
Value all(const Operand &x, const Axes &axes = {}, bool keepDims = false);
Value logSumExp(const Operand &x, const Axes &axes = {}, bool keepDims = false);

// Products.
/// As numpy.matmul: batched over leading dimensions, which broadcast.
Value matmul(const Operand &a, const Operand &b);
struct DotDims {
  Axes lhsBatch, rhsBatch, lhsContract, rhsContract;
};
Value dotGeneral(const Operand &a, const Operand &b, const DotDims &dims);
/// Two operands, letters, no repeats within one: "bshd,hdo->bso".
Value einsum(std::string_view formula, const Operand &a, const Operand &b);

// Shape.
/// The same elements, row-major; one size may be -1.
Value reshape(const Operand &x, Shape shape);
Value flatten(const Operand &x);
/// Empty permutation: reversed.
Value transpose(const Operand &x, Axes permutation = {});
Value swapAxes(const Operand &x, int64_t a, int64_t b);
Value broadcastTo(const Operand &x, const Shape &shape);
Value expandDims(const Operand &x, int64_t axis);
/// Drops dimensions of size 1.
Value squeeze(const Operand &x, const Axes &axes = {});
Value concatenate(const std::vector<Operand> &parts, int64_t axis = 0);
Value stack(const std::vector<Operand> &parts, int64_t axis = 0);
/// Per dimension `low` and `high` elements outside; negative ones cut off.
Value pad(const Operand &x, const Axes &low, const Axes &high, const Operand &value = 0);
/// A block of fixed size at computed starts, clamped to lie inside.
Value dynamicSlice(const Operand &x, const std::vector<Operand> &starts, const Shape &sizes);
Value dynamicUpdateSlice(const Operand &x, const Operand &update,
                         const std::vector<Operand> &starts);
/// Slices of x along `axis` by index.
Value take(const Operand &x, const Operand &indices, int64_t axis = 0);

// Creation.
Value full(const Shape &shape, const Operand &number, DType dtype = f32);
Value zeros(const Shape &shape, DType dtype = f32, Where where = Where::current());
Value ones(const Shape &shape, DType dtype = f32, Where where = Where::current());
Value zerosLike(const Operand &x);
Value onesLike(const Operand &x);
/// 0, 1, …, count-1.
Value arange(int64_t count, DType dtype = i32, Where where = Where::current());
/// The index along a dimension.
Value iota(const Shape &shape, int64_t axis, DType dtype = i32, Where where = Where::current());
/// A small concrete tensor as a constant of the program.
Value constant(const Array &array, Where where = Where::current());
/// 1 where the index along a new last dimension is the element.
Value oneHot(const Operand &indices, int64_t count, DType dtype = f32);

// Networks.
Value softmax(const Operand &x, int64_t axis = -1);
Value logSoftmax(const Operand &x, int64_t axis = -1);
Value layerNorm(const Operand &x, const Operand &scale, const Operand &bias, double epsilon = 1e-6);
Value rmsNorm(const Operand &x, const Operand &scale, double epsilon = 1e-5);
/// x [B, S, H, D], positions i32 [S].
Value rope(const Operand &x, const Operand &positions, double theta = 1e4);

enum class Mask { none, causal, slidingWindow };
struct AttentionOptions {
  Mask mask = Mask::none;
  int64_t window = 0;                ///< of slidingWindow
  std::optional<double> scale = {};  ///< default 1/sqrt(D)
  std::optional<Value> allowed = {}; ///< i1 [B or 1, H or 1, S, T]: true = attend
  std::optional<Value> querySegments = {}, keySegments = {}; ///< i32 [B, S], [B, T]
  std::optional<Value> queryOffset = {}; ///< i32 scalar: position of the first query
};
/// query [B, S, H, D], key [B, T, G, D], value [B, T, G, E], G divides H.
Value attention(const Operand &query, const Operand &key, const Operand &value,
                const AttentionOptions &options = {});
/// Rows of a table by id. Ids outside are an error when the program runs if they are
/// elements of its inputs; what the program computes must lie inside.
Value embedding(const Operand &table, const Operand &ids);
/// logsumexp(logits) - logits[target] per position, 0 where the target is
/// `ignoreIndex`.
Value crossEntropy(const Operand &logits, const Operand &targets,
                   std::optional<int64_t> ignoreIndex = std::nullopt);

struct LinearCrossEntropyOptions {
  std::optional<Value> bias = {};          ///< [V]
  std::optional<int64_t> ignoreIndex = {}; ///< positions with this target count nothing
  bool transposed = false;                 ///< the weight is [V, d], an embedding's table
};
/// The sum of crossEntropy(hidden·weight + bias, targets) over all positions, a scalar:
/// hidden [..., d], weight [d, V], targets [...]. The logits [..., V] are never in memory
/// as a whole, nor are their gradients.
Value linearCrossEntropy(const Operand &hidden, const Operand &weight, const Operand &targets,
                         const LinearCrossEntropyOptions &options = {});

} // namespace minigptc

#endif // MINIGPTC_TRACE_OPS_H
