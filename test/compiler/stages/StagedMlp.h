//===- StagedMlp.h - a pipeline by hand -------------------------*- C++ -*-===//
//
// Text of a training step, as the pass that assigns stages leaves it: a chain of layers
// tanh(x·w), one for each piece of a pipeline, trained to a target, with micro-batches in the order
// of a schedule, and gradients scaled by one over 1 + their norm², which needs all stages. Without
// stages the same program for one device.
//
//   std::string text = stagedMlp({.kind = ScheduleKind::gpipe, .pipeline = {4, 2}, .mesh = …});
//
// Entry `step`: w0, w1, … f32[D,D] (donated), x and y f32[M,B,D] -> w0, w1, …, loss.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_STAGES_STAGEDMLP_H
#define MINIGPTC_TEST_COMPILER_STAGES_STAGEDMLP_H

#include "dialects/dist/Schedules/Schedules.h"

namespace minigptc::test {

struct StagedMlp {
  dist::ScheduleKind kind = dist::ScheduleKind::gpipe;
  dist::Pipeline pipeline;
  int64_t batch = 4, width = 8; ///< of a micro-batch
  std::string mesh = {};        ///< "\"stage\"=2, \"batch\"=2"; empty: no mesh, and no stages
  std::string batchAxis = {};   ///< cuts rows of x and y
  std::string modelAxis = {};   ///< cuts columns of even layers, rows of odd ones
};

std::string stagedMlp(const StagedMlp &options);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_STAGES_STAGEDMLP_H
