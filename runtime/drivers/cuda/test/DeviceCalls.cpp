// libcuda's functions about devices, contexts and errors, emulated.
#include "runtime/drivers/cuda/test/Machine.h"

#include <cstring>

namespace minigptc::runtime::cuda::test {
namespace {

/// As an A100: what the artifact's PTX for sm_80 runs on.
constexpr int kCapabilityMajor = 8, kCapabilityMinor = 0, kMultiprocessors = 108;
constexpr int kVersion = 12080;
constexpr uintptr_t kFirstContext = 0xc000;

struct ErrorName {
  Result code;
  const char *name, *text;
};
constexpr ErrorName kErrors[] = {
    {Result::success, "CUDA_SUCCESS", "no error"},
    {Result::invalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {Result::outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {Result::deinitialized, "CUDA_ERROR_DEINITIALIZED", "the emulated devices are gone"},
    {Result::invalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {Result::invalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {Result::noBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "the emulated device runs code that was compiled for it only"},
    {Result::invalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {Result::notFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {Result::notReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {Result::launchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {Result::launchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {Result::captureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {Result::captureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {Result::captureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {Result::captureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {Result::captureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {Result::captureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {Result::captureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {Result::capturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {Result::captureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
};

const ErrorName *findError(Result code) {
  for (const ErrorName &error : kErrors)
    if (error.code == code)
      return &error;
  return nullptr;
}

Result getErrorName(Result code, const char **text) {
  const ErrorName *error = findError(code);
  *text = error ? error->name : nullptr;
  return error ? Result::success : Result::invalidValue;
}

/// With what was found, where the code stands for a finding.
Result getErrorString(Result code, const char **text) {
  static thread_local std::string kept;
  const ErrorName *error = findError(code);
  *text = nullptr;
  if (!error)
    return Result::invalidValue;
  kept = error->text;
  enterOr(0, [&](Machine &machine, Lock &) {
    const std::string &why = code == Result::launchFailed ? machine.failure : machine.lastRefusal;
    if (code != Result::success && code != Result::notReady && !why.empty())
      kept += "; " + why;
    return 0;
  });
  *text = kept.c_str();
  return Result::success;
}

bool isDevice(const Machine &machine, DeviceId device) {
  return device >= 0 && device < int(machine.devices.size());
}

Result deviceGetCount(int *count) {
  return enter([&](Machine &machine, Lock &) {
    *count = int(machine.devices.size());
    return Result::success;
  });
}

Result deviceGet(DeviceId *device, int ordinal) {
  return enter([&](Machine &machine, Lock &) {
    *device = ordinal;
    return isDevice(machine, ordinal) ? Result::success : Result::invalidDevice;
  });
}

Result deviceGetName(char *name, int length, DeviceId device) {
  std::string text = "emulated device " + std::to_string(device) + " (no GPU)";
  if (length < 1)
    return Result::invalidValue;
  std::strncpy(name, text.c_str(), size_t(length));
  name[length - 1] = 0;
  return Result::success;
}

Result deviceTotalMem(size_t *bytes, DeviceId device) {
  return enter([&](Machine &machine, Lock &) {
    if (!isDevice(machine, device))
      return Result::invalidDevice;
    *bytes = machine.devices[size_t(device)]->heap.total();
    return Result::success;
  });
}

Result deviceGetAttribute(int *value, DeviceAttribute attribute, DeviceId device) {
  return enter([&](Machine &machine, Lock &) {
    if (!isDevice(machine, device))
      return Result::invalidDevice;
    switch (attribute) {
    case DeviceAttribute::maxThreadsPerBlock: *value = 1024; break;
    case DeviceAttribute::maxGridX: *value = 0x7fffffff; break;
    case DeviceAttribute::maxGridY: *value = 65535; break;
    case DeviceAttribute::multiprocessors: *value = kMultiprocessors; break;
    case DeviceAttribute::capabilityMajor: *value = kCapabilityMajor; break;
    case DeviceAttribute::capabilityMinor: *value = kCapabilityMinor; break;
    case DeviceAttribute::maxSharedPerBlockOptin: *value = kMaxSharedBytes; break;
    default:
      return machine.refuse(Result::invalidValue, "cuDeviceGetAttribute: an attribute that the "
                                                  "emulated device does not know: " +
                                                      std::to_string(int(attribute)));
    }
    return Result::success;
  });
}

Result primaryCtxRetain(Context *context, DeviceId device) {
  return enter([&](Machine &machine, Lock &) {
    if (!isDevice(machine, device))
      return Result::invalidDevice;
    ++machine.devices[size_t(device)]->retained;
    *context = reinterpret_cast<Context>(kFirstContext + 16 * uintptr_t(device));
    return Result::success;
  });
}

Result primaryCtxRelease(DeviceId device) {
  return enter([&](Machine &machine, Lock &) {
    if (!isDevice(machine, device))
      return Result::invalidDevice;
    int &retained = machine.devices[size_t(device)]->retained;
    if (!retained)
      return machine.refuse(Result::invalidContext,
                            "cuDevicePrimaryCtxRelease of a context that nobody holds",
                            HazardKind::useAfterFree);
    --retained;
    return Result::success;
  });
}

Result ctxSetCurrent(Context context) {
  return enter([&](Machine &machine, Lock &) {
    uintptr_t offset = reinterpret_cast<uintptr_t>(context) - kFirstContext;
    if (!context) {
      machine.setCurrentDevice(-1);
      return Result::success;
    }
    if (offset % 16 || offset / 16 >= machine.devices.size() ||
        !machine.devices[offset / 16]->retained)
      return machine.refuse(Result::invalidContext,
                            "cuCtxSetCurrent: no context, or one that was released",
                            HazardKind::useAfterFree);
    machine.setCurrentDevice(int(offset / 16));
    return Result::success;
  });
}

Result ctxSynchronize() {
  return enterDevice("cuCtxSynchronize", [](Machine &machine, Lock &lock, EmulatedDevice &device) {
    Result code;
    if (machine.captureForbids("cuCtxSynchronize", code))
      return code;
    std::vector<std::shared_ptr<Operation>> last = {device.defaultStream.lane->last};
    for (const auto &[handle, stream] : machine.streams.all())
      if (stream->device == device.number)
        last.push_back(stream->lane->last);
    Result result = Result::success;
    for (const auto &operation : last)
      result = machine.synchronise(lock, operation);
    machine.checkGuards();
    return machine.failed ? Result::launchFailed : result;
  });
}

Result memGetInfo(size_t *free, size_t *total) {
  return enterDevice("cuMemGetInfo", [&](Machine &, Lock &, EmulatedDevice &device) {
    *free = device.heap.available();
    *total = device.heap.total();
    return Result::success;
  });
}

} // namespace

void fillDeviceCalls(DriverApi &api) {
  api.init = [](unsigned) { return Machine::current() ? Result::success : Result::noDevice; };
  api.driverGetVersion = [](int *version) { return *version = kVersion, Result::success; };
  api.getErrorName = getErrorName;
  api.getErrorString = getErrorString;
  api.deviceGetCount = deviceGetCount;
  api.deviceGet = deviceGet;
  api.deviceGetName = deviceGetName;
  api.deviceTotalMem = deviceTotalMem;
  api.deviceGetAttribute = deviceGetAttribute;
  api.primaryCtxRetain = primaryCtxRetain;
  api.primaryCtxRelease = primaryCtxRelease;
  api.ctxSetCurrent = ctxSetCurrent;
  api.ctxSynchronize = ctxSynchronize;
  api.memGetInfo = memGetInfo;
}

} // namespace minigptc::runtime::cuda::test
