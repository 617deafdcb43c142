// libcuda.so.1 without a GPU: memory is the host's, copies are made at once, kernels do
// nothing. See StubSettings.h.
#include "runtime/drivers/cuda/Api.h"
#include "test/integration/stubs/StubSettings.h"

#include <cstring>
#include <map>
#include <string>

using namespace minigptc::runtime::cuda;
using minigptc::stubs::answer;
using minigptc::stubs::number;

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

/// `then`, unless the call is to fail.
template <typename Then> Result unlessTold(const char *symbol, Then then) {
  Result result = Result(answer(symbol));
  if (result == Result::success)
    then();
  return result;
}

void *host(DevicePtr pointer) { return reinterpret_cast<void *>(pointer); }

/// Memory whose floats are small and whose booleans are true: a step that computes nothing
/// looks finite.
void *allocate(size_t bytes) {
  size_t size = (bytes + 255) / 256 * 256;
  void *memory = std::aligned_alloc(256, size);
  return memory ? std::memset(memory, 1, size) : nullptr;
}

size_t memoryBytes() { return size_t(number("megabytes", 1024)) << 20; }

} // namespace

EXPORTED Result cuDriverGetVersion(int *version) {
  return unlessTold("cuDriverGetVersion", [&] { *version = number("driver", 13000); });
}
EXPORTED Result cuDeviceGetCount(int *count) {
  return unlessTold("cuDeviceGetCount", [&] { *count = number("gpus", 1); });
}
EXPORTED Result cuGetErrorName(Result error, const char **text) {
  static const std::map<int, const char *> names = {
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},     {100, "CUDA_ERROR_NO_DEVICE"},
      {200, "CUDA_ERROR_INVALID_IMAGE"},   {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {218, "CUDA_ERROR_INVALID_PTX"},     {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"}};
  auto found = names.find(int(error));
  *text = found == names.end() ? nullptr : found->second;
  return Result::success;
}
EXPORTED Result cuGetErrorString(Result, const char **text) {
  *text = "said by a stub";
  return Result::success;
}
EXPORTED Result cuDeviceGet(DeviceId *device, int ordinal) {
  return unlessTold("cuDeviceGet", [&] { *device = ordinal; });
}
EXPORTED Result cuDeviceGetName(char *name, int length, DeviceId) {
  return unlessTold("cuDeviceGetName", [&] { std::strncpy(name, "Stub GPU", size_t(length)); });
}
EXPORTED Result cuDeviceTotalMem_v2(size_t *bytes, DeviceId) {
  return unlessTold("cuDeviceTotalMem_v2", [&] { *bytes = memoryBytes(); });
}
EXPORTED Result cuDeviceGetAttribute(int *value, DeviceAttribute attribute, DeviceId) {
  return unlessTold("cuDeviceGetAttribute", [&] {
    int arch = number("arch", 90);
    *value = attribute == DeviceAttribute::capabilityMajor   ? arch / 10
             : attribute == DeviceAttribute::capabilityMinor ? arch % 10
                                                             : 1024;
  });
}
EXPORTED Result cuFuncGetAttribute(int *value, FunctionAttribute, Function) {
  return unlessTold("cuFuncGetAttribute", [&] { *value = 1024; });
}
EXPORTED Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  return unlessTold("cuMemGetInfo_v2", [&] { *free = *total = memoryBytes(); });
}
EXPORTED Result cuMemAlloc_v2(DevicePtr *pointer, size_t bytes) {
  return unlessTold("cuMemAlloc_v2",
                    [&] { *pointer = reinterpret_cast<DevicePtr>(allocate(bytes)); });
}
EXPORTED Result cuMemFree_v2(DevicePtr pointer) {
  return unlessTold("cuMemFree_v2", [&] { std::free(host(pointer)); });
}
EXPORTED Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  return unlessTold("cuMemHostAlloc", [&] { *pointer = allocate(bytes); });
}
EXPORTED Result cuMemFreeHost(void *pointer) {
  return unlessTold("cuMemFreeHost", [&] { std::free(pointer); });
}
EXPORTED Result cuMemcpyHtoDAsync_v2(DevicePtr target, const void *source, size_t bytes, Stream) {
  return unlessTold("cuMemcpyHtoDAsync_v2", [&] { std::memcpy(host(target), source, bytes); });
}
EXPORTED Result cuMemcpyDtoHAsync_v2(void *target, DevicePtr source, size_t bytes, Stream) {
  return unlessTold("cuMemcpyDtoHAsync_v2", [&] { std::memcpy(target, host(source), bytes); });
}
EXPORTED Result cuMemcpyDtoDAsync_v2(DevicePtr target, DevicePtr source, size_t bytes, Stream) {
  return unlessTold("cuMemcpyDtoDAsync_v2",
                    [&] { std::memcpy(host(target), host(source), bytes); });
}
EXPORTED Result cuEventElapsedTime(float *milliseconds, EventHandle, EventHandle) {
  return unlessTold("cuEventElapsedTime", [&] { *milliseconds = 1; });
}
EXPORTED Result cuModuleLoadDataEx(Module *module, const void *image, unsigned count,
                                   JitOption *options, void **values) {
  Result result =
      unlessTold("cuModuleLoadDataEx", [&] { *module = reinterpret_cast<Module>(uintptr_t(64)); });
  bool isMachineCode = std::memcmp(image,
                                   "\x7f"
                                   "ELF",
                                   4) == 0;
  if (isMachineCode && result == Result::success)
    result = Result(number("cubins", 0));
  for (unsigned i = 0; result != Result::success && i < count; ++i)
    if (options[i] == JitOption::errorLogBuffer)
      std::strcpy(static_cast<char *>(values[i]), "a stub does not like this code\nand says why");
  return result;
}
