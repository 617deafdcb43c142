//===- Batches.h - cutting batches from tokens ------------------*- C++ -*-===//
//
// Samples are numbered from the start of training, and a sample's place in the tokens
// is a pure function of (seed, number): a resumed run sees what an uninterrupted one
// would.
//
//   BatchLoader loader(*source, {.order = SampleOrder::random, .seed = 42}, 16, 128);
//   StatusOr<Batch> batch = loader.batch(step * 16);           // x, y: i32[16, 128]
//   StatusOr<Batch> mine = loader.samples(step * 16 + 4, 4);   // rows 4 … 7 of it alone
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_BATCHES_H
#define MINIGPTC_RUNTIME_TRAIN_BATCHES_H

#include "minigptc/runtime/Array.h"
#include "runtime/train/TokenSource.h"

#include <utility>

namespace minigptc::runtime {

enum class SampleOrder {
  random,     ///< of a part of the source: start uniform in [0, size - T)
  sequential, ///< sample n of a part begins at token n·T; wraps past the end of the last part
  spread,     ///< `spreadOver` samples at equal distances: the same ones every time
};

struct SampleOptions {
  SampleOrder order = SampleOrder::random;
  uint64_t seed = 0;      ///< random
  int64_t spreadOver = 1; ///< spread: number of samples
};

/// Targets are the tokens one further; in rows of documents, filled up (DocumentRows).
struct Batch {
  Array x, y; ///< i32[B, T]
};

/// Does not own the source. Each part of it must have more than T tokens or, where documents are
/// rows, a row.
class BatchLoader {
public:
  BatchLoader(const TokenSource &source, const SampleOptions &options, int64_t batchSize,
              int64_t contextLength);

  /// From now on rows [begin, end) of batches only, as one of several processes needs; others are
  /// zeros.
  void readRows(int64_t begin, int64_t end) { firstRow_ = begin, lastRow_ = end; }
  /// Samples [firstSample, firstSample + B).
  StatusOr<Batch> batch(int64_t firstSample) const;
  /// Samples [firstSample, firstSample + count), all of them.
  StatusOr<Batch> samples(int64_t firstSample, int64_t count) const;
  /// Where sample `number` begins.
  int64_t start(int64_t number) const;
  /// Number of samples in sequential order before it wraps; in random order, of the different ones.
  int64_t sequences() const { return places_; }

private:
  /// Where samples of a part begin.
  struct Places {
    int64_t begin = 0, end = 0; ///< of the part
    int64_t count = 0;          ///< of places: at `rows`, or every `stride_` tokens
    std::span<const int64_t> rows;
    double weight = 0;
  };
  int64_t placeOf(const Places &part, int64_t index) const {
    return part.rows.empty() ? part.begin + index * stride_ : part.rows[size_t(index)];
  }
  /// The part that has place `index` of all, which becomes one of this part alone.
  const Places &partOf(int64_t &index) const;
  const Places &randomPart(int64_t number) const;
  /// Part and index in it.
  std::pair<const Places *, int64_t> place(int64_t number) const;
  Status read(int64_t number, std::span<int32_t> x, std::span<int32_t> y) const;

  const TokenSource &source_;
  SampleOptions options_;
  StatusOr<Batch> rows(int64_t firstSample, int64_t count, int64_t begin, int64_t end) const;

  int64_t batchSize_, context_, stride_;
  int64_t firstRow_ = 0, lastRow_;
  std::optional<DocumentRows> documents_;
  std::vector<Places> parts_;
  int64_t places_ = 0; ///< in all parts
  double weights_ = 0; ///< their sum
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_BATCHES_H
