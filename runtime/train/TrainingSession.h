//===- TrainingSession.h - a training run from start to end -----*- C++ -*-===//
//
// Everything of `minigptc train` but the compiler: data, parameters in and out,
// the loop, evaluations, checkpoints, metrics, interruption.
//
//   TrainingOptions options;
//   options.outDir = "runs/tiny";
//   auto training = TrainingSession::prepare(config, options);  // before compiling
//   if (!training) ...
//   SessionProgram program(session);
//   StatusOr<TrainingResult> result = training->run(program);
//
// Two runs with the same configuration give the same bytes of losses, weights and
// checkpoints, whatever was stopped and resumed in between: the batch and the key
// of a step are functions of (seed, step) alone.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_TRAININGSESSION_H
#define MINIGPTC_RUNTIME_TRAIN_TRAININGSESSION_H

#include "runtime/train/RunConfig.h"
#include "runtime/train/TrainingLog.h"
#include "runtime/train/TrainingProgram.h"

#include <functional>
#include <limits>
#include <map>
#include <memory>

namespace minigptc::runtime {

/// What the compiler did, for summary.json. Times in seconds.
struct CompileReport {
  double traceSeconds = 0, passesSeconds = 0, codegenSeconds = 0, totalSeconds = 0;
  int64_t kernels = 0, kernelsCompiled = 0;
};

struct TrainingOptions {
  /// `config.yaml`, `metrics.jsonl`, `summary.json`, `checkpoints/`. Refused if it
  /// is not empty and `resume` is false.
  std::string outDir;
  /// Go on from the newest complete checkpoint of `resumeFrom` (empty: `outDir`).
  bool resume = false;
  std::string resumeFrom;
  std::string initFrom;    ///< weight file with the first parameters
  std::string saveWeights; ///< weight file, written after the last step
  std::string dumpGrads;   ///< gradients of the first step, before clipping (entry `gradients`)
  /// Makes the program of which `dumpGrads` takes that entry; empty: the one that is trained.
  /// Entries that share functions are fused together, so that a program with one entry more
  /// is another one, by rounding.
  std::function<StatusOr<std::unique_ptr<TrainingProgram>>()> gradientProgram;
  double peakFlops = 0; ///< of the device; positive: metrics have `mfu`

  /// Text of `config.yaml`; empty: the configuration as JSON, which is YAML too.
  std::string configYaml;
  /// For summary.json.
  std::string target = "cpu", mode;
  int64_t devices = 1;
  std::map<std::string, int64_t> mesh;
  std::optional<CompileReport> compile;
  /// Measures the GEMM library on 1024³ with the session's threads: FLOP/s, best
  /// of 20 runs. Empty: summary.json has no fraction.
  std::function<double()> gemmPeak;

  /// Which train together; null: this process alone. All have the same configuration and
  /// options, and see the same folder; the first one writes everything but its shares of
  /// checkpoints.
  std::shared_ptr<ProcessGroup> processes = {};

  /// Receives progress; not owned, null: silent.
  TrainingLog *log = nullptr;
  /// SIGINT and SIGTERM (base/Cancellation.h) end the run after the step at hand, with a
  /// checkpoint; a second one ends the process.
  bool handleSignals = true;
};

struct TrainingResult {
  int64_t steps = 0; ///< updates done, those of earlier sessions included
  int64_t made = 0;  ///< steps of this session, skipped ones included
  /// Of the last batch, before its update; NaN if no step was made.
  double finalLoss = std::numeric_limits<double>::quiet_NaN();
  int64_t skipped = 0;        ///< updates that were rejected (on_nonfinite: skip)
  double tokensPerSecond = 0; ///< median over the steps after perf_warmup_steps
};

/// Movable; `run` once.
class TrainingSession {
public:
  /// Checks and opens what needs no program: output folder, data, weight file,
  /// checkpoint to resume from. Touches the output folder only to create it.
  static StatusOr<TrainingSession> prepare(RunConfig config, TrainingOptions options);
  TrainingSession(TrainingSession &&) noexcept;
  TrainingSession &operator=(TrainingSession &&) noexcept;
  ~TrainingSession();

  /// What is known only once the program is compiled and loaded; as in TrainingOptions.
  void setCompileReport(CompileReport report);
  void setGemmPeak(std::function<double()> measure);
  void setGradientProgram(std::function<StatusOr<std::unique_ptr<TrainingProgram>>()> make);

  /// Trains to `training.max_iters`. Status `nonFinite` (exit 3): stopped on a loss
  /// or gradient that is not finite, state and batch saved; `cancelled` (exit 130):
  /// interrupted, checkpoint saved.
  StatusOr<TrainingResult> run(TrainingProgram &program);

private:
  struct Impl;
  explicit TrainingSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TRAININGSESSION_H
