//===- UndoLog.h - what an interrupted step wrote, taken back ---*- C++ -*-===//
//
// A step overwrites its donated inputs, nearly all of them at its end: the gradients'
// norm is known only then. Until the first large one is written, what was written
// before (a counter of steps, say) is kept, and the step can be given up.
//
//   UndoLog log(donated);                 // the donated inputs' bytes
//   if (!log.before(outputs)) ...         // each time before these are written
//   if (log.canUndo() && cancellationRequested() && vote.cancel())
//     log.undo();                         // the donated inputs are as they were
//
// Where many devices run the step they give it up together or not at all: who is about to
// write its first large input commits all of them, unless one has cancelled before.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_UNDOLOG_H
#define MINIGPTC_RUNTIME_EXEC_UNDOLOG_H

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

namespace minigptc::runtime {

/// One decision of all devices of a step: to go on to its end, or to give it up.
class StepVote {
public:
  /// Whether the step goes on to its end.
  bool commit() { return decide(State::committed); }
  /// Whether the step is given up.
  bool cancel() { return decide(State::cancelled); }
  bool cancelled() const { return state_ == State::cancelled; }

private:
  enum class State { open, committed, cancelled };
  bool decide(State wanted) {
    State now = State::open;
    return state_.compare_exchange_strong(now, wanted) || now == wanted;
  }
  std::atomic<State> state_{State::open};
};

/// Refers to host memory of the caller.
class UndoLog {
public:
  UndoLog(std::vector<std::span<std::byte>> donated, StepVote &vote);

  /// To be called before `outputs`, addresses of buffers or places in them, are written.
  /// False: the step has been given up, and nothing may be written.
  bool before(std::span<void *const> outputs);
  bool canUndo() const { return canUndo_; }
  /// Only while `canUndo()`, and when no write is in flight.
  void undo() const;

private:
  struct Saved {
    std::span<std::byte> buffer;
    std::vector<std::byte> bytes;
  };
  bool save(std::span<std::byte> buffer);

  StepVote *vote_;
  std::vector<std::span<std::byte>> donated_; ///< by address
  std::vector<Saved> saved_;
  bool canUndo_ = true;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_UNDOLOG_H
