//===- Profiler.h - when each instruction ran -------------------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_EXEC_PROFILER_H
#define MINIGPTC_RUNTIME_EXEC_PROFILER_H

#include "minigptc/runtime/Session.h"
#include "runtime/exec/Stepper.h"

namespace minigptc::runtime {

/// Hands an event to a callback after each instruction.
class Profiler final : public StepObserver {
public:
  Profiler(const Program &program, const std::function<void(const InstructionEvent &)> &callback)
      : program_(program), callback_(callback) {}

  Status before(const BoundInstruction &bound) override;
  Status after(const BoundInstruction &bound) override;

private:
  void describe(const Instruction &instruction, InstructionEvent &event) const;

  const Program &program_;
  const std::function<void(const InstructionEvent &)> &callback_;
  int64_t start_ = 0;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_PROFILER_H
