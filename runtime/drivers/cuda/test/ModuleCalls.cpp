// libcuda's functions about code and launches, emulated.
#include "runtime/drivers/cuda/test/Machine.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

namespace minigptc::runtime::cuda::test {
namespace {

constexpr int kRegisters = 32; ///< of a thread: a number, as emulated code has no registers
constexpr unsigned kMaxGridYZ = 65535, kMaxBlockXY = 1024, kMaxBlockZ = 64, kMaxThreads = 1024;

//===--- Modules ----------------------------------------------------------===//

/// The shared object of an image for emulated devices; empty: something else, as PTX.
std::span<const std::byte> codeOf(const void *image) {
  EmulatedImage header;
  if (std::memcmp(image, EmulatedImage::kMagic, sizeof(EmulatedImage::kMagic)) != 0)
    return {};
  std::memcpy(&header, image, sizeof(header));
  return {static_cast<const std::byte *>(image) + sizeof(header), size_t(header.bytes)};
}

Result moduleLoadDataEx(Module *module, const void *image, unsigned, JitOption *, void **) {
  return enterDevice("cuModuleLoadData", [&](Machine &machine, Lock &, EmulatedDevice &device) {
    Result code;
    if (machine.captureForbids("cuModuleLoadData", code))
      return code;
    std::span<const std::byte> elf = codeOf(image);
    if (elf.empty())
      return machine.refuse(Result::noBinaryForGpu,
                            "cuModuleLoadData of something else than code for the emulator");
    StatusOr<emulator::EmulatedModule> loaded = emulator::EmulatedModule::load(elf);
    if (!loaded)
      return machine.refuse(Result::invalidImage, "cuModuleLoadData: " + loaded.status().message());
    *module =
        machine.modules.add(std::make_shared<LoadedModule>(std::move(*loaded), device.number));
    return Result::success;
  });
}

Result noModule(Machine &machine, const char *call) {
  return machine.refuse(Result::invalidHandle,
                        std::string(call) + ": no module, or one that was unloaded",
                        HazardKind::useAfterFree);
}

Result moduleUnload(Module handle) {
  return enterDevice("cuModuleUnload", [&](Machine &machine, Lock &, EmulatedDevice &) {
    std::shared_ptr<LoadedModule> module = machine.modules.find(handle);
    if (!module)
      return noModule(machine, "cuModuleUnload");
    Result code;
    if (machine.captureForbids("cuModuleUnload", code))
      return code;
    machine.drain();
    for (const auto &use : module->uses)
      if (!use->isBefore(machine.host)) {
        machine.report(HazardKind::freeWhilePending,
                       "a module is unloaded, and the host has not synchronised with " +
                           *use->name);
        break;
      }
    module->unloaded = true;
    module->uses.clear();
    machine.modules.remove(handle);
    return Result::success;
  });
}

Result moduleGetFunction(Function *function, Module handle, const char *name) {
  return enterDevice("cuModuleGetFunction", [&](Machine &machine, Lock &, EmulatedDevice &) {
    std::shared_ptr<LoadedModule> module = machine.modules.find(handle);
    if (!module)
      return noModule(machine, "cuModuleGetFunction");
    const emulator::KernelRecord *record = module->code.find(name);
    if (!record)
      return Result::notFound;
    auto made = std::make_shared<KernelFunction>();
    made->module = module;
    made->record = record;
    *function = machine.functions.add(std::move(made));
    return Result::success;
  });
}

/// Null and a finding if there is no such function, or its module was unloaded.
std::shared_ptr<KernelFunction> findFunction(Machine &machine, const char *call, Function handle) {
  std::shared_ptr<KernelFunction> function = machine.functions.find(handle);
  if (function && !function->module->unloaded)
    return function;
  machine.refuse(Result::invalidHandle,
                 std::string(call) + ": no function, or one of a module that was unloaded",
                 HazardKind::useAfterFree);
  return nullptr;
}

Result funcGetAttribute(int *value, FunctionAttribute attribute, Function handle) {
  return enterDevice("cuFuncGetAttribute", [&](Machine &machine, Lock &, EmulatedDevice &) {
    auto function = findFunction(machine, "cuFuncGetAttribute", handle);
    if (!function)
      return Result::invalidHandle;
    const emulator::KernelRecord &record = *function->record;
    switch (attribute) {
    case FunctionAttribute::maxThreadsPerBlock:
      *value = record.maxThreads ? int(record.maxThreads) : int(kMaxThreads);
      break;
    case FunctionAttribute::sharedBytes: *value = int(record.sharedBytes); break;
    case FunctionAttribute::localBytes: *value = 0; break;
    case FunctionAttribute::registers: *value = kRegisters; break;
    case FunctionAttribute::maxDynamicSharedBytes: *value = function->maxDynamicShared; break;
    default: return Result::invalidValue;
    }
    return Result::success;
  });
}

Result funcSetAttribute(Function handle, FunctionAttribute attribute, int value) {
  const char *call = "cuFuncSetAttribute";
  return enterDevice(call, [&](Machine &machine, Lock &, EmulatedDevice &) {
    auto function = findFunction(machine, call, handle);
    if (!function)
      return Result::invalidHandle;
    int most = kMaxSharedBytes - int(function->record->sharedBytes);
    if (attribute != FunctionAttribute::maxDynamicSharedBytes || value < 0 || value > most)
      return machine.refuse(Result::invalidValue, "cuFuncSetAttribute: " + std::to_string(value) +
                                                      " bytes of dynamic shared memory; " +
                                                      std::to_string(most) + " are possible");
    function->maxDynamicShared = value;
    return Result::success;
  });
}

//===--- Launches ---------------------------------------------------------===//

struct LaunchShape {
  emulator::Dim3 grid, block;
  unsigned sharedBytes;
};

std::string times(emulator::Dim3 size) {
  return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

/// Empty, or what of the launch exceeds a limit.
std::string exceeds(const KernelFunction &function, const LaunchShape &shape, Result &code) {
  const emulator::KernelRecord &record = *function.record;
  code = Result::invalidValue;
  if (!shape.grid.count() || shape.grid.x > unsigned(std::numeric_limits<int>::max()) ||
      shape.grid.y > kMaxGridYZ || shape.grid.z > kMaxGridYZ)
    return "a grid of " + times(shape.grid) + " blocks";
  if (!shape.block.count() || shape.block.x > kMaxBlockXY || shape.block.y > kMaxBlockXY ||
      shape.block.z > kMaxBlockZ || shape.block.count() > kMaxThreads)
    return "a block of " + times(shape.block) + " threads";
  if (shape.sharedBytes > unsigned(function.maxDynamicShared))
    return std::to_string(shape.sharedBytes) + " bytes of dynamic shared memory, more than the " +
           std::to_string(function.maxDynamicShared) + " that were asked for";
  if (record.sharedBytes + shape.sharedBytes > uint64_t(kMaxSharedBytes))
    return std::to_string(record.sharedBytes + shape.sharedBytes) + " bytes of shared memory";
  code = Result::launchOutOfResources;
  if (record.maxThreads && shape.block.count() > record.maxThreads)
    return "a block of " + std::to_string(shape.block.count()) +
           " threads, and the kernel was compiled for " + std::to_string(record.maxThreads);
  return "";
}

using Values = std::vector<std::vector<std::byte>>;

void runKernel(Machine &machine, const Operation &operation, const KernelFunction &function,
               const LaunchShape &shape, const Values &values) {
  emulator::Launch launch{.kernel = function.record->name,
                          .grid = shape.grid,
                          .block = shape.block,
                          .sharedBytes = shape.sharedBytes,
                          .parameters = {},
                          .extents = {}};
  for (const auto &value : values)
    launch.parameters.push_back(value.data());
  emulator::LaunchOptions options;
  options.seed = machine.options.seed ? mixBits(machine.options.seed + operation.number) : 0;
  options.recordTouched = true;
  options.maxSharedBytes = unsigned(kMaxSharedBytes);
  DeviceHeap &heap = machine.devices[size_t(operation.device)]->heap;
  StatusOr<emulator::Report> report =
      heap.emulator().launch(function.module->code, launch, options);
  if (!report)
    return machine.report(HazardKind::kernel, report.status().message());
  for (const emulator::Finding &finding : report->findings)
    machine.report(HazardKind::kernel, finding.toString() + "; " + *operation.name);
  for (const emulator::TouchedRange &range : report->touched) {
    DeviceAllocation *allocation = heap.find(range.begin, 0);
    if (!allocation)
      continue;
    uintptr_t end = std::min<uintptr_t>(range.end, allocation->begin + allocation->bytes);
    for (bool write : {false, true})
      if (write ? range.written : range.read)
        machine.logAccess(allocation->log, allocation->name, operation, range.begin, end, write);
  }
}

Result launchKernel(Function handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                    unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                    Stream streamHandle, void **parameters, void **extra) {
  const char *call = "cuLaunchKernel";
  return enterDevice(call, [&](Machine &machine, Lock &, EmulatedDevice &device) {
    auto function = findFunction(machine, call, handle);
    std::shared_ptr<StreamState> owner;
    StreamState *stream = machine.findStream(streamHandle, call, owner);
    if (!function || !stream)
      return Result::invalidHandle;
    std::string label = std::string("kernel '") + function->record->name + "'";
    if (stream->device != device.number || function->module->device != device.number)
      return machine.refuse(Result::invalidHandle,
                            label + " of device " + std::to_string(function->module->device) +
                                " in " + stream->lane->name + ", while device " +
                                std::to_string(device.number) + " is current");
    LaunchShape shape{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes};
    Result code;
    if (std::string what = exceeds(*function, shape, code); !what.empty())
      return machine.refuse(code, label + ": " + what);
    if (extra || (function->record->parameterCount && !parameters))
      return machine.refuse(Result::invalidValue,
                            label + ": its parameters must be in `parameters`");
    Values values;
    for (uint32_t i = 0; i < function->record->parameterCount; ++i) {
      auto *value = static_cast<const std::byte *>(parameters[i]);
      values.emplace_back(value, value + function->record->parameters[i].bytes);
    }
    Work work{.label = label};
    work.module = function->module;
    work.run = [&machine, function, shape, values](Operation &operation) {
      runKernel(machine, operation, *function, shape, values);
    };
    return machine.enqueue(*stream, std::move(work));
  });
}

} // namespace

void fillModuleCalls(DriverApi &api) {
  api.moduleLoadDataEx = moduleLoadDataEx;
  api.moduleUnload = moduleUnload;
  api.moduleGetFunction = moduleGetFunction;
  api.funcGetAttribute = funcGetAttribute;
  api.funcSetAttribute = funcSetAttribute;
  api.launchKernel = launchKernel;
}

} // namespace minigptc::runtime::cuda::test
