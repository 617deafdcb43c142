// libnvJitLink that refuses: the architecture at once (STUB_CUDA="link=arch"), else the code,
// unless it is told to link it (STUB_CUDA="link=all"): to a cubin with nothing in it.
#include "test/integration/stubs/StubSettings.h"

#include <cstdint>
#include <cstring>
#include <elf.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

static const char kLog[] = "ptxas fatal: a stub does not like this code";

/// What a call returns that refuses code.
static int refusal() { return minigptc::stubs::setting("link") == "all" ? 0 : 4; }

EXPORTED int nvJitLinkCreate(void **handle, uint32_t, const char **) {
  *handle = const_cast<char *>(kLog);
  return minigptc::stubs::setting("link") == "arch" ? 3 : 0;
}
EXPORTED int nvJitLinkDestroy(void **) { return 0; }
EXPORTED int nvJitLinkAddData(void *, int, const void *, size_t, const char *) { return 0; }
EXPORTED int nvJitLinkComplete(void *) { return refusal(); }
EXPORTED int nvJitLinkGetLinkedCubinSize(void *, size_t *size) {
  *size = sizeof(Elf64_Ehdr);
  return refusal();
}
EXPORTED int nvJitLinkGetLinkedCubin(void *, void *cubin) {
  constexpr Elf64_Half kCudaMachine = 190;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = kCudaMachine;
  if (refusal() == 0)
    std::memcpy(cubin, &header, sizeof(header));
  return refusal();
}
EXPORTED int nvJitLinkGetErrorLogSize(void *, size_t *size) { return *size = sizeof(kLog), 0; }
EXPORTED int nvJitLinkGetErrorLog(void *, char *log) { return std::strcpy(log, kLog), 0; }
EXPORTED int nvJitLinkGetInfoLogSize(void *, size_t *size) { return *size = 0, 0; }
EXPORTED int nvJitLinkGetInfoLog(void *, char *) { return 0; }
