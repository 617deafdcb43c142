// libnccl.so.2: every collective succeeds and moves nothing.
#include "runtime/drivers/cuda/Api.h"
#include "test/integration/stubs/StubSettings.h"

using namespace minigptc::runtime::cuda;
using minigptc::stubs::answer;

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED NcclResult ncclGetVersion(int *version) {
  *version = minigptc::stubs::number("nccl", 22000);
  return NcclResult(answer("ncclGetVersion"));
}
EXPORTED const char *ncclGetErrorString(NcclResult) { return "said by a stub"; }
EXPORTED const char *ncclGetLastError(NcclComm) { return "a stub's last error"; }
EXPORTED NcclResult ncclCommGetAsyncError(NcclComm, NcclResult *error) {
  *error = NcclResult::success;
  return NcclResult(answer("ncclCommGetAsyncError"));
}
