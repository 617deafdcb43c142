//===- Launched.h - a command in several processes --------------*- C++ -*-===//
//
// A command that a launcher has started several times joins the others first, so that each is
// told of what goes wrong in one of them, and how they end.
//
//   return asOneOfProcesses(
//       [&](std::shared_ptr<runtime::ProcessGroup> group) {
//         … {.processes = group} …              // null: there is one process
//         if (isFirst(group.get())) print(…);
//         return status;
//       },
//       [&](int64_t processes) { return checkDriver(processes, "host", devices); });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_COMMON_LAUNCHED_H
#define MINIGPTC_TOOLS_COMMON_LAUNCHED_H

#include "minigptc/runtime/ProcessGroup.h"

#include <functional>

namespace minigptc {

using ProcessGroupRef = std::shared_ptr<runtime::ProcessGroup>;

/// What is wrong with so many processes: looked at before the others are waited for.
using ProcessCheck = std::function<runtime::Status(int64_t processes)>;

/// The body's status, which says of several processes which one it is of. All end together:
/// a failure is told to the others. Of several, `check` comes first, before the others are waited
/// for; what it finds may be wrong in all of them, or in this one alone.
runtime::Status asOneOfProcesses(const std::function<runtime::Status(ProcessGroupRef)> &body,
                                 const ProcessCheck &check);

/// This process prints and writes what all of them have.
inline bool isFirst(const runtime::ProcessGroup *group) { return !group || group->isFirst(); }

/// Fails if a launcher has started several: for a command that one process does.
runtime::Status requireOneProcess(const std::string &command);

/// All have come to the same value of what `name` says.
runtime::Status agree(runtime::ProcessGroup *group, const std::string &name,
                      const std::string &value);

/// A wrong argument, which all processes were given; what may be wrong in one of them alone, as a
/// file that is not there, is success here: it is to be told to the others.
inline runtime::Status wrongEverywhere(const runtime::Status &status) {
  return status.code() == runtime::StatusCode::invalidArgument ? status : runtime::Status();
}

/// Fails unless the processes can share so many devices of the driver.
runtime::Status checkDriver(int64_t processes, const std::string &driver, int64_t devices);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_COMMON_LAUNCHED_H
