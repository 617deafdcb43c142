//===- Steps.h - train steps on random tokens -------------------*- C++ -*-===//
//
//   StatusOr<Session> session = load(buildProgram(config, kTrainingOnly), bench);
//   Steps steps(*session, config);
//   steps.prepare();
//   steps.run();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_BENCH_STEPS_H
#define MINIGPTC_TOOLS_BENCH_STEPS_H

#include "models/Registry.h"
#include "runtime/train/StepProfile.h"
#include "runtime/train/TrainStep.h"

namespace minigptc::bench {

inline constexpr ProgramOptions kTrainingOnly{.evaluation = false, .logits = false};

/// Session and configuration outlive it. The first steps are profiled.
class Steps {
public:
  Steps(runtime::Session &session, const runtime::RunConfig &config)
      : program_(session), config_(config) {}

  runtime::Status prepare() {
    runtime::StatusOr<runtime::TrainStep> step = runtime::TrainStep::bind(program_);
    if (!step)
      return step.status();
    step_.emplace(*std::move(step));
    MINIGPTC_RETURN_IF_ERROR(step_->initialize(key_));
    tokens_ = runtime::makeDummyTokens(std::max<int64_t>(100'000, 2 * step_->contextLength()),
                                       config_.model.vocabSize, 1, "bench");
    batches_.emplace(*tokens_, runtime::SampleOptions{.seed = 1}, step_->batchSize(),
                     step_->contextLength());
    return runtime::Status::success();
  }
  runtime::Status run() {
    runtime::StatusOr<runtime::Batch> batch = batches_->batch(number_ * step_->batchSize());
    if (!batch)
      return batch.status();
    return step_->run(*batch, runtime::foldIn(key_, uint64_t(number_++))).status();
  }
  const runtime::StepProfile &profile() const { return program_; }
  const runtime::NamedArrays &state() const { return step_->state(); }

private:
  runtime::StepProfile program_;
  const runtime::RunConfig &config_;
  runtime::RandomKey key_ = runtime::seedKey(1);
  std::optional<runtime::TrainStep> step_;
  std::unique_ptr<runtime::TokenSource> tokens_;
  std::optional<runtime::BatchLoader> batches_;
  int64_t number_ = 0;
};

} // namespace minigptc::bench

#endif // MINIGPTC_TOOLS_BENCH_STEPS_H
