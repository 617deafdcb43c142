//===- KernelPlan.h - how a kernel's work is laid on threads ----*- C++ -*-===//
//
// The kinds of kernels are those of the CPU (rows, loop nests, whole ops); what differs is
// who computes what:
//
// | kind    | a thread computes | used for |
// |---------|-------------------|----------|
// | map     | `vector` adjacent elements of every output of the nest | elementwise, data movement, sums down the columns |
// | groups  | with a warp or a block, one element | reductions along rows, or over all |
// | tiles   | 4 elements of a tile of 32 × 32 | reads of transposed operands |
// | scatter | with a warp, columns of one row of the result, whose slices it looks for | gradients of tables |
// | block   | one element, of the block alone if the result lies in place | updates of a block |
// | rows    | with a warp or a block, its columns of a row, phase by phase | norms, softmax, their gradients |
// | whole   | what the op's own code says | attention |
//
// Nests of a kernel have blocks of threads one after the other. The launch is a function
// of ops and shapes alone, made without generating code:
//
//   KernelPlan plan = planKernel(kernel); // plan.grid, plan.block, plan.sharedBytes
//
// A launch over groups of buffers has `groups` such grids, by the y index of blocks.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_KERNELPLAN_H
#define MINIGPTC_COMPILER_TARGET_CUDA_KERNELPLAN_H

#include "compiler/conversion/GraphToLoops/RowPlan.h"

namespace minigptc::cuda {

inline constexpr int64_t kWarp = 32;
/// Threads of a block, but for rows and whole kernels.
inline constexpr int64_t kBlock = 256;
/// Rows and columns of a tile.
inline constexpr int64_t kTile = 32;
/// Bytes that one access of memory moves at the most.
inline constexpr int64_t kAccessBytes = 16;

enum class NestKind { map, groups, tiles, scatter, block };

/// One loop nest.
struct NestPlan {
  NestKind kind = NestKind::map;
  llvm::SmallVector<unsigned> outputs; ///< result numbers of the kernel
  llvm::SmallVector<int64_t> shape;    ///< of the first output; one dimension if flat
  bool flat = false; ///< all values have the nest's shape and are indexed by position
  int64_t inner = -1; ///< innermost dimension that is not 1; -1: one element
  int64_t vector = 1; ///< adjacent elements of a thread
  int64_t group = 1;  ///< threads that compute an element together
  /// Of threads (map, block), elements (groups), tiles, or rows of the result by pieces (scatter).
  int64_t units = 1;
  int64_t firstBlock = 0, blocks = 0;
  int64_t pieces = 1, slots = 1; ///< of scatter: pieces of a row, each `slots` · warp · vector columns
  int64_t turned = -1; ///< of tiles: the dimension of their rows
  llvm::SmallVector<mlir::Value> turnedValues;

  int64_t elements() const { return mlir::ShapedType::getNumElements(shape); }
};

/// How rows lie on threads: thread t of a row's group has columns
/// (s · group + t) · vector + k, for each slot s and k < vector.
struct RowLayout {
  int64_t group = kWarp; ///< a warp, or all threads of the block
  int64_t vector = 1;
  int64_t slots = 1;
  /// What a thread reads and computes stays in registers from phase to phase; else slots
  /// are walked by a loop, and columns are read again.
  bool unrolled = true;
  int64_t groupsPerBlock = 1;
};

struct KernelPlan {
  std::optional<graph::kernel::RowPlan> rows; ///< of a row kernel, which has no nests
  RowLayout rowLayout;
  std::vector<NestPlan> nests;
  mlir::Operation *whole = nullptr; ///< the op that the kernel consists of, if it has loops of its own

  int64_t grid = 1;        ///< blocks
  int64_t block = kBlock;  ///< threads of one
  int64_t sharedBytes = 0; ///< dynamic shared memory of one

  /// "rows", "whole", or the first nest's kind.
  llvm::StringRef kind() const;
};

KernelPlan planKernel(mlir::func::FuncOp kernel);

/// True if positions in some value of the kernel need more than 31 bits.
bool hasWidePositions(mlir::func::FuncOp kernel);

/// A diagnostic and failure if the kernel holds what there is no CUDA code for.
llvm::LogicalResult verifyKernel(mlir::func::FuncOp kernel);

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_KERNELPLAN_H
