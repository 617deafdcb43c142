// libnvJitLink that refuses: the architecture at once (STUB_CUDA="link=arch"), else the code.
#include "test/integration/stubs/StubSettings.h"

#include <cstdint>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

static const char kLog[] = "ptxas fatal: a stub does not like this code";

EXPORTED int nvJitLinkCreate(void **handle, uint32_t, const char **) {
  *handle = const_cast<char *>(kLog);
  return minigptc::stubs::setting("link") == "arch" ? 3 : 0;
}
EXPORTED int nvJitLinkDestroy(void **) { return 0; }
EXPORTED int nvJitLinkAddData(void *, int, const void *, size_t, const char *) { return 0; }
EXPORTED int nvJitLinkComplete(void *) { return 4; }
EXPORTED int nvJitLinkGetLinkedCubinSize(void *, size_t *) { return 4; }
EXPORTED int nvJitLinkGetLinkedCubin(void *, void *) { return 4; }
EXPORTED int nvJitLinkGetErrorLogSize(void *, size_t *size) { return *size = sizeof(kLog), 0; }
EXPORTED int nvJitLinkGetErrorLog(void *, char *log) { return std::strcpy(log, kLog), 0; }
EXPORTED int nvJitLinkGetInfoLogSize(void *, size_t *size) { return *size = 0, 0; }
EXPORTED int nvJitLinkGetInfoLog(void *, char *) { return 0; }
