//===- Pinned.h - emulated page-locked host memory --------------*- C++ -*-===//
//
// Memory that the program and the devices share. It is mapped twice: the program's mapping is
// protected while a copy is pending (against reading a copy's target, against writing its
// source), until the host has synchronised with the copy; copies use the other mapping. A
// forbidden access is noted by a signal handler, which lifts the protection and lets it happen.
// Pages are coarse, and a write of many bytes may touch its page beside a copy's source first:
// sources are compared, too, with what they were when the copy was submitted.
//
//   PinnedBlock *block = pinned.allocate(bytes);
//   pinned.begin(operation);           // operation->work->pinned says which bytes
//   pinned.settle(host, report);       // the host knows more now
//   pinned.collectFaults(report);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PINNED_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PINNED_H

#include "runtime/drivers/cuda/test/AccessLog.h"

#include <cstddef>

namespace minigptc::runtime::cuda::test {

struct PinnedBlock {
  std::byte *user = nullptr, *alias = nullptr;
  uint64_t bytes = 0, mapped = 0;
  int slot = -1; ///< in the signal handler's table
  std::string name;
  AccessLog log; ///< by the program's addresses
  PinnedBlock() : log(0, 0) {}
};

/// The host's end of a copy.
struct PinnedUse {
  std::shared_ptr<PinnedBlock> block;
  uint64_t offset = 0, bytes = 0;
  bool isTarget = false;
  std::byte *data() const { return block->alias + offset; }
};

class PinnedMemory {
public:
  PinnedMemory();
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory &) = delete;
  PinnedMemory &operator=(const PinnedMemory &) = delete;

  /// Null if there is no memory.
  std::shared_ptr<PinnedBlock> allocate(uint64_t bytes);
  std::shared_ptr<PinnedBlock> find(const void *pointer, uint64_t bytes) const;
  void free(const PinnedBlock &block);
  const std::map<uintptr_t, std::shared_ptr<PinnedBlock>> &all() const { return blocks; }

  /// A copy was submitted.
  void begin(const std::shared_ptr<Operation> &operation);
  /// A copy has written its target, which may be what an earlier one was made from.
  void written(const PinnedUse &target);
  using Report = std::function<void(const Operation &, bool write)>;
  /// Lifts the protection for copies that the host knows done; reports sources that changed.
  void settle(const VectorClock &host, const Report &report);
  /// Accesses of the host, by copies not known to be done, since the last call.
  void collectFaults(const Report &report);

private:
  struct Pending {
    std::shared_ptr<Operation> operation;
    std::vector<std::byte> source; ///< as it was submitted; empty for a target
    const PinnedUse &use() const { return *operation->work->pinned; }
  };
  void protect(const PinnedBlock &block);

  std::map<uintptr_t, std::shared_ptr<PinnedBlock>> blocks;
  std::vector<Pending> uses;
  uint64_t made = 0;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PINNED_H
