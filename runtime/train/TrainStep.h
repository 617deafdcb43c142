//===- TrainStep.h - the entry train_step and its state ---------*- C++ -*-===//
//
// Holds `state.params…` and `state.optimizer…` between steps, each array once, so
// that a step can work in place.
//
//   StatusOr<TrainStep> step = TrainStep::bind(program);
//   MINIGPTC_RETURN_IF_ERROR(step->initialize(seedKey(42)));
//   StatusOr<StepOutcome> outcome = step->run(batch, key);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_TRAINSTEP_H
#define MINIGPTC_RUNTIME_TRAIN_TRAINSTEP_H

#include "runtime/base/Philox.h"
#include "runtime/train/Batches.h"
#include "runtime/train/WeightFile.h"

namespace minigptc::runtime {

struct StepOutcome {
  double loss = 0, gradNorm = 0, learningRate = 0;
  bool finite = true; ///< false: the state is as it was
};

/// Does not own the program. Movable.
class TrainStep {
public:
  /// Checks that the program's entry has the inputs and outputs of a train step.
  static StatusOr<TrainStep> bind(TrainingProgram &program);

  int64_t batchSize() const { return batchSize_; }
  int64_t contextLength() const { return context_; }
  bool isEmulated() const { return program_->isEmulated(); }
  /// Into how many parts the step takes its batch, one after the other.
  int64_t microBatches() const { return microBatches_; }
  /// The rows of a batch that the devices of this process need: [first, second). Of a batch in
  /// parts, these lie in each.
  std::pair<int64_t, int64_t> rowsHere() const {
    return microBatches_ > 1 ? std::pair(int64_t(0), batchSize_)
                             : program_->rowsHere(entry_->inputs[size_t(x_)]);
  }

  /// State from the entry `init`.
  Status initialize(RandomKey key);
  /// State from a checkpoint: names and types must be those of the program.
  Status setState(NamedArrays state);
  /// Replaces the parameters, named as in weight files.
  Status setParameters(const NamedArrays &parameters);
  const NamedArrays &state() const { return state_; }
  /// Named as in weight files; shares storage with the state.
  NamedArrays parameters() const;

  /// Sends a batch of a step to come to devices that have memory of their own.
  Status prefetch(Batch &batch);
  /// `cancelled` if the user interrupts the process: the state is as it was.
  StatusOr<StepOutcome> run(const Batch &batch, RandomKey key);
  /// The first instruction of this step with a result that is not finite.
  StatusOr<NonFiniteReport> findNonFinite(const Batch &batch, RandomKey key);
  /// Gradients by parameter, before clipping, from the entry `gradients` of `program`.
  StatusOr<NamedArrays> gradients(TrainingProgram &program, const Batch &batch,
                                  RandomKey key) const;

private:
  explicit TrainStep(TrainingProgram &program) : program_(&program) {}
  Status bindBatch();
  Status bindOutputs();
  Array inParts(const Array &tokens) const;
  std::vector<Array> takeInputs(const Batch &batch, RandomKey key);

  TrainingProgram *program_;
  const EntryInfo *entry_ = nullptr;
  NamedArrays state_; ///< in the order of the entry's inputs
  std::vector<int> stateInput_, stateOutput_;
  int x_ = -1, y_ = -1, key_ = -1; ///< inputs; key -1: the step draws no numbers
  int loss_ = -1, gradNorm_ = -1, learningRate_ = -1, finite_ = -1; ///< outputs
  int64_t batchSize_ = 0, context_ = 0, microBatches_ = 1;
};

/// A key as the entries take it: ui32[2].
Array keyArray(RandomKey key);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TRAINSTEP_H
