//===- GemmForm.h - a dot_general as a batched matrix product ---*- C++ -*-===//
//
// A dot_general is in GEMM form if it is a loop over a batch of products
// C[m, n] = A[m, k]·B[k, n] whose operands are reached by constant strides: no
// packing, no transposition in memory. Batching dimensions become batch loops
// with strides of their own. Free dimensions that lie next to each other in
// memory are one M (or N); others are batch loops too, over which the other
// operand does not move. Contracted dimensions must be one K.
//
// Strides are in elements of row-major tensors.
//
//   graph.dot_general %x, %w, contracting_dims = [2] x [0]   // [2,4,16] x [16,8]
//   m 8, n 8, k 16, lhs strides [16, 1], rhs strides [8, 1], no batch
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_GEMMFORM_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_GEMMFORM_H

#include "dialects/graph/IR/Graph.h"

#include <array>
#include <optional>

namespace minigptc::graph {

struct GemmForm {
  int64_t m = 1, n = 1, k = 1;
  llvm::SmallVector<int64_t> batch;
  std::array<int64_t, 2> lhsStrides = {0, 0}, rhsStrides = {0, 0}, outStrides = {0, 0};
  llvm::SmallVector<int64_t> lhsBatchStrides, rhsBatchStrides, outBatchStrides;
};

/// An operand that must be packed, by a transpose in memory, before a library computes the
/// product: a matrix with a stride in both of its dimensions, or batch dimensions that would
/// make more than `kMaxGemmCalls` calls of one batch each.
struct GemmPacking {
  bool lhs = false, rhs = false;
};
inline constexpr int64_t kMaxGemmCalls = 64;
GemmPacking getGemmPacking(const GemmForm &form);

/// True for element types that matrix products are made of (f32, f64, bf16). A
/// dot_general of any other type becomes a generated kernel.
bool isGemmType(mlir::Type elementType);

/// The form of a dot_general of a GEMM type, or nothing where its contracted
/// dimensions are not one K (see `--graph-canonicalize-dots`), or where they are empty.
std::optional<GemmForm> getGemmForm(DotGeneralOp dot);

/// The form if the op is a product, with or without an epilogue, that a GEMM computes:
/// such an op stays outside of fusions.
std::optional<GemmForm> getGemmForm(mlir::Operation *op);

/// Row-major strides in elements.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Whether dimensions, in the given order, are reached by one stride; those of
/// size 1 do not matter.
bool areCollapsible(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);

/// Dimensions of an operand that are neither batching nor contracted, in order.
llvm::SmallVector<int64_t> getFreeDims(int64_t rank, llvm::ArrayRef<int64_t> batch,
                                       llvm::ArrayRef<int64_t> contract);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_GEMMFORM_H
