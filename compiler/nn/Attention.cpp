//===- Attention.cpp - multi-head attention -------------------------------===//
#include "minigptc/nn/Attention.h"

using namespace minigptc;
using namespace minigptc::nn;

namespace {

MultiHeadAttentionOptions checked(int64_t d, MultiHeadAttentionOptions options,
                                  const std::source_location &where) {
  auto text = [](int64_t number) { return std::to_string(number); };
  if (options.kvHeads == 0)
    options.kvHeads = options.heads;
  if (options.heads <= 0 || options.kvHeads <= 0)
    throw TraceError("attention: the number of heads must be positive", where);
  if (d % options.heads != 0)
    throw TraceError(
        "attention: " + text(options.heads) + " heads do not divide the size " + text(d), where);
  if (options.heads % options.kvHeads != 0)
    throw TraceError("attention: " + text(options.kvHeads) + " key heads do not divide " +
                         text(options.heads) + " heads",
                     where);
  if (options.ropeTheta && (d / options.heads) % 2 != 0)
    throw TraceError("attention: rotary positions need an even head size, this is " +
                         text(d / options.heads),
                     where);
  return options;
}

/// A projection's dimensions: heads apart, or flattened.
Shape split(const MultiHeadAttentionOptions &options, int64_t heads, int64_t size) {
  return options.splitHeads ? Shape{heads, size} : Shape{heads * size};
}

LinearOptions outOptions(const MultiHeadAttentionOptions &options) {
  LinearOptions result = options.linear;
  result.spec = options.outSpec;
  result.biasSpec = options.outBiasSpec;
  return result;
}

} // namespace

MultiHeadAttention::MultiHeadAttention(int64_t d, MultiHeadAttentionOptions options,
                                       std::source_location where)
    : options_(checked(d, std::move(options), where)), size_(d / options_.heads),
      query_({d}, split(options_, options_.heads, size_), options_.linear),
      key_({d}, split(options_, options_.kvHeads, size_), options_.linear),
      value_({d}, split(options_, options_.kvHeads, size_), options_.linear),
      out_(split(options_, options_.heads, size_), {d}, outOptions(options_)) {
  submodule(options_.names.query, query_);
  submodule(options_.names.key, key_);
  submodule(options_.names.value, value_);
  submodule(options_.names.out, out_);
  cached("cached_key", {options_.kvHeads, size_});
  cached("cached_value", {options_.kvHeads, size_});
}

/// [B, S, d] → [B, S, count, size].
Value MultiHeadAttention::heads(const Linear &projection, const Value &x, int64_t count) const {
  Value y = projection(x);
  return y.rank() == 4 ? y : reshape(y, {x.dim(0), x.dim(1), count, size_});
}

Value MultiHeadAttention::forward(Value x) const {
  std::source_location where = std::source_location::current();
  if (x.rank() != 3)
    throw TraceError(
        "attention: the input is " + x.type().toString() + ", not [batch, positions, size]", where);
  int64_t positions = x.dim(1);
  if (options_.maxPositions > 0 && positions > options_.maxPositions)
    throw TraceError("attention: " + std::to_string(positions) + " positions are more than the " +
                         std::to_string(options_.maxPositions) + " that the model knows",
                     where);
  Value q = heads(query_, x, options_.heads);
  Value k = heads(key_, x, options_.kvHeads);
  Value v = heads(value_, x, options_.kvHeads);
  std::optional<Value> first = position();
  if (options_.ropeTheta) {
    Value index = arange(positions);
    if (first)
      index = index + *first;
    q = rope(q, index, *options_.ropeTheta);
    k = rope(k, index, *options_.ropeTheta);
  }
  if (first) {
    if (!options_.causal)
      throw TraceError("attention: a call with a cache needs a causal mask, earlier positions "
                       "can't attend to later ones",
                       where);
    k = cached("cached_key", k);
    v = cached("cached_value", v);
  }
  Value mixed = attention(
      q, k, v, {.mask = options_.causal ? Mask::causal : Mask::none, .queryOffset = first});
  if (!options_.splitHeads)
    mixed = reshape(mixed, {x.dim(0), positions, options_.heads * size_});
  return out_(mixed);
}
