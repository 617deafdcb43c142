#include "runtime/drivers/cuda/test/Machine.h"

#include "runtime/base/Log.h"
#include "runtime/base/MemoryLimits.h"
#include "runtime/drivers/cuda/test/Collectives.h"
#include "runtime/drivers/cuda/test/Neighbours.h"
#include "runtime/drivers/cuda/test/Rendezvous.h"

#include <algorithm>
#include <atomic>

namespace minigptc::runtime::cuda::test {
namespace {

std::atomic<Machine *> theMachine{nullptr};
std::atomic<uint64_t> generations{0};
std::atomic<uintptr_t> handles{0};
/// The thread's current device, of that machine.
thread_local uint64_t threadGeneration = 0;
thread_local int threadDevice = -1;

/// A kill for want of the host's memory would come without a word.
uint64_t memoryOfEach(const TestDeviceOptions &options) {
  constexpr uint64_t hostBytesOfByte = 10;
  if (options.memoryBytes > 0)
    return options.memoryBytes;
  uint64_t share = memoryLimits().total / hostBytesOfByte / uint64_t(std::max(options.devices, 1));
  return std::min(uint64_t(4) << 30, share);
}

} // namespace

uintptr_t nextHandle() { return 0x1001 + 16 * ++handles; }

Machine *Machine::current() { return theMachine; }

void Machine::provide(int count) {
  for (int i = int(devices.size()); i < count; ++i) {
    devices.push_back(std::make_unique<EmulatedDevice>(i, memoryOfEach(options)));
    StreamState &standard = devices.back()->defaultStream;
    standard.device = i;
    standard.lane = makeLane(i, "the default stream of device " + std::to_string(i));
  }
}

Machine::Machine(const TestDeviceOptions &options) : options(options) {
  provide(options.devices);
  ++generations;
  theMachine = this;
}

/// Calls know their communicators, and these the calls.
Machine::~Machine() {
  theMachine = nullptr;
  for (const auto &[id, clique] : cliques)
    clique->close();
  neighbours = nullptr; // Without the mutex, for which their threads may wait.
}

void Machine::note(HazardKind kind, const std::string &text) {
  for (Hazard &hazard : hazards)
    if (hazard.kind == kind && hazard.text == text) {
      ++hazard.count;
      return;
    }
  hazards.push_back({kind, text});
}

void Machine::report(HazardKind kind, const std::string &text) {
  note(kind, text);
  if (!failed)
    failure = hazards.back().toString();
  failed = true;
}

Result Machine::refuse(Result code, const std::string &text, HazardKind kind) {
  note(kind, text);
  lastRefusal = hazards.back().toString();
  return code;
}

//===--- Memory -----------------------------------------------------------===//

DeviceAllocation *Machine::findMemory(DevicePtr pointer, uint64_t bytes, int *device) {
  for (const auto &candidate : devices)
    if (DeviceAllocation *found = candidate->heap.find(uintptr_t(pointer), bytes)) {
      if (device)
        *device = candidate->number;
      return found;
    }
  return nullptr;
}

std::string Machine::whyNoMemory(DevicePtr pointer, uint64_t bytes, int device, HazardKind &kind) {
  int owner = device;
  kind = HazardKind::outOfBounds;
  if (findMemory(pointer, bytes, &owner) || (!bytes && findMemory(pointer, 0, &owner)))
    return owner == device ? ""
                           : "memory of device " + std::to_string(owner) + ", used on device " +
                                 std::to_string(device);
  std::string name;
  for (const auto &candidate : devices)
    if (candidate->heap.emulator().memory().wasFreed(uintptr_t(pointer), name)) {
      kind = HazardKind::useAfterFree;
      return name + " was freed";
    }
  if (pinned.find(reinterpret_cast<const void *>(uintptr_t(pointer)), 0))
    return "host memory where a device pointer is wanted";
  return std::to_string(bytes) + " bytes, " +
         devices[size_t(device)]->heap.emulator().memory().describe(uintptr_t(pointer));
}

void Machine::logAccess(AccessLog &log, const std::string &name, const Operation &operation,
                        uintptr_t begin, uintptr_t end, bool write) {
  AccessMark mark{operation.laneNumber, operation.time, operation.name};
  log.access(begin, end, write, mark, operation.clock, [&](const Conflict &conflict) {
    report(HazardKind::race, *operation.name + " " + (write ? "writes" : "reads") + " what " +
                                 *conflict.other.name + " " +
                                 (conflict.otherWrites ? "writes" : "reads") + " in " + name +
                                 ", and neither stream order nor an event nor a "
                                 "synchronisation is between them");
  });
}

bool Machine::touch(const Operation &operation, DevicePtr pointer, uint64_t bytes, bool write,
                    bool mayBeUnwritten) {
  if (!bytes)
    return true;
  int device = operation.device;
  DeviceAllocation *allocation = findMemory(pointer, bytes, &device);
  if (!allocation) {
    HazardKind kind;
    std::string why = whyNoMemory(pointer, bytes, operation.device, kind);
    report(kind, *operation.name + " " + (write ? "writes " : "reads ") + why);
    return false;
  }
  uintptr_t begin = uintptr_t(pointer), end = begin + bytes;
  if (!write && !mayBeUnwritten)
    if (auto holes = allocation->log.unwritten(begin, end); !holes.empty())
      report(HazardKind::uninitialised,
             *operation.name + " reads byte " +
                 std::to_string(holes.front().first - allocation->begin) + " of " +
                 allocation->name + ", which nobody has written");
  logAccess(allocation->log, allocation->name, operation, begin, end, write);
  if (write)
    devices[size_t(device)]->heap.emulator().memory().markWritten(reinterpret_cast<void *>(begin),
                                                                  bytes);
  return true;
}

void Machine::touchPinned(const Operation &operation, const PinnedUse &use) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(use.block->user) + use.offset;
  logAccess(use.block->log, use.block->name, operation, begin, begin + use.bytes, use.isTarget);
}

