//===- ConstantIndices.h - indices known while tracing ----------*- C++ -*-===//
//
// Of an index that is a constant, or made of constants by moving elements, one outside of a tensor
// is a mistake that need not wait for the program to run.
//
//   checkIndices(emit, "take", indices, rows, "dimension 0 of f32[10,4]");
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_CONSTANTINDICES_H
#define MINIGPTC_COMPILER_TRACE_CONSTANTINDICES_H

#include "compiler/trace/Emit.h"

namespace minigptc::detail {

/// Fails if an element that is known is not in [0, bound); `of` says of what.
void checkIndices(const Emitter &emit, const std::string &what, mlir::Value indices, int64_t bound,
                  const std::string &of);

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_CONSTANTINDICES_H
