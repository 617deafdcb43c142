//===- PipelinePass.h - a micro-batch on its way through a stage -*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_PIPELINEPASS_H
#define MINIGPTC_RUNTIME_PIPELINEPASS_H

#include <cstdint>

namespace minigptc::runtime {

/// The forward or backward pass of a micro-batch through a piece of a pipeline's model. Piece p is
/// on stage p mod G, of G stages.
struct PipelinePass {
  int64_t piece = 0, microBatch = 0;
  bool backward = false;

  bool operator==(const PipelinePass &) const = default;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_PIPELINEPASS_H
