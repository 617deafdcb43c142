//===- Profiler.h - when each instruction ran -------------------*- C++ -*-===//
//
//   Profiler profiler(program, /*device=*/0);
//   profiler.report([](const InstructionEvent &event) { ... });
//   stepper.run(entry, arguments, {.observer = &profiler});
//
// Hands an event to a callback after each instruction. What an instruction does is put
// into words once, so that the time between two instructions stays small.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_PROFILER_H
#define MINIGPTC_RUNTIME_EXEC_PROFILER_H

#include "minigptc/runtime/Session.h"
#include "runtime/exec/Stepper.h"

#include <unordered_map>

namespace minigptc::runtime {

/// What an instruction does, and what that comes to; of a copy, so many bytes. The program
/// outlives what comes out.
InstructionInfo describeInstruction(const Program &program, const Instruction &instruction,
                                    uint64_t copiedBytes);

/// `program` outlives it.
class Profiler final : public StepObserver {
public:
  Profiler(const Program &program, int64_t device) : program_(program), device_(device) {}
  /// The callback of the runs to come.
  void report(std::function<void(const InstructionEvent &)> callback) {
    callback_ = std::move(callback);
  }

  ThreadLog *threadLog() override { return &threads_; }
  Status before(const BoundInstruction &bound) override;
  Status after(const BoundInstruction &bound) override;
  void enter(const Instruction &call) override;
  void leave(const Instruction &call) override;

private:
  const InstructionInfo &infoOf(const Instruction &instruction, uint64_t copiedBytes);

  const Program &program_;
  int64_t device_;
  std::function<void(const InstructionEvent &)> callback_;
  std::unordered_map<const Instruction *, InstructionInfo> infos_;
  int64_t start_ = 0;
  std::vector<int64_t> callStarts_; ///< of the calls that are not over
  ThreadLog threads_;
  std::vector<ThreadSpan> spans_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_PROFILER_H
