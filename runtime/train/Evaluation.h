//===- Evaluation.h - the loss of given parameters --------------*- C++ -*-===//
//
//   StatusOr<Evaluator> evaluator = Evaluator::create(program, parameters);
//   StatusOr<double> quick = evaluator->spreadLoss(source, /*batches=*/10);
//   StatusOr<LossReport> exact = evaluator->wholeLoss(source);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_EVALUATION_H
#define MINIGPTC_RUNTIME_TRAIN_EVALUATION_H

#include "runtime/train/Batches.h"
#include "runtime/train/WeightFile.h"

#include <functional>

namespace minigptc::runtime {

/// Mean over targets, in nats.
struct LossReport {
  double loss = 0;
  int64_t tokens = 0; ///< targets that count
  double perplexity() const;
  double bitsPerToken() const;
  /// Of a text with so many bytes to its tokens; for bytes as tokens, 1.
  double bitsPerByte(double bytesPerToken) const { return bitsPerToken() / bytesPerToken; }
};

/// The entry `eval_loss` with its parameters bound. Does not own the program.
class Evaluator {
public:
  static StatusOr<Evaluator> create(TrainingProgram &program, const NamedArrays &parameters);

  /// The mean of `batches` batches of sequences at equal distances: the same ones
  /// at each call.
  StatusOr<double> spreadLoss(const TokenSource &source, int64_t batches);
  /// Every token but the first of each part is a target once, in sequences of the context
  /// length one after the other; the last may be shorter. Where documents are rows, every token
  /// but the first of its document. `progress` hears how many places of how many are done.
  using Progress = std::function<void(int64_t done, int64_t all)>;
  StatusOr<LossReport> wholeLoss(const TokenSource &source, const Progress &progress = {});

private:
  explicit Evaluator(TrainingProgram &program) : program_(&program) {}
  /// Sum of the losses of a batch's targets, and how many count.
  struct Sum {
    double loss = 0, tokens = 0;
  };
  static Status addTo(Sum &total, const StatusOr<Sum> &sum);
  StatusOr<Sum> run(const Batch &batch);
  Status addStream(const TokenSource &source, Sum &total);
  Status addRows(const TokenSource &source, const DocumentRows &format, Sum &total);
  void advance(int64_t places);
  StatusOr<Sum> partialBatch(const TokenSource &source, int64_t first, int64_t count);
  StatusOr<Sum> tail(const TokenSource &source, int64_t begin, int64_t count);

  TrainingProgram *program_;
  const EntryInfo *entry_ = nullptr;
  ArrayMap values_;
  int64_t batchSize_ = 0, context_ = 0;
  std::optional<int64_t> ignoreIndex_;
  int lossIndex_ = -1, tokensIndex_ = -1;
  Progress progress_; ///< of `wholeLoss`
  int64_t done_ = 0, all_ = 0;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_EVALUATION_H
