//===- TrainingLog.h - what a run says while it goes ------------*- C++ -*-===//
//
// Progress and remarks go to stderr (or a test's ears), results to stdout and
// files. On a terminal the console log keeps one live line (step, loss,
// tokens/s, time left); elsewhere it writes a plain line a logged step.
//
//   std::unique_ptr<TrainingLog> log = makeConsoleLog(stderr, /*quiet=*/false);
//   log->remark("sequential order wraps after 160 sequences");
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_TRAININGLOG_H
#define MINIGPTC_RUNTIME_TRAIN_TRAININGLOG_H

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace minigptc::runtime {

/// One update, as a row of metrics.jsonl. Times in seconds.
struct StepRecord {
  int64_t step = 0; ///< 0 is the first update
  double loss = 0, gradNorm = 0, learningRate = 0;
  int64_t tokens = 0; ///< seen since the start of training
  double stepSeconds = 0, tokensPerSecond = 0;
  double mfu = -1;    ///< of `--peak-flops`; negative: not known
  bool finite = true; ///< false: the update was rejected
  /// Times are those of an emulation.
  bool emulated = false;
};

struct EvalRecord {
  int64_t step = 0;  ///< updates done
  std::string split; ///< train or val
  double loss = 0;   ///< mean, nats a token
};

/// Receives what happens; every function may be left as it is.
class TrainingLog {
public:
  virtual ~TrainingLog() = default;
  virtual void remark(const std::string &text) {}
  /// After every update; `logged` ones are those of `training.log_interval`.
  virtual void step(const StepRecord &record, int64_t totalSteps, bool logged) {}
  virtual void evaluation(const EvalRecord &record) {}
  /// A checkpoint or file was written.
  virtual void saved(const std::string &path) {}
};

/// Writes to `stream`; colours and the live line only on a terminal, colours not
/// with NO_COLOR. `quiet`: says nothing.
std::unique_ptr<TrainingLog> makeConsoleLog(std::FILE *stream, bool quiet);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TRAININGLOG_H
