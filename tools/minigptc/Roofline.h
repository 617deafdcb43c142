//===- Roofline.h - what a step would take on a GPU, at best ----*- C++ -*-===//
//
// Models an entry of an artifact from what its instructions compute and move: an instruction
// takes the longer of FLOPs / peak and bytes / bandwidth, and the time to start it. Nothing is
// run or measured. What the model leaves out makes real steps slower (products below the peak)
// or faster (what a kernel finds in the cache).
//
//   std::optional<Gpu> gpu = Gpu::named("h200");
//   StatusOr<StepCost> cost = costOf(program, "train_step", *gpu);
//   std::string table = describe(*cost);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_ROOFLINE_H
#define MINIGPTC_TOOLS_MINIGPTC_ROOFLINE_H

#include "minigptc/runtime/Session.h"
#include "runtime/exec/Program.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace minigptc {

/// The numbers of its data sheet; rates are per second.
struct Gpu {
  std::string name;
  double bf16Flops = 0;     ///< of dense products of bf16, with tensor cores
  double f32Flops = 0;      ///< of everything else
  double bandwidth = 0;     ///< bytes
  double launchSeconds = 0; ///< from a kernel of a graph to the next

  static std::optional<Gpu> named(const std::string &name);
  /// All that there are, by commas.
  static std::string known();
};

enum class CostClass { gemm, attention, other };

/// An instruction with all its repetitions; of equal ones there is one.
struct InstructionCost {
  runtime::InstructionInfo what;
  std::string does; ///< of a kernel: `describeFused`
  CostClass kind = CostClass::other;
  int64_t count = 0;
  double flops = 0, bytes = 0, seconds = 0; ///< of all repetitions
  double tensorSeconds = 0; ///< the same, if attention's products of bf16 ran on tensor cores
};

struct StepCost {
  Gpu gpu;
  std::string entry;
  std::vector<InstructionCost> instructions; ///< the longest first
  int64_t devices = 1;                       ///< of the program; the cost is one's

  /// Sums over a class; over all without one.
  InstructionCost total(std::optional<CostClass> kind = std::nullopt) const;
};

/// Instructions of loops and calls count as often as they run. What the host does is free. Of a
/// pipeline, a device of the stage that takes longest.
runtime::StatusOr<StepCost> costOf(const runtime::Program &program, const std::string &entry,
                                   const Gpu &gpu);

/// Tables: by class, and of instructions, the longest first. `markdown`: of a page.
std::string describe(const StepCost &cost, bool markdown = false);
nlohmann::ordered_json toJson(const StepCost &cost);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_ROOFLINE_H
