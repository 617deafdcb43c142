//===- Elements.h - kernel code, pulled from its results --------*- C++ -*-===//
//
// Emits the scalar code of an element of a kernel's value by asking the op that
// makes it (`KernelOp`), which asks for its operands' elements in turn. A value
// that several ops use is computed once per place (see Scopes.h). Both targets
// derive from it: how a reduction's elements are walked is theirs, as are the loops
// around an element.
//
//   struct Emitter : Elements { Value reduction(…) override; };
//   emitter.bind(argument, pointer);
//   Value y = emitter.element(result, {row, column});
//
// `load` and `store` are the only places that know how an element lies in memory.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_ELEMENTS_H
#define MINIGPTC_COMPILER_TARGET_COMMON_ELEMENTS_H

#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "compiler/target/common/Scopes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace minigptc::target {

/// The type of an element in memory.
mlir::Type getStorageType(mlir::Type elementType);
int64_t getStorageBytes(mlir::Value value);

/// The address `offset` elements behind `pointer`. The offset is a value of 64 bits: a constant
/// index of `llvm.getelementptr` has 29, and what does not fit into them is lost without a word.
mlir::Value addressBehind(graph::kernel::Scalars s, mlir::Value pointer, mlir::Type storage,
                          int64_t offset);

/// What a reduction runs over: the shape of its operand, and its indices.
struct Reduced {
  explicit Reduced(graph::ReductionKernelOp op)
      : operand(op->getOperand(0)), shape(graph::kernel::getShape(operand)),
        dims(op.getReducedDims()) {}

  llvm::SmallVector<int64_t> sizes() const {
    return llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
  }
  bool reducesLast() const { return !dims.empty() && dims.back() == int64_t(shape.size()) - 1; }
  /// Operand indices from the result's and those along the reduced dimensions.
  llvm::SmallVector<mlir::Value> indices(mlir::ValueRange result, mlir::ValueRange reduced) const;

  mlir::Value operand;
  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<int64_t> dims;
};

class Elements {
public:
  /// Code goes into `function`, whose entry block exists. Constants that need memory
  /// lie in `addressSpace`, as do the kernel's buffers.
  Elements(mlir::OpBuilder &builder, mlir::Operation *function, unsigned addressSpace)
      : builder(builder), function(function), addressSpace(addressSpace), scopes(builder) {}
  virtual ~Elements() = default;

  /// Says where a kernel's argument lies in memory.
  void bind(mlir::Value argument, mlir::Value pointer) { pointers[argument] = pointer; }
  /// Where a value lies in memory, or null if it is computed.
  mlir::Value getPointer(mlir::Value value) const { return pointers.lookup(value); }
  /// The element at `indices`, one per dimension; or one row-major position for
  /// a value of any shape, in nests over positions.
  mlir::Value element(mlir::Value value, mlir::ValueRange indices);

  /// A scalar as the element type holds it: what computes on bf16 elements gives f32.
  mlir::Value rounded(mlir::Value scalar, mlir::Type elementType);
  /// Reads or writes memory as an element type of the graph (i1 is a byte). What is
  /// stored as bf16 is one already. `streamed`: past the caches, where vectors are aligned.
  mlir::Value load(mlir::Value pointer, mlir::Type elementType, mlir::Value position);
  void store(mlir::Value scalar, mlir::Value pointer, mlir::Type elementType, mlir::Value position,
             bool streamed = false);
  mlir::Value linearise(mlir::ValueRange indices, llvm::ArrayRef<int64_t> shape);

  /// A loop from begin to end; the builder is left in its body.
  mlir::scf::ForOp enterLoop(mlir::Value begin, mlir::Value end);
  void leaveLoop(mlir::Operation *loop) { builder.setInsertionPointAfter(loop); }

  /// Makes a scalar known as the value's element at the indices, from here on.
  void note(mlir::Value value, mlir::ValueRange indices, mlir::Value scalar);
  /// From here on, the value's elements of row `row` (a row-major position in all
  /// dimensions but the last) are read from memory at `pointer`, by column.
  void keep(mlir::Value value, mlir::Value row, mlir::Value pointer);
  /// Indices of the element in that row and column.
  llvm::SmallVector<mlir::Value> indicesInRow(mlir::Value value, mlir::Value row,
                                              mlir::Value column);

  graph::kernel::Scalars scalars() { return {builder, function->getLoc()}; }

protected:
  /// The combined elements, not rounded.
  virtual mlir::Value reduction(graph::ReductionKernelOp op, mlir::ValueRange indices) = 0;
  /// Where the element at a position lies, and what the position of indices is.
  virtual mlir::Value address(mlir::Value pointer, mlir::Type storage, mlir::Value position);
  virtual mlir::Value position(mlir::ValueRange indices, llvm::ArrayRef<int64_t> shape);
  /// Element after element.
  mlir::Value sequentialReduction(graph::ReductionKernelOp op, mlir::ValueRange indices);

  mlir::OpBuilder &builder;
  mlir::Operation *function;

private:
  mlir::Value compute(mlir::Value value, mlir::ValueRange indices);
  mlir::Value constantElement(mlir::Operation *op, mlir::ElementsAttr data,
                              mlir::ValueRange indices);
  mlir::Value keptElement(mlir::Value value, mlir::ValueRange indices);

  unsigned addressSpace;
  Scopes scopes;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  struct KeptRow {
    mlir::Value row, pointer;
  };
  llvm::DenseMap<mlir::Value, KeptRow> keptRows;
  llvm::DenseMap<mlir::Operation *, mlir::Value> constants;
};

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_ELEMENTS_H
