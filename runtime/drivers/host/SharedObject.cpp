#include "runtime/drivers/host/SharedObject.h"

#include "runtime/base/File.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace minigptc::runtime {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_NONE; // there is no code for other processors
#endif

Status badElf(const std::string &what) {
  return Status(StatusCode::dataLoss, "the machine code is damaged: " + what);
}

Status checkSegment(const Elf64_Phdr &segment, uint64_t fileSize) {
  if (segment.p_offset > fileSize || segment.p_filesz > fileSize - segment.p_offset)
    return badElf("a segment lies outside of it");
  if (segment.p_type == PT_LOAD &&
      (segment.p_memsz < segment.p_filesz || segment.p_memsz > (1ull << 32) ||
       segment.p_vaddr > (1ull << 32)))
    return badElf("a segment has no sensible size");
  if (segment.p_type == PT_INTERP)
    return badElf("it is a program, not a shared object");
  return {};
}

Status writeAll(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return fileError(errno, "write", "the kernels' memory file");
    bytes = bytes.subspan(size_t(count));
  }
  return {};
}

} // namespace

Status checkElf(std::span<const std::byte> elf) {
  Elf64_Ehdr header;
  if (elf.size() < sizeof(header))
    return badElf("it is too short");
  std::memcpy(&header, elf.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return badElf("it is no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine)
    return Status(StatusCode::failedPrecondition, "the machine code is for another kind of CPU")
        .withHelp("compile the program on this machine");
  if (header.e_type != ET_DYN)
    return badElf("it is no shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > elf.size() ||
      header.e_phnum > (elf.size() - header.e_phoff) / sizeof(Elf64_Phdr))
    return badElf("its segment table lies outside of it");
  bool loads = false;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, elf.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    MINIGPTC_RETURN_IF_ERROR(checkSegment(segment, elf.size()));
    loads |= segment.p_type == PT_LOAD;
  }
  return loads ? Status() : badElf("it has nothing to load");
}

StatusOr<SharedObject> SharedObject::load(std::span<const std::byte> elf) {
  MINIGPTC_RETURN_IF_ERROR(checkElf(elf));
  int descriptor = memfd_create("minigptc-kernels", MFD_CLOEXEC);
  if (descriptor < 0)
    return fileError(errno, "create", "the kernels' memory file");
  if (Status status = writeAll(descriptor, elf); !status) {
    close(descriptor);
    return status;
  }
  std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = handle ? "" : dlerror();
  if (!handle) {
    close(descriptor);
    return Status(StatusCode::dataLoss, "the machine code cannot be loaded: " + reason);
  }
  return SharedObject(handle, descriptor);
}

SharedObject::~SharedObject() {
  if (handle_) {
    dlclose(handle_);
    close(descriptor_);
  }
}

void *SharedObject::find(const std::string &symbol) const {
  return handle_ ? dlsym(handle_, symbol.c_str()) : nullptr;
}

} // namespace minigptc::runtime
