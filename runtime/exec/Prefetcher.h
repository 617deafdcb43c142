//===- Prefetcher.h - inputs that go to a device ahead of time --*- C++ -*-===//
//
// While the device works on one step, the next one's batch is copied to it: from pinned
// memory, by a queue of its own. The step that reads it waits for the copy on the device,
// not on the host.
//
//   Prefetcher prefetcher(device);
//   MINIGPTC_RETURN_IF_ERROR(prefetcher.send(buffer));   // returns before it is there
//
// Memory is used again once nobody holds what was sent in it: two batches take turns.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_PREFETCHER_H
#define MINIGPTC_RUNTIME_EXEC_PREFETCHER_H

#include "runtime/exec/ResidentMemory.h"

namespace minigptc::runtime {

class Prefetcher {
public:
  explicit Prefetcher(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~Prefetcher();
  Prefetcher(const Prefetcher &) = delete;
  Prefetcher &operator=(const Prefetcher &) = delete;

  /// Nothing is done with what is on the device already, and with sizes that are not worth it:
  /// these go with the step.
  Status send(const std::shared_ptr<ArrayBuffer> &buffer);

private:
  struct Slot {
    std::unique_ptr<Buffer> staging;
    std::shared_ptr<ResidentMemory> memory;
  };
  StatusOr<Slot *> slotOf(uint64_t bytes);

  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_; ///< made when it is first needed
  std::vector<Slot> slots_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_PREFETCHER_H
