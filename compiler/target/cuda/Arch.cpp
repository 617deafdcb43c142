//===- Arch.cpp -----------------------------------------------------------===//
#include "compiler/target/cuda/Arch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace minigptc::cuda;

/// From the first with bf16 and asynchronous copies on.
static constexpr const char *kSuffixes[] = {"80",  "86",   "87",  "89",   "90",  "90a", "100",
                                            "100a", "103", "110", "120", "120a", "121"};

std::optional<Arch> Arch::named(llvm::StringRef name) {
  if (!name.consume_front("sm_") || !llvm::is_contained(kSuffixes, name))
    return std::nullopt;
  return Arch(name.str());
}

std::string Arch::known() {
  std::string all;
  for (const char *suffix : kSuffixes)
    all += std::string(all.empty() ? "" : ", ") + "sm_" + suffix;
  return all;
}

std::optional<std::vector<Arch>> Arch::parseList(llvm::StringRef list, std::string &error) {
  std::vector<Arch> archs;
  llvm::SmallVector<llvm::StringRef> names;
  list.split(names, ',');
  for (llvm::StringRef name : names) {
    name = name.trim();
    if (name.empty() && names.size() == 1)
      break;
    std::optional<Arch> arch = named(name);
    if (!arch) {
      error = "'" + name.str() + "' is no GPU architecture that code is generated for: use " +
              known();
      return std::nullopt;
    }
    if (!llvm::is_contained(archs, *arch))
      archs.push_back(*arch);
  }
  return archs;
}

int Arch::number() const { return std::atoi(suffix.c_str()); }
