//===- ProgramMemory.h - what a program takes of a device -------*- C++ -*-===//
//
//   uint64_t bytes = queueMemory(program, entry, device);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_PROGRAMMEMORY_H
#define MINIGPTC_RUNTIME_EXEC_PROGRAMMEMORY_H

#include "minigptc/runtime/Session.h"
#include "runtime/exec/Program.h"
#include "runtime/hal/Device.h"

namespace minigptc::runtime {

/// What the plan says an entry's memory consists of at its peak.
std::vector<MemoryShare> sharesOfPeak(const Program &program, std::string_view entry);

/// Bytes that a queue takes for the products and kernels of an entry's blocks and those that they
/// call.
uint64_t queueMemory(const Program &program, const Entry &entry, const Device &device);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_PROGRAMMEMORY_H
