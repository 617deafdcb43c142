//===- Explain.h - what devices send each other, and why --------*- C++ -*-===//
//
//   Explanation plan = explain(program);
//   std::cout << toText(plan);                       // a table, largest first
//   double megabytes = plan.bytes() * 1e-6;
//
// Compiles the program as far as its plan needs, for no device in particular: a mesh of 512
// is explained as fast as one of 8. Bytes are those that one device sends in one run of the
// entry, by ring algorithms.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_EXPLAIN_H
#define MINIGPTC_COMPILER_EXPLAIN_H

#include "minigptc/runtime/Mesh.h"

#include <map>
#include <string>
#include <vector>

namespace minigptc {

class Program;

/// Collectives of one kind, over the same axes, from the same place; or messages to another stage
/// of a pipeline ("send_recv", over the axis "stage").
struct ExplainedCollective {
  std::string kind;              ///< "all_gather", "reduce_scatter", "all_reduce", …
  int64_t stage = -1;            ///< of a pipeline, whose devices; −1: there are no stages
  std::vector<std::string> axes; ///< major to minor
  std::string phase;             ///< "forward", "backward" or "update"
  int64_t count = 0;             ///< in one run of the entry
  double bytes = 0;              ///< sent by one device, of all of them
  std::string tensor;            ///< "f32[16,128,256]"; several that go together: "f32[…] + 6 more"
  std::string why;
  std::vector<std::string> at; ///< FILE:LINE of the user's program, of all that it serves
  std::string annotation;      ///< what led to it
  std::string instead;         ///< the annotation that would remove it, or empty
  /// What a device computes while it is on its way: "transformer_block.bwd", "2 products",
  /// "5 kernels". Empty: nothing, devices wait for it.
  std::vector<std::string> beside;
  double besideFlops = 0; ///< of matrix products beside one of them
  std::string behind;     ///< what is computed last before it starts; empty: it comes first
  std::string before;     ///< what waits for it; empty: the end of its function
};

/// How one parameter lies on the devices.
struct ExplainedParameter {
  std::string name; ///< path in the parameters' tree
  TensorType type;
  PartitionSpec spec; ///< one entry for each dimension, and the stages that have it
  Shape localShape;
};

struct ExplainedWarning {
  std::string text;
  std::string at;   ///< FILE:LINE, or empty
  double bytes = 0; ///< that one device sends, or holds, because of it
};

/// Bytes that one device holds.
struct ExplainedMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0;
  int64_t total() const { return parameters + gradients + optimizer + activations + workspace; }
};

struct Explanation {
  Mesh mesh;
  std::vector<ExplainedCollective> collectives; ///< most bytes first
  std::vector<ExplainedParameter> parameters;
  std::vector<ExplainedWarning> warnings;
  ExplainedMemory memory;                   ///< of the stage that holds most
  std::vector<ExplainedMemory> stageMemory; ///< of a pipeline, by stage
  bool overlaps = false; ///< collectives are put beside compute
  double flops = 0;      ///< of a device's matrix products in a step

  /// The stage whose devices send most, of which the sums below are; −1: there are no stages.
  int64_t busiestStage() const;
  int64_t count() const;
  double bytes() const;
  double bytesBeside() const; ///< of collectives that something is computed beside
};

struct ExplainOptions {
  std::string entry = "train_step";
  std::string target = "cpu";   ///< as `CompileOptions` has them
  std::string overlap = "auto"; ///< likewise
  int threads = 0; ///< of a device; 0: its share of this machine's cores
};

/// Throws CompileError.
Explanation explain(const Program &program, const ExplainOptions &options = {});

/// For people; columns fit a terminal of 100.
std::string toText(const Explanation &plan);
/// The object of `minigptc explain --json`.
std::string toJson(const Explanation &plan);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_EXPLAIN_H