void Machine::checkGuards() {
  for (const auto &device : devices)
    device->heap.checkGuards([&](const std::string &text) {
      report(HazardKind::guardOverwritten, text + ": overwritten");
    });
}

//===--- Contexts and streams ---------------------------------------------===//

EmulatedDevice *Machine::currentDevice() {
  bool valid =
      threadGeneration == generations && threadDevice >= 0 && threadDevice < int(devices.size());
  return valid ? devices[size_t(threadDevice)].get() : nullptr;
}

void Machine::setCurrentDevice(int device) {
  threadGeneration = generations;
  threadDevice = device;
}

StreamState *Machine::findStream(Stream handle, const char *call,
                                 std::shared_ptr<StreamState> &owner) {
  if (!handle) {
    EmulatedDevice *device = currentDevice();
    return device ? &device->defaultStream : nullptr;
  }
  owner = streams.find(handle);
  if (!owner)
    refuse(Result::invalidHandle, std::string(call) + ": no stream, or one that was destroyed",
           HazardKind::useAfterFree);
  return owner.get();
}

bool Machine::captureForbids(const char *call, Result &code) {
  for (const auto &weak : captures)
    if (auto capture = weak.lock()) {
      bool applies =
          capture->mode == CaptureMode::global || (capture->mode == CaptureMode::threadLocal &&
                                                   capture->thread == std::this_thread::get_id());
      if (!applies)
        continue;
      capture->invalid = true;
      code = refuse(Result::captureUnsupported,
                    std::string(call) + " while a stream captures, which makes the capture invalid",
                    HazardKind::captureRule);
      return true;
    }
  return false;
}

Result Machine::enqueue(StreamState &stream, Work work,
                        std::vector<std::shared_ptr<Operation>> after) {
  auto shared = std::make_shared<const Work>(std::move(work));
  if (stream.capture) {
    if (stream.capture->invalid)
      return refuse(Result::captureInvalidated, shared->label + " in a capture that is invalid",
                    HazardKind::captureRule);
    auto &nodes = stream.capture->graph.nodes;
    nodes.push_back({shared, stream.captureLane, stream.captureDeps});
    stream.captureDeps = {nodes.size() - 1};
    return Result::success;
  }
  if (&stream == &devices[size_t(stream.device)]->defaultStream)
    for (const auto &[handle, other] : streams.all())
      if (other->capture && !other->nonBlocking && other->device == stream.device) {
        other->capture->invalid = true;
        return refuse(Result::captureImplicit,
                      shared->label + " in the default stream while " + other->lane->name +
                          " captures: it would wait for it",
                      HazardKind::captureRule);
      }
  for (auto &other : implicitOrder(stream))
    after.push_back(other);
  submit(*stream.lane, std::move(shared), after);
  return Result::success;
}

//===--- The end ----------------------------------------------------------===//

void Machine::reportLeaks() {
  auto leak = [&](size_t count, const std::string &what) {
    if (count)
      note(HazardKind::leak, std::to_string(count) + " " + what + (count > 1 ? "s" : "") +
                                 (count > 1 ? " were" : " was") + " not given back");
  };
  for (const auto &device : devices) {
    for (const auto &[begin, allocation] : device->heap.all())
      note(HazardKind::leak, allocation.name + " was not freed");
    leak(size_t(device->retained), "primary context of device " + std::to_string(device->number));
  }
  for (const auto &[begin, block] : pinned.all())
    note(HazardKind::leak, block->name + " was not freed");
  leak(streams.all().size(), "stream");
  leak(events.all().size(), "event");
  leak(modules.all().size(), "module");
  leak(graphs.all().size(), "graph");
  leak(executables.all().size(), "executable graph");
  leak(comms.all().size(), "communicator");
  leak(blasHandles.all().size(), "handle of cuBLASLt");
  leak(productDescs.all().size() + productLayouts.all().size() + productPreferences.all().size(),
       "description of cuBLASLt");
}

void Machine::finish(Lock &) {
  drain();
  for (const auto &lane : lanes)
    if (!lane->pending.empty() && lane->pending.front()->work->collective) {
      std::string missing =
          lane->pending.front()->work->collective->missing(*lane->pending.front());
      if (!missing.empty())
        report(HazardKind::missingRank, *lane->pending.front()->name + " never ran: " + missing);
    }
  checkGuards();
  reportLeaks();
}

} // namespace minigptc::runtime::cuda::test
