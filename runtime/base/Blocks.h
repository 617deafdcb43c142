//===- Blocks.h - rectangular parts of tensors ------------------*- C++ -*-===//
//
//   // Rows 2 and 3 of from[8,4] become rows 0 and 1 of to[2,4]:
//   copyBlock(f32size, {2, 4}, from, {8, 4}, {2, 0}, to, {2, 4}, {0, 0});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_BLOCKS_H
#define MINIGPTC_RUNTIME_BASE_BLOCKS_H

#include "minigptc/runtime/TensorType.h"

#include <cstddef>

namespace minigptc::runtime {

/// Copies a block of `size` elements per dimension between two row-major tensors, in each
/// from the index at which it starts. All lists have one length; the block lies inside both.
void copyBlock(int64_t elementBytes, const Shape &size, const std::byte *source,
               const Shape &sourceShape, const Shape &sourceStart, std::byte *target,
               const Shape &targetShape, const Shape &targetStart);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_BLOCKS_H
