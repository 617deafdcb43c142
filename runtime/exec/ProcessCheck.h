//===- ProcessCheck.h - an artifact for several processes -------*- C++ -*-===//
//
//   MINIGPTC_RETURN_IF_ERROR(checkProcesses(artifact, /*driver=*/"", 2));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_PROCESSCHECK_H
#define MINIGPTC_RUNTIME_EXEC_PROCESSCHECK_H

#include "minigptc/runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace minigptc::runtime {

/// Whether so many processes can share the devices of an artifact's program, which needs no other
/// process to be seen. `driver` as in SessionOptions.
Status checkProcesses(std::span<const std::byte> artifact, const std::string &driver,
                      int64_t processes);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_PROCESSCHECK_H
