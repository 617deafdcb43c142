//===- ShadowMemory.h - who touched which bytes when ------------*- C++ -*-===//
//
// Beside each granule of memory stand its last write and up to two reads: the thread, the
// site and the time. Time is one counter of the emulator, which every barrier, every block
// and every launch moves on, so that two numbers decide whether two accesses are ordered:
//
//   recorded before this launch began          ordered
//   recorded before this block began           another block of the launch: not ordered
//   recorded by this thread                    ordered
//   recorded before the block's last barrier   ordered
//   same warp, before the warp's last barrier  ordered
//   else                                       not ordered: a race, if one of them writes
//
// Two reads suffice, because a barrier orders all threads of a block or of a warp: a write
// that is not ordered after some read is not ordered after one of the two that are kept (a
// read of another block, or the latest ones, of two warps if two warps read). Atomic operations
// are kept as writes that are ordered for none of those who did them. Nothing need be cleared
// between launches, only when the counter nears its end (`forget`).
//
// A granule has 4 bytes, or 2 or 1 in pages where such accesses occur; pages get records when
// they are first touched. 24 bytes a granule.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SHADOWMEMORY_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SHADOWMEMORY_H

#include "runtime/drivers/cuda/emulator/EmulatorAbi.h"
#include "runtime/drivers/cuda/emulator/Findings.h"

#include <memory>
#include <optional>
#include <vector>

namespace minigptc::runtime::emulator {

/// Who accessed, packed into a word; 0: nobody.
class AccessRecord {
public:
  static constexpr uint32_t maxSite = (1u << 19) - 1;
  enum Kind : uint32_t {
    plain,
    pending, ///< an asynchronous copy that is under way
    atomic,
    atomicWarp,  ///< atomic operations of several lanes of a warp, of which this is the last
    atomicBlock, ///< of several warps
  };

  AccessRecord() = default;
  AccessRecord(uint32_t time, uint32_t thread, uint32_t site, Kind kind)
      : word(uint64_t(time) << 32 | thread << 22 | site << 3 | kind) {}
  uint32_t time() const { return uint32_t(word >> 32); }
  uint32_t thread() const { return uint32_t(word) >> 22; }
  uint32_t warp() const { return thread() / warpSize; }
  uint32_t site() const { return uint32_t(word) >> 3 & maxSite; }
  Kind kind() const { return Kind(word & 7); }
  bool isAtomic() const { return kind() >= atomic; }

private:
  uint64_t word = 0;
};

/// Who accesses now, and what is ordered before.
struct Accessor {
  uint32_t now;         ///< the time
  uint32_t launch;      ///< when the launch began
  uint32_t block;       ///< when the block began
  uint32_t barrier;     ///< of the block's last barrier
  uint32_t warpBarrier; ///< of the warp's last one
  uint32_t thread;      ///< in the block
  uint32_t site;
  uint32_t flags; ///< of the site

  bool isAtomic() const { return flags & siteAtomic; }
  bool orderedAfter(AccessRecord other) const {
    if (other.time() < block)
      return other.time() < launch;
    return (other.thread() == thread && other.kind() < AccessRecord::atomicWarp) ||
           other.time() < barrier ||
           (other.warp() == thread / warpSize && other.time() < warpBarrier &&
            other.kind() != AccessRecord::atomicBlock);
  }
  AccessRecord record() const {
    return record(isAtomic() ? AccessRecord::atomic : AccessRecord::plain);
  }
  AccessRecord record(AccessRecord::Kind kind) const { return {now, thread, site, kind}; }
};

/// Why an access is objected to, and the record it clashes with.
struct Clash {
  FindingKind kind;
  uintptr_t address;
  AccessRecord other;
};

class ShadowMemory {
public:
  ShadowMemory(uintptr_t begin, uint64_t bytes);

  /// Records the access; the first clash. A read of a granule whose last write is older than
  /// `writtenSince` is one of uninitialised memory.
  std::optional<Clash> access(uintptr_t address, uint64_t bytes, const Accessor &by,
                              uint32_t writtenSince);
  /// The bytes are the target of an asynchronous copy under way, or (`pending` false) have
  /// just been written by one.
  void setWriter(uintptr_t address, uint64_t bytes, const Accessor &by, bool pending);
  /// They were written before the launches to come.
  void markWritten(uintptr_t address, uint64_t bytes);
  /// Appends what the launch that began at that time has read and written, in order.
  void collectTouched(uint32_t launch, std::vector<TouchedRange> &ranges) const;
  /// All accesses so far are ordered before what comes.
  void forget();

private:
  struct Cell {
    AccessRecord write, reads[2];
  };
  struct Page {
    std::unique_ptr<Cell[]> cells;
    uint32_t shift = 2;   ///< a granule has 1 << shift bytes
    uint32_t touched = 0; ///< by this launch last
  };
  static constexpr uint32_t pageShift = 12, pageBytes = 1u << pageShift;

  static void refine(Page &page, uint32_t shift);
  static std::optional<FindingKind> check(Cell &cell, const Accessor &by, uint32_t writtenSince,
                                          AccessRecord &other);
  static void recordRead(Cell &cell, const Accessor &by);
  static void recordWrite(Cell &cell, const Accessor &by);
  Page &pageFor(uintptr_t address, uint64_t bytes);
  /// Calls `visit(cell, address)` for the granules until it returns true.
  template <typename Visit> void forCells(uintptr_t address, uint64_t bytes, Visit visit);

  void noteTouched(uintptr_t address, uint64_t bytes, uint32_t launch);

  uintptr_t base;
  std::vector<Page> pages;
  std::vector<uint32_t> touchedPages; ///< by the launch `touchedBy`
  uint32_t touchedBy = 0;
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SHADOWMEMORY_H
