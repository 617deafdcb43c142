//===- KernelTable.h - the kernels of an artifact, in words -----*- C++ -*-===//
//
//   KernelTable table(program);
//   std::string text = table.print(/*markdown=*/false);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_KERNELTABLE_H
#define MINIGPTC_TOOLS_MINIGPTC_KERNELTABLE_H

#include "runtime/drivers/cuda/CubinInfo.h"
#include "runtime/exec/Program.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <vector>

namespace minigptc {

/// What a kernel fuses, by places of the user's program:
/// "add, 3 multiply (models/mlp.cpp:12); tanh (models/mlp.cpp:13)".
std::string describeFused(const runtime::Program &program, const runtime::KernelInfo &kernel);

/// A kernel's name without the hash at its end, which changes with the compiler.
std::string_view withoutHash(std::string_view symbol);

/// Lines of FLOPs and bytes mean one launch, of one group of buffers.
class KernelTable {
public:
  /// The program outlives it. Machine code that cannot be read is left out.
  explicit KernelTable(const runtime::Program &program);

  /// A heading, and a line for each kernel. `markdown`: for a page.
  std::string print(bool markdown) const;
  /// An object for each kernel.
  nlohmann::ordered_json toJson() const;

private:
  /// How often an entry launches each kernel, and the most groups of a launch.
  struct Launches {
    std::map<std::string, int64_t> times; ///< by entry
    int64_t groups = 1;
  };
  /// Of machine code, by the architecture's name.
  using Cubins = std::vector<
      std::pair<std::string, std::map<std::string, runtime::cuda::CubinKernel>>>;

  void count(const std::string &entry, uint32_t block, int64_t times);
  std::string launchesOf(size_t kernel) const;
  std::vector<std::string> resourcesOf(const runtime::KernelInfo &kernel) const;

  const runtime::Program &program;
  std::vector<Launches> launches; ///< by kernel
  Cubins cubins;
};

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_KERNELTABLE_H
