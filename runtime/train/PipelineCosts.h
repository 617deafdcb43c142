//===- PipelineCosts.h - how long a model's parts take ----------*- C++ -*-===//
//
// Measured, for one micro-batch: of what is before the blocks (embedding), each block, and what is
// behind them (head, loss). A profile of a pipeline's step has them (StageProfile.h); as JSON:
//
//   {"pipeline": {"costs": {"embedding": {"forward_ns": 12000, "backward_ns": 30000},
//                           "blocks": [{"forward_ns": …, "backward_ns": …}, …], "head": {…}}}}
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_PIPELINECOSTS_H
#define MINIGPTC_RUNTIME_TRAIN_PIPELINECOSTS_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace minigptc::runtime {

/// Nanoseconds.
struct PassCost {
  int64_t forward = 0, backward = 0;

  int64_t both() const { return forward + backward; }
  PassCost &operator+=(const PassCost &other) {
    forward += other.forward, backward += other.backward;
    return *this;
  }
  bool operator==(const PassCost &) const = default;
};

struct PipelineCosts {
  PassCost embedding;
  std::vector<PassCost> blocks; ///< in the model's order
  PassCost head;

  /// In microseconds, as the key `sharding.stage_costs` has them: embedding, blocks, head.
  std::vector<int64_t> microseconds() const;
  bool operator==(const PipelineCosts &) const = default;
};

/// Those of a profile's file. Fails where it has none, or they are no costs.
StatusOr<PipelineCosts> readPipelineCosts(const std::string &path);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_PIPELINECOSTS_H
