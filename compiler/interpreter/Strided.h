//===- Strided.h - views of tensors -----------------------------*- C++ -*-===//
//
// Most data movement is one strided copy: a box of `shape` is read at
// `offset + Σ index·stride` elements in the source and written the same way in
// the destination. A transpose, for example:
//
//   copyStrided(result.getShape(), {source, 0, permutedStrides},
//               {result, 0, rowMajorStrides(result.getShape())});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_STRIDED_H
#define MINIGPTC_COMPILER_INTERPRETER_STRIDED_H

#include "compiler/interpreter/Tensor.h"

namespace minigptc::interpreter {

/// Elements between neighbours along each dimension.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Where the elements of a box lie in a tensor's storage.
struct Placement {
  int64_t offset = 0; ///< of the box's first element
  llvm::SmallVector<int64_t> strides;
};

/// Copies a box of elements between tensors of one element type.
void copyStrided(llvm::ArrayRef<int64_t> shape, const Tensor &source, const Placement &from,
                 Tensor &destination, const Placement &to);

/// The tensor with result dimension i being dimension `permutation[i]`.
Tensor transpose(const Tensor &tensor, llvm::ArrayRef<int64_t> permutation);

/// The dimensions of [0, rank) that are not in `dims`, in order.
llvm::SmallVector<int64_t> otherDims(int64_t rank, llvm::ArrayRef<int64_t> dims);

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_STRIDED_H
