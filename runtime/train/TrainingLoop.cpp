#include "runtime/train/TrainingLoop.h"

#include "runtime/base/Cancellation.h"
#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/train/Evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

namespace minigptc::runtime {
namespace {

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// "nan" whatever its sign, "-inf", "1.25".
std::string readable(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::isnan(value) ? std::abs(value) : value);
  return text;
}

/// Keys whose change makes a resumed run differ from an uninterrupted one.
std::vector<std::string> changedKeys(const RunConfig &before, const RunConfig &now) {
  using Json = nlohmann::json;
  Json old = Json::parse(before.toJson()).flatten(), current = Json::parse(now.toJson()).flatten();
  static constexpr std::string_view kMatter[] = {"/model/",
                                                 "/optimizer/",
                                                 "/lr_schedule/",
                                                 "/training/batch_size",
                                                 "/training/precision",
                                                 "/training/matmul_precision",
                                                 "/training/seed",
                                                 "/training/gradient_clip",
                                                 "/data/"};
  std::vector<std::string> changed;
  for (const auto &[key, value] : current.items())
    for (std::string_view prefix : kMatter)
      if (key.starts_with(prefix) && (!old.contains(key) || old[key] != value)) {
        std::string name = key.substr(1);
        std::replace(name.begin(), name.end(), '/', '.');
        changed.push_back(name);
      }
  return changed;
}

} // namespace

void TrainingLoop::goOnFrom(const Checkpoint &resumed) {
  done_ = saved_ = resumed.step;
  nextSample_ = resumed.nextSample;
  result_.skipped = resumed.skipped;
  evaluated_ = metrics_.evaluatedAt();
  log_.remark("resumed after step " + std::to_string(done_));
  for (const std::string &key : changedKeys(resumed.config, config_))
    log_.remark("'" + key + "' is not what it was: the run goes on differently");
  if (!options_.initFrom.empty())
    log_.remark("--init-from is not used: the run goes on from its checkpoint");
}

RandomKey TrainingLoop::stepKey() const {
  RandomKey key = seedKey(config_.training.seed);
  if (!metadata_.streams.empty())
    key = foldIn(key, streamNumber(metadata_.streams.front()));
  return foldIn(key, uint64_t(done_));
}

void TrainingLoop::remarkOnWrap() {
  if (wrapped_ || config_.data.order != "sequential" ||
      nextSample_ + step_.batchSize() <= batches_.sequences())
    return;
  wrapped_ = true;
  log_.remark("the data ends in step " + std::to_string(done_) + ", after " +
              std::to_string(batches_.sequences()) +
              " sequences: sequential order starts again at its beginning");
}

Status TrainingLoop::evaluate() {
  if (!evaluationIsDue())
    return Status::success();
  StatusOr<Evaluator> evaluator = Evaluator::create(program_, step_.parameters());
  if (!evaluator)
    return evaluator.status();
  std::vector<EvalRecord> records;
  for (auto [split, source] :
       {std::pair("train", data_.train.get()), std::pair("val", data_.val.get())}) {
    if (!source)
      continue;
    StatusOr<double> loss =
        evaluator->spreadLoss(*source, std::max<int64_t>(config_.eval.iters, 1));
    if (!loss && loss.status().code() == StatusCode::cancelled)
      return Status::success(); // The loop ends and saves; a resumed run evaluates.
    if (!loss)
      return loss.status();
    records.push_back({done_, split, *loss});
  }
  for (const EvalRecord &record : records) {
    MINIGPTC_RETURN_IF_ERROR(metrics_.append(record));
    log_.evaluation(record);
  }
  evaluated_ = done_;
  return Status::success();
}

Status TrainingLoop::save() {
  if (saved_ == done_)
    return Status::success();
  Checkpoint checkpoint{.step = done_,
                        .seed = config_.training.seed,
                        .nextSample = nextSample_,
                        .skipped = result_.skipped,
                        .config = config_,
                        .products = program_.productAlgorithms(),
                        .tensors = step_.state()};
  StatusOr<std::string> folder =
      saveCheckpoint(out_.checkpoints(), checkpoint, config_.checkpoint.keep, processes());
  if (!folder)
    return folder.status();
  saved_ = done_;
  log_.saved(*folder);
  return Status::success();
}

