//===- RunFlags.h - flags of a training run ---------------------*- C++ -*-===//
//
// What `minigptc train` and `minigptc-run` both take: where the data comes from,
// how long to train, what to read and to leave behind.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_COMMON_RUNFLAGS_H
#define MINIGPTC_TOOLS_COMMON_RUNFLAGS_H

#include "runtime/train/TrainingSession.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace minigptc {

/// --text, --tokenizer, --data, --val, --dummy-data, --order.
struct DataFlags {
  std::string text, tokenizer, val, order;
  std::vector<std::string> data; ///< files and folders of `data prepare`, some with =WEIGHT
  bool dummy = false;

  void addTo(CLI::App &app);
  /// Puts what was given over the configuration's data section.
  runtime::Status apply(runtime::RunConfig &config) const;

private:
  runtime::Status applyFiles(runtime::DataConfig &data) const;
};

/// --steps, --out, --resume, --init-from, --save-weights, --dump-grads,
/// --peak-flops, --profile, --quiet.
struct RunFlags {
  DataFlags data;
  std::optional<int64_t> steps;
  std::string out, initFrom, saveWeights, dumpGrads, profile;
  double peakFlops = 0;
  bool quiet = false;

  void addTo(CLI::App &app);
  /// Puts what was given over the configuration.
  runtime::Status apply(runtime::RunConfig &config) const;
  /// Output folder, resumption and files; `runs/<name>` where --out is not given.
  runtime::TrainingOptions trainingOptions(const runtime::RunConfig &config) const;
  /// Whether --resume was given, and the folder it goes on from (may be empty).
  bool resumes() const;
  std::string resumedFolder() const;

private:
  CLI::Option *resume_ = nullptr;
  std::string resumeFrom_;
};

/// Trains and closes the log; with a file to profile to, writes that then, also for a run
/// that fails or is interrupted.
runtime::StatusOr<runtime::TrainingResult> runTraining(runtime::TrainingSession &training,
                                                       runtime::Session &session,
                                                       const std::string &profile,
                                                       std::unique_ptr<runtime::TrainingLog> log);

/// One line on stdout: what a run on such devices came to.
void printResult(const runtime::TrainingResult &result, const std::string &outDir, bool emulated);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_COMMON_RUNFLAGS_H
