#include "runtime/drivers/cuda/emulator/Emulator.h"

#include "runtime/drivers/cuda/emulator/BlockRunner.h"
#include "runtime/drivers/host/SharedObject.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace minigptc::runtime::emulator {
namespace {

/// When the time has come this far, it begins anew.
constexpr uint32_t kLastTime = 1u << 31;
constexpr uint64_t kSharedMargin = 4096;
constexpr uint64_t kMaxBlockThreads = 1024, kMaxBlocks = (uint64_t(1) << 31) - 1;

struct FreeDelete {
  void operator()(char *memory) const { std::free(memory); }
};

Status badLaunch(const Launch &launch, const std::string &what) {
  return Status(StatusCode::invalidArgument,
                "cannot launch kernel '" + launch.kernel + "' in the emulator: " + what);
}

uint64_t sharedEnd(const KernelRecord &record, uint32_t dynamicBytes) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < record.sharedCount; ++i) {
    const SharedVariable &variable = record.shared[i];
    end = std::max(end, variable.offset + (variable.bytes ? variable.bytes : dynamicBytes));
  }
  return end;
}

Status checkExtents(const KernelRecord &record, const Launch &launch, DeviceMemory &memory) {
  if (launch.extents.empty())
    return {};
  if (launch.extents.size() != record.parameterCount)
    return badLaunch(launch, "extents of " + std::to_string(launch.extents.size()) + " of " +
                                 std::to_string(record.parameterCount) + " parameters");
  for (uint32_t i = 0; i < record.parameterCount; ++i) {
    uint64_t bytes = launch.extents[i].bytes;
    if (!record.parameters[i].isPointer || !bytes)
      continue;
    uintptr_t begin;
    std::memcpy(&begin, launch.parameters[i], sizeof(begin));
    if (!memory.find(begin, bytes))
      return badLaunch(launch,
                       "the buffer of " + std::to_string(bytes) + " bytes that is parameter " +
                           std::to_string(i) +
                           " does not lie in memory of the device: " + memory.describe(begin));
  }
  return {};
}

Status checkLaunch(const KernelRecord &record, const Launch &launch, const LaunchOptions &options,
                   DeviceMemory &memory) {
  if (launch.parameters.size() != record.parameterCount)
    return badLaunch(launch, std::to_string(launch.parameters.size()) + " parameters instead of " +
                                 std::to_string(record.parameterCount));
  Dim3 grid = launch.grid, block = launch.block;
  if (!grid.count() || grid.y > 65535 || grid.z > 65535 || grid.x > kMaxBlocks ||
      grid.count() > kMaxBlocks)
    return badLaunch(launch, "a grid of " + std::to_string(grid.x) + " x " +
                                 std::to_string(grid.y) + " x " + std::to_string(grid.z) +
                                 " blocks");
  uint64_t most = record.maxThreads ? record.maxThreads : kMaxBlockThreads;
  if (!block.count() || block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > most)
    return badLaunch(launch, "a block of " + std::to_string(block.x) + " x " +
                                 std::to_string(block.y) + " x " + std::to_string(block.z) +
                                 " threads; " + std::to_string(most) + " at most");
  uint64_t sharedBytes = record.sharedBytes + launch.sharedBytes;
  if (sharedBytes > options.maxSharedBytes)
    return badLaunch(launch, std::to_string(sharedBytes) + " bytes of shared memory; " +
                                 std::to_string(options.maxSharedBytes) + " at most");
  if (record.siteCount > AccessRecord::maxSite)
    return badLaunch(launch, "it has too many instructions that access memory");
  return checkExtents(record, launch, memory);
}

} // namespace

struct EmulatedModule::State {
  SharedObject object;
};

EmulatedModule::EmulatedModule(std::unique_ptr<State> state) : state(std::move(state)) {}
EmulatedModule::EmulatedModule(EmulatedModule &&) noexcept = default;
EmulatedModule &EmulatedModule::operator=(EmulatedModule &&) noexcept = default;
EmulatedModule::~EmulatedModule() = default;

StatusOr<EmulatedModule> EmulatedModule::load(std::span<const std::byte> elf) {
  if (!fibersSupported)
    return Status(StatusCode::failedPrecondition,
                  "the emulator of CUDA kernels runs on x86-64 processors only");
  StatusOr<SharedObject> object = SharedObject::load(elf);
  if (!object)
    return object.status();
  return EmulatedModule(std::make_unique<State>(State{std::move(*object)}));
}

const KernelRecord *EmulatedModule::find(const std::string &kernel) const {
  auto *record = static_cast<const KernelRecord *>(state->object.find(kernelSymbolPrefix + kernel));
  return record && record->version == abiVersion ? record : nullptr;
}

struct Emulator::State {
  std::mutex mutex;
  DeviceMemory memory;
  FiberPool fibers;
  uint32_t time = 1;
  std::unique_ptr<char, FreeDelete> shared;
  std::unique_ptr<ShadowMemory> sharedShadow;
  uint64_t sharedCapacity = 0;

  StatusOr<SharedMemory> reserveShared(uint64_t bytes);
  StatusOr<Report> run(const KernelRecord &record, const Launch &launch,
                       const LaunchOptions &options);
};

StatusOr<SharedMemory> Emulator::State::reserveShared(uint64_t bytes) {
  uint64_t reach = bytes + kSharedMargin;
  if (reach > sharedCapacity) {
    uint64_t capacity = (reach + 4095) & ~uint64_t(4095);
    shared.reset(static_cast<char *>(std::aligned_alloc(4096, capacity)));
    if (!shared)
      return Status(StatusCode::resourceExhausted, "no memory for a block's shared memory");
    sharedCapacity = capacity;
    sharedShadow =
        std::make_unique<ShadowMemory>(reinterpret_cast<uintptr_t>(shared.get()), capacity);
  }
  return SharedMemory{shared.get(), bytes, reach, sharedShadow.get()};
}

StatusOr<Report> Emulator::State::run(const KernelRecord &record, const Launch &launch,
                                      const LaunchOptions &options) {
  MINIGPTC_RETURN_IF_ERROR(checkLaunch(record, launch, options, memory));
  StatusOr<SharedMemory> block = reserveShared(sharedEnd(record, launch.sharedBytes));
  if (!block)
    return block.status();
  if (time > kLastTime) {
    memory.forget();
    if (sharedShadow)
      sharedShadow->forget();
    time = 1;
  }
  LaunchState launched(record, launch, options, time);
  AccessChecker checker(launched, memory, *block);
  Schedule schedule(options.seed);
  BlockRunner runner(launched, checker, *block, schedule, fibers, emulatorCalls());
  launched.blocks = schedule.blocks(launch.grid.count());
  for (uint32_t number : launched.blocks) {
    launched.findings.threads += launch.block.count();
    if (!runner.run(number))
      break;
  }
  if (runner.outOfMemory())
    return Status(StatusCode::resourceExhausted, "no memory for the stacks of emulated threads");
  if (options.recordTouched)
    memory.collectTouched(launched.launchTime, launched.findings.touched);
  return std::move(launched.findings);
}

Emulator::Emulator() : state(std::make_unique<State>()) {}
Emulator::~Emulator() = default;

DeviceMemory &Emulator::memory() { return state->memory; }

StatusOr<Report> Emulator::launch(const EmulatedModule &module, const Launch &launch,
                                  const LaunchOptions &options) {
  const KernelRecord *record = module.find(launch.kernel);
  if (!record)
    return badLaunch(launch, "there is no such kernel");
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->run(*record, launch, options);
}

} // namespace minigptc::runtime::emulator
