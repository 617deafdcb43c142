//===- ProcessWorld.h - collectives between processes -----------*- C++ -*-===//
//
// Devices that compute in the host's memory, a block of them in each process, as threads.
// Groups whose members are all in this process meet as in an InProcessWorld. In others each
// member sends what it brings to the processes of the rest and computes its output alone, in the
// order of members: the same bits, and more bytes than a ring would send. Messages to devices of
// other processes are RemoteMailboxes.
//
//   ProcessWorld world(group, {.first = 4, .count = 4}, 8, {.placeOf = …}, {{0, 4}, {4, 0}});
//   world.begin();
//   // in thread d, for each d of the block:
//   Status status = world.end(d).run(*queue, problem, inputs, outputs, site);
//   world.finish(d, status);
//   world.failure();
//
// All processes begin the same runs in the same order. A failure of one device ends those of
// all processes, for good: the group is not good for another run.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_PROCESSWORLD_H
#define MINIGPTC_RUNTIME_COLLECTIVES_PROCESSWORLD_H

#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/collectives/InProcess.h"

namespace minigptc::runtime {

class ProcessWorld final : public World {
public:
  /// `group` outlives it. All processes make their worlds in the same order. `ways`: from which
  /// device to which there are messages.
  ProcessWorld(ProcessGroup &group, DeviceRange here, int64_t devices, InProcessOptions options,
               std::span<const std::pair<int64_t, int64_t>> ways = {});
  ~ProcessWorld() override;

  Communicator &end(int64_t device) override;
  void begin() override;
  void finish(int64_t device, const Status &status) override;
  Status failure() override;

private:
  class End;
  int64_t processOf(int64_t device) const { return device / here_.count; }
  /// " at FILE:LINE", or nothing.
  std::string at(uint32_t location) const;

  ProcessGroup &group_;
  DeviceRange here_;
  std::function<std::string(uint32_t)> placeOf_;
  InProcessWorld local_; ///< has all devices, of which those elsewhere never come
  std::vector<std::unique_ptr<End>> ends_;
  std::string name_; ///< of the run: before keys of messages
  int64_t runs_ = 0;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_PROCESSWORLD_H
