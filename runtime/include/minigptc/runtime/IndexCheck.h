//===- IndexCheck.h - what an integer input may hold ------------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_INDEXCHECK_H
#define MINIGPTC_RUNTIME_INDEXCHECK_H

#include "minigptc/runtime/TensorType.h"

namespace minigptc::runtime {

/// Elements start, start+stride, … below limit of an integer input, per dimension, lie in
/// [0, bound) or are `ignored`. Without `start` all elements do.
struct IndexCheck {
  int64_t bound = 0;
  int64_t ignored = 0; ///< 0: none, for that lies in [0, bound)
  Shape start = {}, limit = {}, strides = {};
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_INDEXCHECK_H
