//===- Batches.h - cutting batches from tokens ------------------*- C++ -*-===//
//
// Samples are numbered from the start of training, and a sample's place in the tokens
// is a pure function of (seed, number): a resumed run sees what an uninterrupted one
// would.
//
//   BatchLoader loader(*source, {.order = SampleOrder::random, .seed = 42}, 16, 128);
//   StatusOr<Batch> batch = loader.batch(step * 16);   // x, y: i32[16, 128]
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_BATCHES_H
#define MINIGPTC_RUNTIME_TRAIN_BATCHES_H

#include "minigptc/runtime/Array.h"
#include "runtime/train/TokenSource.h"

namespace minigptc::runtime {

enum class SampleOrder {
  random,     ///< start uniform in [0, size - T)
  sequential, ///< sample n begins at token n·T; wraps past the end
  spread,     ///< `spreadOver` samples at equal distances: the same ones every time
};

struct SampleOptions {
  SampleOrder order = SampleOrder::random;
  uint64_t seed = 0;      ///< random
  int64_t spreadOver = 1; ///< spread: number of samples
};

/// Targets are the tokens one further.
struct Batch {
  Array x, y; ///< i32[B, T]
};

/// Does not own the source, which must have more than T tokens.
class BatchLoader {
public:
  BatchLoader(const TokenSource &source, const SampleOptions &options, int64_t batchSize,
              int64_t contextLength)
      : source_(source), options_(options), batchSize_(batchSize), context_(contextLength) {}

  /// Samples [firstSample, firstSample + B).
  StatusOr<Batch> batch(int64_t firstSample) const;
  /// Where sample `number` begins.
  int64_t start(int64_t number) const;
  /// Number of sequences in sequential order before it wraps.
  int64_t sequences() const { return (source_.size() - 1) / context_; }

private:
  const TokenSource &source_;
  SampleOptions options_;
  int64_t batchSize_, context_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_BATCHES_H