Status TrainingLoop::dumpGradients() {
  if (options_.dumpGrads.empty())
    return Status::success();
  StatusOr<Batch> batch = wholeBatch();
  if (!batch)
    return batch.status();
  std::unique_ptr<TrainingProgram> own; // Its memory is given back before the first step.
  if (options_.gradientProgram) {
    StatusOr<std::unique_ptr<TrainingProgram>> made = options_.gradientProgram();
    if (!made)
      return made.status();
    own = *std::move(made);
  }
  StatusOr<NamedArrays> gradients = step_.gradients(own ? *own : program_, *batch, stepKey());
  if (!gradients)
    return gradients.status();
  MINIGPTC_RETURN_IF_ERROR(
      saveWeights(options_.dumpGrads, metadata_.parameters, *gradients, processes()));
  log_.saved(options_.dumpGrads);
  return Status::success();
}

/// Leaves what reproduces the step: the state before it as a checkpoint, so that
/// --resume runs into it again, and the batch.
Status TrainingLoop::stopNonFinite(const Batch &batch, const StepOutcome &outcome) {
  MINIGPTC_RETURN_IF_ERROR(save());
  StatusOr<Batch> whole = wholeBatch();
  if (!whole)
    return whole.status();
  if (isFirst())
    MINIGPTC_RETURN_IF_ERROR(writeSafetensors(
        out_.nonFinite(done_),
        {{"batch.x", whole->x}, {"batch.y", whole->y}, {"key", keyArray(stepKey())}}));
  std::string what = std::isfinite(outcome.loss) ? "a gradient" : "the loss";
  std::string message = what + " of step " + std::to_string(done_) + " is not finite (loss " +
                        readable(outcome.loss) + ", gradient norm " + readable(outcome.gradNorm) +
                        "); the update was not made";
  StatusOr<NonFiniteReport> report = step_.findNonFinite(batch, stepKey());
  std::string place;
  if (report && !report->instruction.empty()) {
    message += "; first in " + report->instruction;
    place = report->place;
  }
  return Status(StatusCode::nonFinite, message)
      .at(place)
      .withHelp("state and batch are saved in '" + out_.path() +
                "'; a lower learning rate or "
                "training.gradient_clip may help, training.on_nonfinite=skip goes on without "
                "such steps");
}

Status TrainingLoop::afterStep(const Batch &batch, const StepOutcome &outcome) {
  double seconds = seconds_.back();
  int64_t tokens = step_.batchSize() * step_.contextLength();
  StepRecord record{.step = done_,
                    .loss = outcome.loss,
                    .gradNorm = outcome.gradNorm,
                    .learningRate = outcome.learningRate,
                    .tokens = nextSample_ * step_.contextLength() + tokens,
                    .stepSeconds = seconds,
                    .tokensPerSecond = double(tokens) / seconds,
                    .finite = outcome.finite,
                    .emulated = step_.isEmulated()};
  if (options_.peakFlops > 0 && metadata_.modelFlopsPerStep)
    record.mfu = *metadata_.modelFlopsPerStep / seconds /
                 (options_.peakFlops * double(std::max<int64_t>(options_.devices, 1)));
  bool logged = done_ % std::max<int64_t>(config_.training.logInterval, 1) == 0 ||
                done_ + 1 == total() || !outcome.finite;
  if (logged)
    MINIGPTC_RETURN_IF_ERROR(metrics_.append(record));
  log_.step(record, total(), logged);
  if (!outcome.finite && config_.training.onNonfinite != "skip")
    return stopNonFinite(batch, outcome);
  result_.skipped += !outcome.finite;
  result_.finalLoss = outcome.loss;
  ++result_.made;
  ++done_;
  nextSample_ += step_.batchSize();
  return Status::success();
}

StatusOr<Batch> TrainingLoop::wholeBatch() const {
  return batches_.samples(nextSample_, step_.batchSize());
}

StatusOr<Batch> TrainingLoop::takeBatch() {
  std::optional<Batch> prepared = std::exchange(prepared_, std::nullopt);
  if (prepared && preparedSample_ == nextSample_)
    return std::move(*prepared);
  return batches_.batch(nextSample_);
}

/// While the devices work. A failure is told by the step that needs the batch.
void TrainingLoop::prepareNext() {
  if (done_ + 1 >= total())
    return;
  preparedSample_ = nextSample_ + step_.batchSize();
  StatusOr<Batch> batch = batches_.batch(preparedSample_);
  if (batch && step_.prefetch(*batch))
    prepared_ = std::move(*batch);
}

