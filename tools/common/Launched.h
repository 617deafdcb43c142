//===- Launched.h - a command in several processes --------------*- C++ -*-===//
//
// A command that a launcher has started several times joins the others first, so that each is
// told of what goes wrong in one of them, and how they end.
//
//   return asOneOfProcesses([&](std::shared_ptr<runtime::ProcessGroup> group) {
//     … {.processes = group} …                  // null: there is one process
//     if (isFirst(group.get())) print(…);
//     return status;
//   });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_COMMON_LAUNCHED_H
#define MINIGPTC_TOOLS_COMMON_LAUNCHED_H

#include "minigptc/runtime/ProcessGroup.h"

#include <functional>

namespace minigptc {

using ProcessGroupRef = std::shared_ptr<runtime::ProcessGroup>;

/// The body's status, which says of several processes which one it is of. All end together:
/// a failure is told to the others.
runtime::Status asOneOfProcesses(const std::function<runtime::Status(ProcessGroupRef)> &body);

/// This process prints and writes what all of them have.
inline bool isFirst(const runtime::ProcessGroup *group) { return !group || group->isFirst(); }

/// Fails if a launcher has started several: for a command that one process does.
runtime::Status requireOneProcess(const std::string &command);

/// All have come to the same value of what `name` says.
runtime::Status agree(runtime::ProcessGroup *group, const std::string &name,
                      const std::string &value);

/// Fails unless the driver's devices work together over processes, so many in each.
runtime::Status checkDriver(const runtime::ProcessGroup &group, const std::string &driver,
                            int64_t devices);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_COMMON_LAUNCHED_H
