// The code of an artifact: what it is for, and the form that this asks of it.
#include "runtime/base/Log.h"
#include "runtime/exec/ArtifactReader.h"

#include <cstring>
#include <elf.h>
#include <utility>

namespace minigptc::runtime {
namespace {

constexpr uint32_t kMaxBlock = 1024, kMaxGrid = 0x7fffffff, kMaxShared = 1 << 18;
constexpr uint32_t kMaxArch = 1000;
constexpr Elf64_Half kCudaMachine = 190; // EM_CUDA, which old headers lack

std::string_view viewOf(const flatbuffers::String *text) {
  return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

bool isElf(std::span<const std::byte> code, Elf64_Half machine) {
  Elf64_Ehdr header;
  if (code.size() < sizeof(header))
    return false;
  std::memcpy(&header, code.data(), sizeof(header));
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_machine == machine;
}

Status readCubins(const fb::Artifact &table, std::span<const std::byte> blobs, Program &program) {
  for (uint32_t i = 0; i < (table.cubins() ? table.cubins()->size() : 0); ++i) {
    const fb::Cubin &from = *table.cubins()->Get(i);
    StatusOr<std::span<const std::byte>> code = readBlob(from.code(), blobs);
    if (!code)
      return code.status();
    if (from.arch() < 10 || from.arch() > kMaxArch)
      return invalidArtifact("GPU code for no known architecture");
    if (!isElf(*code, kCudaMachine))
      return invalidArtifact("GPU code for sm_" + std::to_string(from.arch()) + " is no cubin");
    for (const Cubin &other : program.cubins)
      if (other.arch == from.arch() && other.specific == from.specific())
        return invalidArtifact("GPU code for sm_" + std::to_string(from.arch()) + " twice");
    program.cubins.push_back({from.arch(), from.specific(), *code});
  }
  return {};
}

Status readForms(const fb::Artifact &table, std::span<const std::byte> blobs, Program &program) {
  bool cuda = program.target == fb::TargetKind::cuda;
  for (auto [blob, to] :
       {std::pair(table.code(), &program.code), std::pair(table.emulated(), &program.emulated)}) {
    StatusOr<std::span<const std::byte>> code = readBlob(blob, blobs);
    if (!code)
      return code.status();
    *to = *code;
  }
  MINIGPTC_RETURN_IF_ERROR(readCubins(table, blobs, program));
  if (cuda && !program.code.empty())
    return invalidArtifact("code of a CPU in a program for GPUs");
  if (!cuda && (!program.cubins.empty() || !program.emulated.empty()))
    return invalidArtifact("code of GPUs in a program for a CPU");
  if (!program.emulated.empty() && !isElf(program.emulated, EM_X86_64))
    return invalidArtifact("code for the emulator that is no machine code");
  bool hasKernels = table.kernels() && table.kernels()->size() > 0;
  if (!cuda && hasKernels && program.code.empty())
    return invalidArtifact("kernels without code");
  return {};
}

} // namespace

Status readCode(const fb::Artifact &table, std::span<const std::byte> blobs, Program &program) {
  if (!table.target())
    return invalidArtifact("no target");
  program.target = table.target()->kind();
  if (program.target > fb::TargetKind::MAX)
    return invalidArtifact("an unknown kind of target");
  program.triple = viewOf(table.target()->triple());
  if (auto *features = table.target()->features())
    for (const flatbuffers::String *feature : *features)
      program.features.push_back(viewOf(feature));
  return readForms(table, blobs, program);
}

Status readLaunch(const fb::Kernel &from, std::span<const std::byte> blobs, fb::TargetKind target,
                  KernelInfo &kernel) {
  auto fail = [&](const std::string &what) {
    return invalidArtifact("kernel " + quote(kernel.symbol) + " " + what);
  };
  const fb::CudaLaunch *cuda = from.cuda();
  if (target != fb::TargetKind::cuda)
    return cuda ? fail("of a CPU has a launch on a GPU") : Status::success();
  if (!cuda)
    return fail("has no launch on a GPU");
  kernel.cuda = {cuda->grid(), cuda->block(), cuda->shared_bytes(), cuda->grouped(), {}};
  if (cuda->grid() < 1 || cuda->grid() > kMaxGrid || cuda->block() < 1 ||
      cuda->block() > kMaxBlock || cuda->shared_bytes() > kMaxShared)
    return fail("has a launch of no sensible size");
  StatusOr<std::span<const std::byte>> ptx = readBlob(cuda->ptx(), blobs);
  if (!ptx)
    return ptx.status();
  std::string_view text(reinterpret_cast<const char *>(ptx->data()), ptx->size());
  // The driver reads up to the NUL.
  if (text.size() < 2 || text.find('\0') != text.size() - 1)
    return fail("has no PTX that ends where it should");
  kernel.cuda.ptx = text.substr(0, text.size() - 1);
  return {};
}

DeviceCode Program::deviceCode() const {
  DeviceCode all{code, cubins, emulated, {}};
  for (const KernelInfo &kernel : kernels)
    all.kernels.push_back(
        {std::string(kernel.symbol), kernel.items, kernel.grain, kernel.scratch, kernel.cuda});
  return all;
}

} // namespace minigptc::runtime
