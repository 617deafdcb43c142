//===- TrainingLoop.h - step after step -------------------------*- C++ -*-===//
//
// The inner part of a TrainingSession: runs steps, evaluates and saves when it is
// time, and ends at the last step, on an interrupt, or on a step that is not finite.
// At a step count N that is due for both, the evaluation comes before the checkpoint,
// so that a run that resumes from step-N need not repeat it.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_TRAININGLOOP_H
#define MINIGPTC_RUNTIME_TRAIN_TRAININGLOOP_H

#include "runtime/train/Checkpoint.h"
#include "runtime/train/Metrics.h"
#include "runtime/train/OutputFolder.h"
#include "runtime/train/TrainStep.h"

#include <optional>

namespace minigptc::runtime {

/// What changes from step to step. Refers to everything that it is given.
class TrainingLoop {
public:
  TrainingLoop(const RunConfig &config, const TrainingOptions &options, const OutputFolder &out,
               const DataSources &data, TrainingLog &log, TrainingProgram &program, TrainStep step,
               ProgramMetadata metadata, MetricsFile metrics)
      : config_(config), options_(options), out_(out), data_(data), log_(log), program_(program),
        step_(std::move(step)), metadata_(std::move(metadata)), metrics_(std::move(metrics)),
        batches_(*data.train, sampleOptions(config), step_.batchSize(), step_.contextLength()) {
    auto [begin, end] = step_.rowsHere();
    batches_.readRows(begin, end);
  }

  /// Takes over a checkpoint's place in the run; its tensors are in `step` already.
  void goOnFrom(const Checkpoint &resumed);
  /// To the last step; see TrainingSession::run.
  StatusOr<TrainingResult> run();

private:
  static SampleOptions sampleOptions(const RunConfig &config) {
    return {.order =
                config.data.order == "sequential" ? SampleOrder::sequential : SampleOrder::random,
            .seed = config.training.seed};
  }
  int64_t total() const { return config_.training.maxIters; }
  RandomKey stepKey() const;
  Status advance();
  ProcessGroup *processes() const { return program_.processes(); }
  bool isFirst() const { return !processes() || processes()->isFirst(); }
  /// The batch of the step at hand with the rows of all processes.
  StatusOr<Batch> wholeBatch() const;
  /// The batch of the step at hand, which may have been prepared during the one before.
  StatusOr<Batch> takeBatch();
  void prepareNext();
  Status afterStep(const Batch &batch, const StepOutcome &outcome);
  Status stopNonFinite(const Batch &batch, const StepOutcome &outcome);
  bool evaluationIsDue() const { return config_.training.evalInterval > 0 && evaluated_ != done_; }
  /// If it is due; an interrupt leaves it due.
  Status evaluate();
  Status save();
  Status dumpGradients();
  Status finish();
  void remarkOnWrap();

  const RunConfig &config_;
  const TrainingOptions &options_;
  const OutputFolder &out_;
  const DataSources &data_;
  TrainingLog &log_;
  TrainingProgram &program_;
  TrainStep step_;
  ProgramMetadata metadata_;
  MetricsFile metrics_;
  BatchLoader batches_;

  int64_t done_ = 0; ///< steps, those of earlier sessions included
  int64_t nextSample_ = 0;
  std::optional<Batch> prepared_;
  int64_t preparedSample_ = -1; ///< the first one of `prepared_`
  int64_t saved_ = -1;          ///< step of the last checkpoint
  int64_t evaluated_ = -1;      ///< step of the last evaluation
  bool wrapped_ = false;
  std::vector<double> seconds_; ///< of this session's steps
  TrainingResult result_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TRAININGLOOP_H
