//===- Recordable.h - which entries can be recorded -------------*- C++ -*-===//
//
// A recording has neither branches nor loops that a value of the device decides, no scalars of the
// host that are made of such values (RecordedScalars.h), and no prints: the host waits for them.
//
//   if (canBeRecorded(program, entry)) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_RECORDABLE_H
#define MINIGPTC_RUNTIME_EXEC_RECORDABLE_H

#include "runtime/exec/Program.h"

namespace minigptc::runtime {

/// Whether all stages' blocks can be: the same answer on all devices and in all processes, as one
/// that records does not come to what the others do meanwhile.
bool canBeRecorded(const Program &program, const Entry &entry);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_RECORDABLE_H
