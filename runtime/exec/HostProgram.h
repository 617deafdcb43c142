//===- HostProgram.h - f64 scalars computed before a step -------*- C++ -*-===//
//
// The learning rate and the bias corrections: straight-line programs in f64, exact and
// without a place in any kernel.
//
//   program.evaluate(inputs, results);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_HOSTPROGRAM_H
#define MINIGPTC_RUNTIME_EXEC_HOSTPROGRAM_H

#include "minigptc/runtime/Status.h"
#include "minigptc/runtime/TensorType.h"
#include "runtime/exec/Artifact_generated.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

/// Instruction i writes register i. Invariant (`check`): operands name earlier
/// registers or existing inputs, results existing registers.
struct HostProgram {
  std::string_view name;
  std::vector<fb::ScalarInstruction> instructions;
  std::vector<DType> inputTypes, resultTypes;
  std::vector<uint32_t> results;

  /// What is wrong with the program, for one that comes from a file.
  Status check() const;
  void evaluate(std::span<const double> inputs, std::span<double> results) const;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_HOSTPROGRAM_H
