//===- Interrupt.h - stopping a run with Ctrl-C -----------------*- C++ -*-===//
//
// While an InterruptGuard lives, the first SIGINT or SIGTERM asks the run to end
// after the step at hand, a second one ends the process with status 130. A file
// beyond the process's size limit is an error of the write, not the end.
//
//   InterruptGuard guard(true);
//   while (!InterruptGuard::requested())
//     step();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_INTERRUPT_H
#define MINIGPTC_RUNTIME_TRAIN_INTERRUPT_H

#include <csignal>

namespace minigptc::runtime {

/// One at a time in a process. Restores the handlers that it found.
class InterruptGuard {
public:
  /// `install` false: leaves the process's handlers alone.
  explicit InterruptGuard(bool install);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard &) = delete;
  InterruptGuard &operator=(const InterruptGuard &) = delete;

  static bool requested();

private:
  bool installed_;
  struct sigaction oldInterrupt_ = {}, oldTerminate_ = {}, oldFileSize_ = {};
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_INTERRUPT_H
