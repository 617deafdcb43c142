#include "runtime/drivers/cuda/CubinInfo.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>
#include <vector>

namespace minigptc::runtime::cuda {
namespace {

/// Attributes in sections `.nv.info` and `.nv.info.KERNEL`: a byte that says how long the value
/// is, a byte for the attribute, and two bytes of value, or of its size.
constexpr uint8_t kSized = 4;
constexpr uint8_t kMaxThreads = 0x05, kFrameSize = 0x11, kMinStackSize = 0x12, kRegisters = 0x2f;
/// What the driver keeps of a block's shared memory from compute capability 9.0 on.
constexpr uint64_t kReservedShared = 1024;
constexpr uint32_t kReservesShared = 90;
/// From this version of the ABI on, the architecture is the second byte of the flags, not the first.
constexpr uint8_t kAbiOfSecondByte = 8;

Status notACubin(const char *why) {
  return Status(StatusCode::dataLoss, std::string("not machine code of a GPU: ") + why);
}

template <typename T>
std::optional<T> readAt(std::span<const std::byte> bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct Section {
  Elf64_Shdr header;
  std::string name;
  std::span<const std::byte> bytes; ///< none for memory that is only set aside
};

class CubinReader {
public:
  explicit CubinReader(std::span<const std::byte> cubin) : cubin_(cubin) {}

  StatusOr<std::map<std::string, CubinKernel>> read() {
    MINIGPTC_RETURN_IF_ERROR(readSections());
    for (const Section &section : sections_)
      if (auto kernel = nameAfter(section, ".text."))
        kernels_[*kernel].codeBytes = section.header.sh_size;
    for (const Section &section : sections_) {
      if (auto kernel = nameAfter(section, ".nv.shared."); kernel && kernels_.contains(*kernel)) {
        uint64_t size = section.header.sh_size;
        kernels_[*kernel].sharedBytes =
            arch_ >= kReservesShared && size >= kReservedShared ? size - kReservedShared : size;
      } else if (section.name == ".nv.info") {
        MINIGPTC_RETURN_IF_ERROR(readInfo(section, nullptr));
      } else if (auto of = nameAfter(section, ".nv.info."); of && kernels_.contains(*of)) {
        MINIGPTC_RETURN_IF_ERROR(readInfo(section, &kernels_[*of]));
      }
    }
    return kernels_;
  }

private:
  static std::optional<std::string> nameAfter(const Section &section, std::string_view prefix) {
    if (!section.name.starts_with(prefix))
      return std::nullopt;
    return section.name.substr(prefix.size());
  }

  const Section *find(std::string_view name) const {
    for (const Section &section : sections_)
      if (section.name == name)
        return &section;
    return nullptr;
  }

  static std::string textAt(std::span<const std::byte> table, uint64_t offset) {
    if (offset >= table.size())
      return {};
    const char *text = reinterpret_cast<const char *>(table.data()) + offset;
    return std::string(text, strnlen(text, table.size() - offset));
  }

  Status readSections() {
    auto header = readAt<Elf64_Ehdr>(cubin_, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
      return notACubin("no ELF file of 64 bits");
    bool isSecond = header->e_ident[EI_ABIVERSION] >= kAbiOfSecondByte;
    arch_ = (header->e_flags >> (isSecond ? 8 : 0)) & 0xff;
    for (uint64_t i = 0; i < header->e_shnum; ++i) {
      auto section = readAt<Elf64_Shdr>(cubin_, header->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section || header->e_shoff > cubin_.size())
        return notACubin("its sections are cut off");
      bool isStored = section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL;
      if (isStored && (section->sh_offset > cubin_.size() ||
                       section->sh_size > cubin_.size() - section->sh_offset))
        return notACubin("a section is cut off");
      sections_.push_back({*section, {}, {}});
      if (isStored)
        sections_.back().bytes = cubin_.subspan(section->sh_offset, section->sh_size);
    }
    if (header->e_shstrndx >= sections_.size())
      return notACubin("its sections have no names");
    std::span<const std::byte> names = sections_[header->e_shstrndx].bytes;
    for (Section &section : sections_)
      section.name = textAt(names, section.header.sh_name);
    return {};
  }

  /// The kernel that a symbol of the table names; null: another function.
  CubinKernel *kernelOf(uint32_t symbol) {
    const Section *symbols = find(".symtab"), *names = find(".strtab");
    auto entry = symbols && names
                     ? readAt<Elf64_Sym>(symbols->bytes, uint64_t(symbol) * sizeof(Elf64_Sym))
                     : std::nullopt;
    auto found = entry ? kernels_.find(textAt(names->bytes, entry->st_name)) : kernels_.end();
    return found == kernels_.end() ? nullptr : &found->second;
  }

  Status readInfo(const Section &section, CubinKernel *kernel) {
    std::span<const std::byte> bytes = section.bytes;
    for (uint64_t at = 0; at < bytes.size();) {
      auto format = readAt<uint8_t>(bytes, at), attribute = readAt<uint8_t>(bytes, at + 1);
      auto size = readAt<uint16_t>(bytes, at + 2);
      at += 4;
      if (!size)
        return notACubin("facts about a kernel are cut off");
      if (*format != kSized)
        continue;
      if (*size > bytes.size() - at)
        return notACubin("facts about a kernel are cut off");
      use(*attribute, bytes.subspan(at, *size), kernel);
      at += *size;
    }
    return {};
  }

  void use(uint8_t attribute, std::span<const std::byte> value, CubinKernel *kernel) {
    auto first = readAt<uint32_t>(value, 0), second = readAt<uint32_t>(value, 4);
    if (!first || !second)
      return;
    if (attribute == kMaxThreads && kernel)
      kernel->maxThreads = *first * *second * readAt<uint32_t>(value, 8).value_or(1);
    CubinKernel *named = kernel ? nullptr : kernelOf(*first);
    if (attribute == kRegisters && named)
      named->registers = *second;
    if ((attribute == kFrameSize || attribute == kMinStackSize) && named)
      named->stackBytes = std::max(named->stackBytes, *second);
  }

  std::span<const std::byte> cubin_;
  uint32_t arch_ = 0; ///< 90
  std::vector<Section> sections_;
  std::map<std::string, CubinKernel> kernels_;
};

} // namespace

StatusOr<std::map<std::string, CubinKernel>> readCubin(std::span<const std::byte> cubin) {
  return CubinReader(cubin).read();
}

} // namespace minigptc::runtime::cuda
