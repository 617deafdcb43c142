//===- UndoLog.h - what an interrupted step wrote, taken back ---*- C++ -*-===//
//
// A step overwrites its donated inputs, nearly all of them at its end: the gradients'
// norm is known only then. Until the first large one is written, what was written
// before (a counter of steps, say) is kept, and the step can be given up.
//
//   UndoLog log(donated);                 // the donated inputs' bytes
//   log.before(outputs);                  // each time before these are written
//   if (log.canUndo() && cancellationRequested())
//     log.undo();                         // the donated inputs are as they were
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_UNDOLOG_H
#define MINIGPTC_RUNTIME_EXEC_UNDOLOG_H

#include <cstddef>
#include <span>
#include <vector>

namespace minigptc::runtime {

/// Refers to host memory of the caller.
class UndoLog {
public:
  explicit UndoLog(std::vector<std::span<std::byte>> donated);

  /// To be called before `outputs`, addresses of buffers or places in them, are written.
  void before(std::span<void *const> outputs);
  bool canUndo() const { return canUndo_; }
  /// Only while `canUndo()`, and when no write is in flight.
  void undo() const;

private:
  struct Saved {
    std::span<std::byte> buffer;
    std::vector<std::byte> bytes;
  };
  void save(std::span<std::byte> buffer);

  std::vector<std::span<std::byte>> donated_; ///< by address
  std::vector<Saved> saved_;
  bool canUndo_ = true;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_UNDOLOG_H
