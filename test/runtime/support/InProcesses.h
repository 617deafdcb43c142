//===- InProcesses.h - processes, with threads in their place ---*- C++ -*-===//
//
//   std::vector<Status> statuses = inProcesses(2, [](Group &group) {
//     return group->allGather("a step", "").status();
//   });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_RUNTIME_SUPPORT_INPROCESSES_H
#define MINIGPTC_TEST_RUNTIME_SUPPORT_INPROCESSES_H

#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/collectives/Processes.h"

#include <functional>

namespace minigptc::runtime::test {

using Group = std::shared_ptr<ProcessGroup>;

int freePort();
Processes placeOf(int64_t rank, int64_t count, int port);

/// Runs `body` in a thread for each process, and gives what each ends with.
std::vector<Status> inProcesses(int64_t count, const std::function<Status(Group &)> &body,
                                ProcessOptions options = {.arrival = std::chrono::seconds(20),
                                                          .silence = std::chrono::seconds(20)});
/// A CHECK for each.
void checkAllWell(const std::vector<Status> &statuses);

} // namespace minigptc::runtime::test

#endif // MINIGPTC_TEST_RUNTIME_SUPPORT_INPROCESSES_H
