#include "tools/minigptc-run/Timing.h"

#include "runtime/base/Cancellation.h"
#include "runtime/train/StepProfile.h"
#include "runtime/train/TrainStep.h"

#include <algorithm>
#include <chrono>

namespace minigptc {

using namespace runtime;

/// The share of the device's peak that the model's FLOPs take, with how it comes about.
static void printUtilisation(const Session &session, double seconds, double peakFlops) {
  StatusOr<ProgramMetadata> metadata = ProgramMetadata::fromJson(session.metadata());
  if (peakFlops <= 0 || !metadata || !metadata->modelFlopsPerStep)
    return;
  double flops = *metadata->modelFlopsPerStep;
  std::printf("MFU %.4g %% = %.4g model FLOPs a step (2 for each multiply-add of its products, "
              "causal attention half, nothing that is computed again) / %.4g s / %.4g FLOP/s\n",
              100 * flops / seconds / peakFlops, flops, seconds, peakFlops);
}

Status timeSteps(Session &session, const RunConfig &config, int64_t steps,
                 const std::string &profile, double peakFlops) {
  SessionProgram plain(session);
  StepProfile profiled(session);
  int64_t warmup = profile.empty() ? 2 : int64_t(StepProfile::kWarmupSteps + StepProfile::kSteps);
  StatusOr<TrainStep> step = TrainStep::bind(profile.empty() ? plain : profiled);
  if (!step)
    return step.status();
  RandomKey key = seedKey(config.training.seed);
  MINIGPTC_RETURN_IF_ERROR(step->initialize(key));
  auto tokens = makeDummyTokens(std::max<int64_t>(100'000, 2 * step->contextLength()),
                                config.model.vocabSize, config.training.seed, "time");
  BatchLoader batches(*tokens, {.seed = config.training.seed}, step->batchSize(),
                      step->contextLength());
  std::vector<double> seconds;
  double firstLoss = 0, lastLoss = 0;
  for (int64_t i = 0; i < steps + warmup && !cancellationRequested(); ++i) {
    StatusOr<Batch> batch = batches.batch(i * step->batchSize());
    if (!batch)
      return batch.status();
    auto begin = std::chrono::steady_clock::now();
    StatusOr<StepOutcome> outcome = step->run(*batch, foldIn(key, uint64_t(i)));
    if (!outcome)
      return outcome.status();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    lastLoss = outcome->loss;
    firstLoss = i == 0 ? lastLoss : firstLoss;
    if (i >= warmup)
      seconds.push_back(taken.count());
  }
  if (seconds.empty())
    return Status(StatusCode::cancelled, "interrupted before a step was timed");
  std::sort(seconds.begin(), seconds.end());
  double median = seconds[seconds.size() / 2];
  std::printf("%zu steps on %s: median %.4g ms, fastest %.4g ms, %.0f tokens/s\n", seconds.size(),
              session.deviceName().c_str(), median * 1e3, seconds.front() * 1e3,
              double(step->batchSize() * step->contextLength()) / median);
  std::printf("loss %.9g at the first step, %.9g at the last\n", firstLoss, lastLoss);
  printUtilisation(session, median, peakFlops);
  return profile.empty() ? Status::success() : writeProfile(profiled, profile);
}

} // namespace minigptc
