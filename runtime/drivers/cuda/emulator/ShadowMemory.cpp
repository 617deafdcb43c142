#include "runtime/drivers/cuda/emulator/ShadowMemory.h"

#include <algorithm>

namespace minigptc::runtime::emulator {

/// The time of what was written before any launch.
static constexpr uint32_t kBeforeLaunches = 1;

ShadowMemory::ShadowMemory(uintptr_t begin, uint64_t bytes)
    : base(begin & ~uintptr_t(15)), pages((begin - base + bytes + pageBytes - 1) >> pageShift) {}

void ShadowMemory::refine(Page &page, uint32_t shift) {
  uint32_t count = pageBytes >> shift, repeat = page.shift - shift;
  auto cells = std::make_unique<Cell[]>(count);
  for (uint32_t i = 0; i < count; ++i)
    cells[i] = page.cells[i >> repeat];
  page.cells = std::move(cells);
  page.shift = shift;
}

ShadowMemory::Page &ShadowMemory::pageFor(uintptr_t address, uint64_t bytes) {
  Page &page = pages[(address - base) >> pageShift];
  uint64_t misfit = (address | bytes) & 3;
  uint32_t shift = misfit == 0 ? 2 : misfit == 2 ? 1 : 0;
  if (!page.cells) {
    page.shift = shift;
    page.cells = std::make_unique<Cell[]>(pageBytes >> shift);
  } else if (shift < page.shift) {
    refine(page, shift);
  }
  return page;
}

template <typename Visit>
void ShadowMemory::forCells(uintptr_t address, uint64_t bytes, Visit visit) {
  for (uintptr_t end = address + bytes; address < end;) {
    uintptr_t offset = (address - base) & (pageBytes - 1);
    uint64_t count = std::min<uint64_t>(end - address, pageBytes - offset);
    Page &page = pageFor(address, count);
    Cell *cell = &page.cells[offset >> page.shift];
    for (uint64_t done = 0; done < count; done += uint64_t(1) << page.shift)
      if (visit(*cell++, address + done))
        return;
    address += count;
  }
}

void ShadowMemory::recordRead(Cell &cell, const Accessor &by) {
  AccessRecord &first = cell.reads[0], &second = cell.reads[1];
  // A read of another block of this launch: every write of this block clashes with it.
  if (first.time() < by.block && first.time() >= by.launch)
    return;
  if (by.orderedAfter(first))
    first = by.record();
  else if (by.orderedAfter(second))
    second = by.record();
  else if (first.warp() == second.warp() && first.warp() != by.thread / warpSize)
    second = by.record();
}

void ShadowMemory::recordWrite(Cell &cell, const Accessor &by) {
  AccessRecord last = cell.write;
  if (!by.isAtomic() || !last.isAtomic() || by.orderedAfter(last)) {
    cell.write = by.record();
  } else if (last.time() >= by.block) { // else of another block, which nothing orders
    bool oneWarp = last.warp() == by.thread / warpSize && last.kind() != AccessRecord::atomicBlock;
    cell.write = by.record(oneWarp ? AccessRecord::atomicWarp : AccessRecord::atomicBlock);
  }
}

std::optional<FindingKind> ShadowMemory::check(Cell &cell, const Accessor &by,
                                               uint32_t writtenSince, AccessRecord &other) {
  AccessRecord write = cell.write;
  other = write;
  if (write.time() >= writtenSince && write.kind() == AccessRecord::pending)
    return FindingKind::pendingCopy;
  if (by.flags & siteReads) {
    if (write.time() < writtenSince)
      return FindingKind::uninitialised;
    if ((by.flags & siteConstant) && write.time() >= by.launch)
      return FindingKind::staleConstant;
  }
  if (!by.orderedAfter(write) && !(by.isAtomic() && write.isAtomic()))
    return FindingKind::race;
  if (!(by.flags & siteWrites)) {
    recordRead(cell, by);
    return std::nullopt;
  }
  recordWrite(cell, by);
  for (AccessRecord read : cell.reads)
    if (!by.orderedAfter(read) && !(by.isAtomic() && read.isAtomic())) {
      other = read;
      return FindingKind::race;
    }
  return std::nullopt;
}

void ShadowMemory::noteTouched(uintptr_t address, uint64_t bytes, uint32_t launch) {
  if (touchedBy != launch) {
    touchedBy = launch;
    touchedPages.clear();
  }
  uintptr_t last = (address - base + bytes - 1) >> pageShift;
  for (uintptr_t page = (address - base) >> pageShift; page <= last; ++page)
    if (pages[page].touched != launch) {
      pages[page].touched = launch;
      touchedPages.push_back(uint32_t(page));
    }
}

void ShadowMemory::collectTouched(uint32_t launch, std::vector<TouchedRange> &ranges) const {
  if (touchedBy != launch)
    return;
  std::vector<uint32_t> order = touchedPages;
  std::sort(order.begin(), order.end());
  for (uint32_t number : order) {
    const Page &page = pages[number];
    uintptr_t address = base + (uintptr_t(number) << pageShift), size = uintptr_t(1) << page.shift;
    for (uint32_t i = 0; page.cells && i < pageBytes >> page.shift; ++i, address += size) {
      const Cell &cell = page.cells[i];
      bool written = cell.write.time() >= launch;
      bool read = cell.reads[0].time() >= launch || cell.reads[1].time() >= launch;
      if (!written && !read)
        continue;
      if (!ranges.empty() && ranges.back().end == address && ranges.back().read == read &&
          ranges.back().written == written)
        ranges.back().end += size;
      else
        ranges.push_back({address, address + size, read, written});
    }
  }
}

std::optional<Clash> ShadowMemory::access(uintptr_t address, uint64_t bytes, const Accessor &by,
                                          uint32_t writtenSince) {
  noteTouched(address, bytes, by.launch);
  std::optional<Clash> clash;
  forCells(address, bytes, [&](Cell &cell, uintptr_t place) {
    AccessRecord other;
    std::optional<FindingKind> kind = check(cell, by, writtenSince, other);
    if (kind && !clash)
      clash = Clash{*kind, place, other};
    return false;
  });
  return clash;
}

void ShadowMemory::setWriter(uintptr_t address, uint64_t bytes, const Accessor &by, bool pending) {
  forCells(address, bytes, [&](Cell &cell, uintptr_t) {
    cell.write = by.record(pending ? AccessRecord::pending : AccessRecord::plain);
    return false;
  });
}

void ShadowMemory::markWritten(uintptr_t address, uint64_t bytes) {
  forCells(address, bytes, [&](Cell &cell, uintptr_t) {
    if (cell.write.time() == 0)
      cell.write = AccessRecord(kBeforeLaunches, 0, 0, AccessRecord::plain);
    return false;
  });
}

void ShadowMemory::forget() {
  for (Page &page : pages)
    for (uint32_t i = 0; page.cells && i < pageBytes >> page.shift; ++i) {
      Cell &cell = page.cells[i];
      bool written = cell.write.time() != 0;
      cell = Cell();
      if (written)
        cell.write = AccessRecord(kBeforeLaunches, 0, 0, AccessRecord::plain);
    }
}

} // namespace minigptc::runtime::emulator
