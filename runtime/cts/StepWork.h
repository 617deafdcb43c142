//===- StepWork.h - how often a step does what ------------------*- C++ -*-===//
//
//   StepWork work = workOf(program, "train_step");
//   work.launches[kernel];   // of 12 equal layers: 12 for each launch in the layer's block
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_CTS_STEPWORK_H
#define MINIGPTC_RUNTIME_CTS_STEPWORK_H

#include "runtime/exec/Program.h"

namespace minigptc::runtime {

/// By number of the kernel and the product: how often one run of an entry does it, and over
/// how many groups of buffers in all.
struct StepWork {
  std::vector<int64_t> launches, groups, products;
};

/// Nothing if there is no such entry.
StepWork workOf(const Program &program, std::string_view entry);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_CTS_STEPWORK_H
