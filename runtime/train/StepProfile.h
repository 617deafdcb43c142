//===- StepProfile.h - where the time of a step goes ------------*- C++ -*-===//
//
// A program whose first train steps are profiled: instruction by instruction, with the
// threads that worked on it, and the user's lines.
//
//   StepProfile program(session);
//   training->run(program);                       // or TrainStep::bind(program)
//   writeFileAtomically("step.json", program.trace()); // for ui.perfetto.dev
//   fputs(program.report().c_str(), stderr);
//
// The first steps are left out where there are enough: they touch their memory for the
// first time. After the last profiled step the program runs as if there were no profile.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_STEPPROFILE_H
#define MINIGPTC_RUNTIME_TRAIN_STEPPROFILE_H

#include "runtime/train/TrainingProgram.h"

namespace minigptc::runtime {

/// An instruction, or a call, of a profiled step.
struct ProfiledInstruction {
  const InstructionInfo *what; ///< of the session
  int64_t startNanoseconds = 0, endNanoseconds = 0;
  std::vector<ThreadSpan> threads;
  int64_t device = 0;

  double seconds() const { return double(endNanoseconds - startNanoseconds) * 1e-9; }
  bool isCall() const { return what->kind == "call"; }
};

struct ProfiledStep {
  int64_t startNanoseconds = 0, endNanoseconds = 0;
  /// In order on each device; a call after its insides.
  std::vector<ProfiledInstruction> instructions;

  double seconds() const { return double(endNanoseconds - startNanoseconds) * 1e-9; }
};

class StepProfile final : public SessionProgram {
public:
  static constexpr size_t kWarmupSteps = 2, kSteps = 3;

  /// The session outlives it.
  explicit StepProfile(Session &session, std::string entry = "train_step")
      : SessionProgram(session), session_(session), entry_(std::move(entry)) {}

  StatusOr<std::vector<Array>> run(std::string_view entry, std::vector<Array> inputs) override;
  StatusOr<std::vector<Array>> runInterruptibly(std::string_view entry,
                                                std::vector<Array> &inputs) override;

  /// Those that count: after the warm-up, if there are any.
  std::span<const ProfiledStep> steps() const;
  /// In the format of base/TraceFile.h: the steps with their calls and instructions, then a
  /// track for each thread; of many devices one after the other. Of a pipeline, passes of
  /// micro-batches are "F0", "B0", …, and `pipeline` is a StageProfile. Empty if no step was run.
  std::string trace() const;
  /// Two tables: the most expensive lines, and every kernel and product of at least 0.1 %;
  /// the mean over devices. Of a pipeline, a third of its stages.
  std::string report() const;

private:
  StatusOr<std::vector<Array>> profiled(std::string_view entry,
                                        const std::function<StatusOr<std::vector<Array>>()> &run);

  Session &session_;
  std::string entry_;
  std::vector<ProfiledStep> steps_;
};

/// Writes the trace to `path` and the report to stderr; says so if there is nothing.
Status writeProfile(const StepProfile &profile, const std::string &path);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_STEPPROFILE_H
