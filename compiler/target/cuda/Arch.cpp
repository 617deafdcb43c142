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

/// "80", "SM_80" and "compute_80" for sm_80; what is older than all that are known.
static std::string whyUnknown(llvm::StringRef name) {
  std::string lower = name.lower();
  llvm::StringRef suffix = lower;
  suffix.consume_front("compute_") || suffix.consume_front("sm_") || suffix.consume_front("sm");
  if (llvm::is_contained(kSuffixes, suffix))
    return "'" + name.str() + "' is written sm_" + suffix.str();
  int number = 0;
  if (!suffix.empty() && !suffix.getAsInteger(10, number) && number < 80)
    return "'" + name.str() + "' is older than sm_80, the first for which code is generated";
  return "'" + name.str() + "' is no GPU architecture that code is generated for: use " +
         Arch::known();
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
      error = whyUnknown(name);
      return std::nullopt;
    }
    if (!llvm::is_contained(archs, *arch))
      archs.push_back(*arch);
  }
  return archs;
}

int Arch::number() const { return std::atoi(suffix.c_str()); }
