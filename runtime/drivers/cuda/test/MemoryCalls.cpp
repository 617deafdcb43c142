// libcuda's functions about memory and copies, emulated.
#include "runtime/drivers/cuda/test/Machine.h"

#include <cstring>

namespace minigptc::runtime::cuda::test {
namespace {

std::byte *data(DevicePtr pointer) { return reinterpret_cast<std::byte *>(uintptr_t(pointer)); }

//===--- Allocation -------------------------------------------------------===//

Result memAlloc(DevicePtr *pointer, size_t bytes) {
  return enterDevice("cuMemAlloc", [&](Machine &machine, Lock &, EmulatedDevice &device) {
    Result code;
    if (machine.captureForbids("cuMemAlloc", code))
      return code;
    if (!bytes)
      return machine.refuse(Result::invalidValue, "cuMemAlloc of 0 bytes");
    StatusOr<DeviceAllocation *> made = device.heap.allocate(bytes);
    if (!made)
      return Result::outOfMemory;
    *pointer = (*made)->begin;
    return Result::success;
  });
}

/// What is pending runs first, as the real call waits for it; that it was needed is the finding.
void reportPending(Machine &machine, const AccessLog &log, const std::string &name) {
  if (const AccessMark *use = log.findAfter(machine.host))
    machine.report(HazardKind::freeWhilePending,
                   name + " is freed, and the host has not synchronised with " + *use->name +
                       ", which uses it");
}

Result memFree(DevicePtr pointer) {
  return enterDevice("cuMemFree", [&](Machine &machine, Lock &, EmulatedDevice &) {
    Result code;
    if (machine.captureForbids("cuMemFree", code))
      return code;
    if (!pointer)
      return Result::success;
    int owner = 0;
    DeviceAllocation *allocation = machine.findMemory(pointer, 0, &owner);
    if (!allocation || allocation->begin != pointer) {
      HazardKind kind = HazardKind::outOfBounds;
      std::string why =
          allocation ? "inside " + allocation->name : machine.whyNoMemory(pointer, 0, 0, kind);
      return machine.refuse(Result::invalidValue, "cuMemFree: " + why, kind);
    }
    machine.drain();
    reportPending(machine, allocation->log, allocation->name);
    machine.devices[size_t(owner)]->heap.free(*allocation, [&](const std::string &text) {
      machine.report(HazardKind::guardOverwritten, text + ": overwritten");
    });
    return Result::success;
  });
}

Result memHostAlloc(void **pointer, size_t bytes, unsigned) {
  return enterDevice("cuMemHostAlloc", [&](Machine &machine, Lock &, EmulatedDevice &) {
    Result code;
    if (machine.captureForbids("cuMemHostAlloc", code))
      return code;
    if (!bytes)
      return machine.refuse(Result::invalidValue, "cuMemHostAlloc of 0 bytes");
    std::shared_ptr<PinnedBlock> block = machine.pinned.allocate(bytes);
    if (!block)
      return Result::outOfMemory;
    *pointer = block->user;
    return Result::success;
  });
}

Result memFreeHost(void *pointer) {
  return enterDevice("cuMemFreeHost", [&](Machine &machine, Lock &, EmulatedDevice &) {
    Result code;
    if (machine.captureForbids("cuMemFreeHost", code))
      return code;
    std::shared_ptr<PinnedBlock> block = machine.pinned.find(pointer, 0);
    if (!block || block->user != pointer)
      return machine.refuse(Result::invalidValue,
                            "cuMemFreeHost: no memory of cuMemHostAlloc, or freed before",
                            HazardKind::useAfterFree);
    machine.drain();
    reportPending(machine, block->log, block->name);
    machine.pinned.free(*block);
    return Result::success;
  });
}

//===--- Copies -----------------------------------------------------------===//

/// Success, or the failure of a call with such a device pointer.
Result checkPointer(Machine &machine, const char *call, DevicePtr pointer, size_t bytes,
                    int device) {
  HazardKind kind;
  std::string why = machine.whyNoMemory(pointer, bytes, device, kind);
  return why.empty() ? Result::success
                     : machine.refuse(Result::invalidValue, std::string(call) + ": " + why, kind);
}

/// Runs `body(stream)` if the stream is one of the current device.
template <typename Body> Result withStream(const char *call, Stream handle, Body body) {
  return enterDevice(call, [&](Machine &machine, Lock &, EmulatedDevice &device) {
    std::shared_ptr<StreamState> owner;
    StreamState *stream = machine.findStream(handle, call, owner);
    if (!stream)
      return Result::invalidHandle;
    if (stream->device != device.number)
      return machine.refuse(Result::invalidHandle,
                            std::string(call) + ": a stream of device " +
                                std::to_string(stream->device) + ", but device " +
                                std::to_string(device.number) + " is current");
    return body(machine, *stream);
  });
}

std::shared_ptr<PinnedUse> pinnedUse(Machine &machine, const char *call, const void *pointer,
                                     size_t bytes, bool isTarget) {
  std::shared_ptr<PinnedBlock> block = machine.pinned.find(pointer, bytes);
  if (!block) {
    machine.report(HazardKind::pageableHost,
                   std::string(call) + ": " + std::to_string(bytes) +
                       " bytes of the host that are not from cuMemHostAlloc");
    return nullptr;
  }
  auto use = std::make_shared<PinnedUse>();
  use->offset = uint64_t(static_cast<const std::byte *>(pointer) - block->user);
  use->block = std::move(block);
  use->bytes = bytes;
  use->isTarget = isTarget;
  return use;
}

std::string copyLabel(const char *what, size_t bytes) {
  return std::string(what) + " of " + std::to_string(bytes) + " bytes";
}

Result memcpyHtoDAsync(DevicePtr target, const void *source, size_t bytes, Stream handle) {
  const char *call = "cuMemcpyHtoDAsync";
  return withStream(call, handle, [&](Machine &machine, StreamState &stream) {
    if (Result bad = checkPointer(machine, call, target, bytes, stream.device);
        bad != Result::success)
      return bad;
    Work work{.label = copyLabel("copy to the device", bytes)};
    work.pinned = pinnedUse(machine, call, source, bytes, /*isTarget=*/false);
    std::shared_ptr<std::vector<std::byte>> staged;
    if (!work.pinned) {
      auto *begin = static_cast<const std::byte *>(source);
      staged = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    }
    work.run = [&machine, target, bytes, staged, use = work.pinned](Operation &operation) {
      if (use)
        machine.touchPinned(operation, *use);
      if (machine.touch(operation, target, bytes, /*write=*/true))
        std::memcpy(data(target), use ? use->data() : staged->data(), bytes);
    };
    return machine.enqueue(stream, std::move(work));
  });
}

Result memcpyDtoHAsync(void *target, DevicePtr source, size_t bytes, Stream handle) {
  const char *call = "cuMemcpyDtoHAsync";
  return withStream(call, handle, [&](Machine &machine, StreamState &stream) {
    if (Result bad = checkPointer(machine, call, source, bytes, stream.device);
        bad != Result::success)
      return bad;
    Work work{.label = copyLabel("copy to the host", bytes)};
    work.pinned = pinnedUse(machine, call, target, bytes, /*isTarget=*/true);
    work.run = [&machine, target, source, bytes, use = work.pinned](Operation &operation) {
      if (use)
        machine.touchPinned(operation, *use);
      if (machine.touch(operation, source, bytes, /*write=*/false))
        std::memcpy(use ? use->data() : static_cast<std::byte *>(target), data(source), bytes);
      if (use)
        machine.pinned.written(*use);
    };
    return machine.enqueue(stream, std::move(work));
  });
}

void copyWithin(Machine &machine, const Operation &operation, DevicePtr target, DevicePtr source,
                size_t bytes) {
  if (!bytes || !machine.touch(operation, source, bytes, /*write=*/false, /*mayBeUnwritten=*/true))
    return;
  uintptr_t begin = uintptr_t(source);
  auto holes = machine.findMemory(source, bytes)->log.unwritten(begin, begin + bytes);
  if (!machine.touch(operation, target, bytes, /*write=*/true))
    return;
  std::memmove(data(target), data(source), bytes);
  // What nobody wrote stays so in the copy.
  uintptr_t shift = uintptr_t(target) - begin;
  for (auto [first, last] : holes)
    machine.findMemory(target, bytes)->log.forgetWrites(first + shift, last + shift);
}

Result memcpyDtoDAsync(DevicePtr target, DevicePtr source, size_t bytes, Stream handle) {
  const char *call = "cuMemcpyDtoDAsync";
  return withStream(call, handle, [&](Machine &machine, StreamState &stream) {
    for (DevicePtr pointer : {target, source}) {
      int owner = stream.device;
      machine.findMemory(pointer, bytes, &owner);
      if (Result bad = checkPointer(machine, call, pointer, bytes, owner); bad != Result::success)
        return bad;
    }
    if (target < source + bytes && source < target + bytes && target != source)
      return machine.refuse(Result::invalidValue, "cuMemcpyDtoDAsync: the ranges overlap");
    Work work{.label = copyLabel("copy within the device", bytes)};
    work.run = [&machine, target, source, bytes](Operation &operation) {
      copyWithin(machine, operation, target, source, bytes);
    };
    return machine.enqueue(stream, std::move(work));
  });
}

/// Of two devices, or of the host, no such copies are made here.
Result memcpy2DAsync(const Copy2D *copy, Stream handle) {
  const char *call = "cuMemcpy2DAsync";
  return withStream(call, handle, [&](Machine &machine, StreamState &stream) {
    if (copy->widthBytes == 0 || copy->height == 0)
      return Result::success;
    for (const CopySide *side : {&copy->target, &copy->source}) {
      if (side->type != MemoryType::device || side->x || side->y || side->array)
        return machine.refuse(Result::invalidValue,
                              std::string(call) + ": not from rows of the device to others");
      if (side->pitch < copy->widthBytes || side->pitch > kMaxPitch)
        return machine.refuse(Result::invalidValue,
                              std::string(call) + ": rows of " + std::to_string(copy->widthBytes) +
                                  " bytes every " + std::to_string(side->pitch) + " bytes");
      size_t bytes = (copy->height - 1) * side->pitch + copy->widthBytes;
      if (Result bad = checkPointer(machine, call, side->device, bytes, stream.device);
          bad != Result::success)
        return bad;
    }
    Work work{.label = "copy of " + std::to_string(copy->height) + " rows of " +
                       std::to_string(copy->widthBytes) + " bytes"};
    work.run = [&machine, rows = *copy](Operation &operation) {
      for (size_t row = 0; row < rows.height; ++row)
        copyWithin(machine, operation, rows.target.device + row * rows.target.pitch,
                   rows.source.device + row * rows.source.pitch, rows.widthBytes);
    };
    return machine.enqueue(stream, std::move(work));
  });
}

Result memsetD8Async(DevicePtr target, unsigned char value, size_t count, Stream handle) {
  const char *call = "cuMemsetD8Async";
  return withStream(call, handle, [&](Machine &machine, StreamState &stream) {
    if (Result bad = checkPointer(machine, call, target, count, stream.device);
        bad != Result::success)
      return bad;
    Work work{.label = copyLabel("fill", count)};
    work.run = [&machine, target, value, count](Operation &operation) {
      if (machine.touch(operation, target, count, /*write=*/true))
        std::memset(data(target), value, count);
    };
    return machine.enqueue(stream, std::move(work));
  });
}

} // namespace

void fillMemoryCalls(DriverApi &api) {
  api.memAlloc = memAlloc;
  api.memFree = memFree;
  api.memHostAlloc = memHostAlloc;
  api.memFreeHost = memFreeHost;
  api.memcpyHtoDAsync = memcpyHtoDAsync;
  api.memcpyDtoHAsync = memcpyDtoHAsync;
  api.memcpyDtoDAsync = memcpyDtoDAsync;
  api.memcpy2DAsync = memcpy2DAsync;
  api.memsetD8Async = memsetD8Async;
}

} // namespace minigptc::runtime::cuda::test
