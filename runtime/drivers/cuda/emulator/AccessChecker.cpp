#include "runtime/drivers/cuda/emulator/AccessChecker.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::emulator {

static uintptr_t number(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

AccessChecker::AccessChecker(LaunchState &state, DeviceMemory &memory, SharedMemory shared)
    : state(state), memory(memory), shared(shared), ranges(state.record.siteCount),
      sourceRanges(state.record.siteCount) {}

bool AccessChecker::access(GpuThread &thread, const void *address, uint64_t bytes,
                           uint32_t siteNumber) {
  const Site &site = state.record.sites[siteNumber];
  return bytes == 0 || check(thread, number(address), bytes, siteNumber, site.flags, site.alignment,
                             ranges[siteNumber]);
}

bool AccessChecker::check(GpuThread &thread, uintptr_t address, uint64_t bytes, uint32_t site,
                          uint32_t flags, uint32_t alignment, Range &range) {
  if (!range.holds(address, bytes)) {
    Outcome outcome = resolve(thread, address, bytes, site, flags, range);
    if (outcome != Outcome::found)
      return outcome == Outcome::local;
  }
  if (address & (alignment - 1)) {
    state.report(FindingKind::misaligned, thread, site,
                 describe(range, address) + ", which is no multiple of " +
                     std::to_string(alignment),
                 address);
    return false;
  }
  if (!range.shadow)
    return true;
  Accessor by = state.accessor(thread, site);
  by.flags = flags;
  if (range.isShared)
    by.launch = state.blockTime; // what earlier blocks had there was other memory
  std::optional<Clash> clash = range.shadow->access(
      address, bytes, by, range.isShared ? state.blockTime : range.writtenSince);
  if (clash)
    state.report(*clash, thread, site, describe(range, clash->address));
  return true;
}

bool AccessChecker::localAccess(GpuThread &thread, uintptr_t base, uint64_t size, uintptr_t address,
                                uint64_t bytes, uint32_t site) {
  if (address - base <= size && bytes <= size - (address - base))
    return true;
  state.report(FindingKind::outOfBounds, thread, site,
               "byte " + std::to_string(int64_t(address - base)) + " of an array of " +
                   std::to_string(size) + " bytes in local memory",
               address);
  return false;
}

bool AccessChecker::beginCopy(GpuThread &thread, const AsyncCopy &copy) {
  const Site &site = state.record.sites[copy.site];
  Range &target = ranges[copy.site], &source = sourceRanges[copy.site];
  if (number(copy.target) - number(shared.begin) >= shared.reach)
    return outOfBounds(thread, number(copy.target), copy.bytes, copy.site,
                       "not in shared memory") == Outcome::found;
  if (!check(thread, number(copy.target), copy.bytes, copy.site, siteWrites, site.alignment,
             target))
    return false;
  if (copy.sourceBytes && !check(thread, number(copy.source), copy.sourceBytes, copy.site,
                                 siteReads, site.alignment, source))
    return false;
  if (target.shadow)
    target.shadow->setWriter(number(copy.target), copy.bytes, state.accessor(thread, copy.site),
                             /*pending=*/true);
  std::memset(copy.target, 0xff, copy.bytes);
  return true;
}

bool AccessChecker::finishCopy(GpuThread &thread, const AsyncCopy &copy, uint32_t waitSite) {
  const Site &site = state.record.sites[copy.site];
  // The source is read at some time up to now.
  if (copy.sourceBytes && !check(thread, number(copy.source), copy.sourceBytes, copy.site,
                                 siteReads, site.alignment, sourceRanges[copy.site]))
    return false;
  std::memcpy(copy.target, copy.source, copy.sourceBytes);
  std::memset(static_cast<char *>(copy.target) + copy.sourceBytes, 0,
              copy.bytes - copy.sourceBytes);
  if (state.options.trackAccesses)
    shared.shadow->setWriter(number(copy.target), copy.bytes, state.accessor(thread, waitSite),
                             /*pending=*/false);
  return true;
}

AccessChecker::Outcome AccessChecker::resolve(GpuThread &thread, uintptr_t address, uint64_t bytes,
                                              uint32_t siteNumber, uint32_t flags, Range &range) {
  const Site &site = state.record.sites[siteNumber];
  bool inShared = address - number(shared.begin) < shared.reach;
  if (inShared && (site.flags & siteGlobal))
    return outOfBounds(thread, address, bytes, siteNumber, "in shared, not device memory");
  if (inShared)
    return resolveShared(thread, address, bytes, siteNumber, range);
  if (site.flags & siteShared && !(site.flags & siteAsync))
    return outOfBounds(thread, address, bytes, siteNumber, "not in shared memory");
  if (thread.fiber->holds(address) && thread.fiber->holds(address + bytes - 1))
    return Outcome::local;
  if (!(flags & siteWrites) && isParameterValue(address, bytes))
    return Outcome::local;
  if (site.parameter >= 0) {
    bool known = false;
    Outcome outcome = resolveParameter(thread, address, bytes, siteNumber, flags, range, known);
    if (known)
      return outcome;
  }
  if (Allocation *allocation = memory.find(address, bytes)) {
    setRange(range, *allocation, allocation->begin, allocation->bytes);
    return Outcome::found;
  }
  return outOfBounds(thread, address, bytes, siteNumber, memory.describe(address));
}

AccessChecker::Outcome AccessChecker::resolveShared(GpuThread &thread, uintptr_t address,
                                                    uint64_t bytes, uint32_t site, Range &range) {
  uint64_t offset = address - number(shared.begin);
  const SharedVariable *nearest = nullptr;
  uint64_t size = 0;
  for (uint32_t i = 0; i < state.record.sharedCount; ++i) {
    const SharedVariable &variable = state.record.shared[i];
    if (variable.offset > offset)
      break;
    nearest = &variable;
    size = variable.bytes ? variable.bytes : state.launch.sharedBytes;
    if (offset - variable.offset > size || bytes > size - (offset - variable.offset))
      continue;
    range.begin = number(shared.begin) + variable.offset;
    range.bytes = size;
    range.isShared = true;
    range.shadow = state.options.trackAccesses ? shared.shadow : nullptr;
    return Outcome::found;
  }
  if (!nearest)
    return outOfBounds(thread, address, bytes, site, "in shared memory, before any variable");
  return outOfBounds(thread, address, bytes, site,
                     "byte " + std::to_string(offset - nearest->offset) +
                         " of the shared variable '" + nearest->name + "' of " +
                         std::to_string(size) + " bytes");
}

AccessChecker::Outcome AccessChecker::resolveParameter(GpuThread &thread, uintptr_t address,
                                                       uint64_t bytes, uint32_t siteNumber,
                                                       uint32_t flags, Range &range, bool &known) {
  int32_t parameter = state.record.sites[siteNumber].parameter;
  uintptr_t begin;
  std::memcpy(&begin, state.launch.parameters[size_t(parameter)], sizeof(begin));
  Extent extent;
  if (!state.launch.extents.empty())
    extent = state.launch.extents[size_t(parameter)];
  Allocation *allocation = memory.find(begin, extent.bytes);
  known = allocation != nullptr;
  if (!known)
    return Outcome::fault;
  std::string name = "parameter " + std::to_string(parameter);
  if ((flags & siteWrites) && !extent.writable) {
    state.report(FindingKind::readOnly, thread, siteNumber, name + " is an input", address);
    return Outcome::fault;
  }
  uint64_t size = extent.bytes ? extent.bytes : allocation->bytes;
  if (!extent.bytes)
    begin = allocation->begin;
  if (address - begin <= size && bytes <= size - (address - begin)) {
    setRange(range, *allocation, begin, size);
    return Outcome::found;
  }
  return outOfBounds(thread, address, bytes, siteNumber,
                     "byte " + std::to_string(int64_t(address - begin)) + " of the buffer of " +
                         std::to_string(size) + " bytes that is " + name);
}

bool AccessChecker::isParameterValue(uintptr_t address, uint64_t bytes) const {
  for (uint32_t i = 0; i < state.record.parameterCount; ++i) {
    uintptr_t offset = address - number(state.launch.parameters[i]);
    uint32_t size = state.record.parameters[i].bytes;
    if (!state.record.parameters[i].isPointer && offset <= size && bytes <= size - offset)
      return true;
  }
  return false;
}

void AccessChecker::setRange(Range &range, Allocation &allocation, uintptr_t begin,
                             uint64_t bytes) const {
  range.begin = begin;
  range.bytes = bytes;
  range.isShared = false;
  range.shadow = state.options.trackAccesses ? allocation.shadow.get() : nullptr;
  range.writtenSince = allocation.trackWrites ? 1 : 0;
}

AccessChecker::Outcome AccessChecker::outOfBounds(GpuThread &thread, uintptr_t address,
                                                  uint64_t bytes, uint32_t site,
                                                  const std::string &where) {
  std::string name;
  if (memory.wasFreed(address, name))
    state.report(FindingKind::useAfterFree, thread, site, "'" + name + "'", address);
  else
    state.report(FindingKind::outOfBounds, thread, site, std::to_string(bytes) + " bytes, " + where,
                 address);
  return Outcome::fault;
}

std::string AccessChecker::describe(const Range &range, uintptr_t address) const {
  if (!range.isShared)
    return memory.describe(address);
  uint64_t offset = address - number(shared.begin);
  const SharedVariable *variable = state.record.shared;
  for (uint32_t i = 0; i < state.record.sharedCount; ++i)
    if (state.record.shared[i].offset <= offset)
      variable = &state.record.shared[i];
  return "at byte " + std::to_string(offset - variable->offset) + " of the shared variable '" +
         variable->name + "'";
}

} // namespace minigptc::runtime::emulator
