//===- Sampler.h - choosing the next token ----------------------*- C++ -*-===//
//
//   Sampler sampler({.temperature = 0.8, .topK = 40, .seed = 1});
//   StatusOr<int32_t> token = sampler.next(logits);
//
// Deterministic: the n-th token of a seed is drawn with the n-th random number, and
// sums run in the order of falling logits, ties by id.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_SAMPLER_H
#define MINIGPTC_RUNTIME_TRAIN_SAMPLER_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace minigptc::runtime {

struct SamplingOptions {
  double temperature = 1; ///< 0: always the most likely token
  int64_t topK = 0;       ///< only so many of the most likely; 0: all
  double topP = 1;        ///< only the fewest that have this much of the probability
  uint64_t seed = 42;
};

class Sampler {
public:
  explicit Sampler(const SamplingOptions &options) : options_(options) {}
  /// invalidArgument if an option is out of its range.
  static Status check(const SamplingOptions &options);
  /// Fails on a logit that is NaN or +infinity. -infinity is never drawn.
  StatusOr<int32_t> next(std::span<const float> logits);

private:
  SamplingOptions options_;
  uint64_t drawn_ = 0;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_SAMPLER_H