Status TrainingLoop::advance() {
  remarkOnWrap();
  auto begin = std::chrono::steady_clock::now();
  StatusOr<Batch> batch = takeBatch();
  if (!batch)
    return batch.status();
  program_.meanwhile([this] { prepareNext(); });
  StatusOr<StepOutcome> outcome = step_.run(*batch, stepKey());
  if (!outcome && outcome.status().code() == StatusCode::cancelled)
    return Status::success(); // The loop ends and saves the state before this step.
  if (!outcome)
    return outcome.status();
  seconds_.push_back(std::max(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 1e-9));
  return afterStep(*batch, *outcome);
}

StatusOr<TrainingResult> TrainingLoop::run() {
  if (options_.handleSignals) {
    cancelOnSignals("minigptc: error: interrupted again: nothing was saved since the last "
                    "checkpoint\n");
    std::signal(SIGXFSZ, SIG_IGN); // A file beyond the limit is an error of its write.
  }
  if (done_ >= total())
    log_.remark("nothing to do: " + std::to_string(done_) + " of " + std::to_string(total()) +
                " steps are done" +
                (done_ > 0 ? "; give --steps N above " + std::to_string(done_) + " to go on" : ""));
  else
    MINIGPTC_RETURN_IF_ERROR(dumpGradients());
  int64_t evalInterval = config_.training.evalInterval,
          saveInterval = config_.checkpoint.saveInterval;
  if (done_ == 0)
    MINIGPTC_RETURN_IF_ERROR(evaluate());
  while (done_ < total() && !program_.interrupted()) {
    MINIGPTC_RETURN_IF_ERROR(advance());
    if (evalInterval > 0 && done_ % evalInterval == 0)
      MINIGPTC_RETURN_IF_ERROR(evaluate());
    if (saveInterval > 0 && done_ % saveInterval == 0)
      MINIGPTC_RETURN_IF_ERROR(save());
  }
  if (done_ >= total())
    MINIGPTC_RETURN_IF_ERROR(evaluate());
  if (done_ < total() || evaluationIsDue()) {
    MINIGPTC_RETURN_IF_ERROR(save());
    return Status(StatusCode::cancelled, "interrupted after " + std::to_string(done_) + " of " +
                                             std::to_string(total()) + " steps; the state is saved")
        .withHelp("the same command with --resume goes on");
  }
  MINIGPTC_RETURN_IF_ERROR(save());
  MINIGPTC_RETURN_IF_ERROR(finish());
  return result_;
}

Status TrainingLoop::finish() {
  size_t warmup = size_t(std::max<int64_t>(config_.training.perfWarmupSteps, 0));
  std::vector<double> counted = seconds_;
  if (counted.size() > warmup)
    counted.erase(counted.begin(), counted.begin() + std::ptrdiff_t(warmup));
  Summary summary;
  summary.parameters = metadata_.numParameters();
  summary.memory = memoryOf(*program_.entry("train_step"));
  summary.peak = program_.entry("train_step")->peak;
  summary.modelFlopsPerStep = metadata_.modelFlopsPerStep;
  summary.medianStepSeconds = median(counted);
  if (options_.gemmPeak && isFirst() && summary.modelFlopsPerStep && summary.medianStepSeconds > 0)
    summary.gemmPeak = options_.gemmPeak();
  result_.steps = done_;
  if (summary.medianStepSeconds > 0)
    result_.tokensPerSecond =
        double(step_.batchSize() * step_.contextLength()) / summary.medianStepSeconds;
  summary.result = result_;
  if (std::optional<double> fraction = summary.gemmPeakFraction())
    log_.remark(format("matrix products: %.1f GFLOP/s, the GEMM library alone: %.1f GFLOP/s (%.2f)",
                       *fraction * summary.gemmPeak * 1e-9, summary.gemmPeak * 1e-9, *fraction));
  if (!options_.saveWeights.empty()) {
    MINIGPTC_RETURN_IF_ERROR(
        saveWeights(options_.saveWeights, metadata_.parameters, step_.parameters(), processes()));
    log_.saved(options_.saveWeights);
  }
  if (!isFirst())
    return Status::success();
  std::error_code ignored;
  if (seconds_.empty() && std::filesystem::exists(out_.summary(), ignored))
    return Status::success(); // Nothing was trained: what is there says more.
  return writeFileAtomically(out_.summary(), toJson(summary, options_));
}

} // namespace minigptc::runtime
