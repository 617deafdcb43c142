//===- Attention.h - multi-head attention -----------------------*- C++ -*-===//
//
//   nn::MultiHeadAttention attn(256, {.heads = 8, .ropeTheta = 1e4});
//   Value y = attn(x);                       // [B, S, 256] → [B, S, 256]
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_NN_ATTENTION_H
#define MINIGPTC_NN_ATTENTION_H

#include "minigptc/nn/Layers.h"

namespace minigptc::nn {

struct AttentionNames {
  std::string query = "q_proj", key = "k_proj", value = "v_proj", out = "output_proj";
};

struct MultiHeadAttentionOptions {
  int64_t heads = 1;
  int64_t kvHeads = 0;                  ///< key and value heads; 0: as many as heads
  std::optional<double> ropeTheta = {}; ///< rotary positions 0 … S-1 on q and k
  int64_t maxPositions = 0;             ///< if positive, more are an error
  bool causal = true;
  /// Kernels [d, H, d/H] and [H, d/H, d] instead of [d, d].
  bool splitHeads = false;
  LinearOptions linear = {};
  /// How the output projection's kernel and bias are stored; those of `linear` are for the
  /// other three.
  std::optional<PartitionSpec> outSpec = {}, outBiasSpec = {};
  AttentionNames names = {};
};

/// Self-attention: q, k, v and output projections of [B, S, d].
///
/// With a cache (`applyCached`), x are the positions from the call's on: their keys and
/// values go into the cache as "cached_key" and "cached_value" [B, T, kvHeads, d/H], and
/// queries attend to all positions up to their own. Needs a causal mask.
class MultiHeadAttention : public Module {
public:
  /// Throws TraceError if the sizes do not fit.
  MultiHeadAttention(int64_t d, MultiHeadAttentionOptions options,
                     std::source_location where = std::source_location::current());
  Value forward(Value x) const override;
  std::string kind() const override { return "attention"; }

private:
  Value heads(const Linear &projection, const Value &x, int64_t count) const;
  MultiHeadAttentionOptions options_;
  int64_t size_; ///< of a head
  Linear query_, key_, value_, out_;
};

} // namespace minigptc::nn

#endif // MINIGPTC_NN_ATTENTION_H
