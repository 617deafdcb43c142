//===- Reductions.h - threads that combine elements -------------*- C++ -*-===//
//
// The elements of a kernel's values on a GPU. A reduction is computed by one thread,
// element after element, unless a group of threads (a warp, or the block) does it together:
// thread t of g takes the vectors t, t + g, … of the operand, a chain for each place in a
// vector; then the chains are combined, then lanes l and l ^ 16, l ^ 8, …, then warps in
// order. So bits depend on shapes alone.
//
//   Group group{kWarp, lane, {}};
//   elements.setGroup(&group);               // whoever asks for elements does so in step
//   Value sum = elements.element(result, indices);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_REDUCTIONS_H
#define MINIGPTC_COMPILER_TARGET_CUDA_REDUCTIONS_H

#include "compiler/target/common/Elements.h"

namespace minigptc::cuda {

/// Threads that work in step.
struct Group {
  int64_t size = 32;  ///< a warp, or all threads of the block
  mlir::Value thread; ///< number of the thread in the group
  mlir::Value shared; ///< for a block: `getGroupBytes` of shared memory
};

/// True if the value has one element.
bool isScalar(mlir::Value value);
/// Bytes of an element in shared memory, where it lies as a scalar.
int64_t getSharedBytes(mlir::Value value);
/// Shared memory that a block needs to make so many reductions at once.
int64_t getGroupBytes(int64_t threads, int64_t reductions);

class ElementEmitter : public target::Elements {
public:
  /// Code goes into `function`, a `gpu.func`.
  ElementEmitter(mlir::OpBuilder &builder, mlir::Operation *function)
      : Elements(builder, function, /*addressSpace=*/1) {}

  /// Reductions along last dimensions are the group's from here on; null: each thread's own.
  void setGroup(const Group *group) { this->group = group; }
  /// The values of all threads of the group combined; every thread gets them.
  llvm::SmallVector<mlir::Value> combine(const Group &group,
                                         llvm::ArrayRef<graph::ReductionKernelOp> reductions,
                                         mlir::ValueRange values);
  /// A reduction by all threads of a group, which stand here together.
  mlir::Value grouped(const Group &group, graph::ReductionKernelOp op, mlir::ValueRange indices);

  /// Shared memory holds scalars as they are.
  mlir::Value loadShared(mlir::Value pointer, mlir::Type elementType, mlir::Value position);
  void storeShared(mlir::Value scalar, mlir::Value pointer, mlir::Type elementType,
                   mlir::Value position);
  void barrier();
  /// Of a group's threads, where all of them stand.
  void barrier(const Group &group);

private:
  mlir::Value reduction(graph::ReductionKernelOp op, mlir::ValueRange indices) override;
  /// Constants are kept apart, so that elements side by side are seen to be, and are read or
  /// written by one access.
  mlir::Value address(mlir::Value pointer, mlir::Type storage, mlir::Value position) override;
  mlir::Value position(mlir::ValueRange indices, llvm::ArrayRef<int64_t> shape) override;

  const Group *group = nullptr;
};

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_REDUCTIONS_H
