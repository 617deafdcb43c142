//===- SessionProcesses.h - what a session's processes agree on -*- C++ -*-===//
//
// Each function is called by all processes of the group, at the same place.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_SESSIONPROCESSES_H
#define MINIGPTC_RUNTIME_EXEC_SESSIONPROCESSES_H

#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/exec/NonFinite.h"

namespace minigptc::runtime {

/// All have the same program.
Status agreeOnProgram(ProcessGroup &processes, std::span<const std::byte> artifact);

/// All begin the run of that entry, or none: if it is `prepared` everywhere and, where it may be
/// given up, nobody is asked to stop (`cancelled`; `stopped` says so).
Status agreeToRun(ProcessGroup &processes, std::string_view entry, const Status &prepared,
                  bool mayStop, bool &stopped);

/// Of all processes' findings, the first.
StatusOr<NonFiniteReport> firstOf(ProcessGroup &processes, const NonFiniteFinder &mine);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_SESSIONPROCESSES_H
