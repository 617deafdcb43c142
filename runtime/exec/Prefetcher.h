//===- Prefetcher.h - inputs that go to a device ahead of time --*- C++ -*-===//
//
// While the device works on one step, the next one's batch is copied to it: from pinned
// memory, by a queue of its own. The step that reads it waits for the copy on the device,
// not on the host.
//
//   StatusOr<std::unique_ptr<Prefetcher>> prefetcher = Prefetcher::create(device);
//   (*prefetcher)->provide();                               // no device works
//   MINIGPTC_RETURN_IF_ERROR((*prefetcher)->send(buffer));  // returns before it is there
//
// Memory is used again once nobody holds what was sent in it: two batches take turns. Sending
// allocates none, for that may wait for the device, whose collectives may wait for a device that
// the sender is to serve next: where memory is missing, `provide` makes it before the next run.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_PREFETCHER_H
#define MINIGPTC_RUNTIME_EXEC_PREFETCHER_H

#include "runtime/exec/ResidentMemory.h"

namespace minigptc::runtime {

class Prefetcher {
public:
  static StatusOr<std::unique_ptr<Prefetcher>> create(std::shared_ptr<Device> device);
  ~Prefetcher();
  Prefetcher(const Prefetcher &) = delete;
  Prefetcher &operator=(const Prefetcher &) = delete;

  /// Makes the memory that was missing since the last time, if there is any; while no device has
  /// work that another one waits for.
  void provide();
  /// Nothing is done where memory is missing, with what is on the device already, and with sizes
  /// that are not worth it: these go with the step.
  Status send(const std::shared_ptr<ArrayBuffer> &buffer);

private:
  struct Slot {
    std::unique_ptr<Buffer> staging;
    std::shared_ptr<ResidentMemory> memory;
  };
  Prefetcher(std::shared_ptr<Device> device, std::unique_ptr<Queue> queue)
      : device_(std::move(device)), queue_(std::move(queue)) {}
  Slot *freeSlotOf(uint64_t bytes);

  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> wanted_; ///< sizes of slots, two of each that was missing
  bool isFull_ = false;          ///< there was no memory for another
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_PREFETCHER_H
