//===- Scalars.h - helpers of the kernel models -----------------*- C++ -*-===//
//
// Scalar constants and arithmetic as the models write them. Index arithmetic
// folds constants, so that a slice at 0 or a stride of 1 leaves no trace.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_SCALARS_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_SCALARS_H

#include "dialects/graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace minigptc::graph::kernel {

using Load = llvm::function_ref<mlir::Value(unsigned, mlir::ValueRange)>;

/// The scalar that stands for an element: `ui32` becomes `i32`, bf16 an f32 (BFloat16.h).
mlir::Type getScalarType(mlir::Type elementType);
mlir::Type getElementType(mlir::Value tensor);
bool isUnsigned(mlir::Type elementType);
llvm::ArrayRef<int64_t> getShape(mlir::Value tensor);

/// If the op does nothing but permute its operand's dimensions: the operand's dimension, for
/// each of the result's.
std::optional<llvm::ArrayRef<int64_t>> getPermutation(mlir::Operation *op);

/// Builds scalars at the builder's insertion point.
struct Scalars {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }

  mlir::Value index(int64_t value);
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value integer(mlir::Type type, const llvm::APInt &value);
  mlir::Value real(mlir::Type type, double value);
  mlir::Value infinity(mlir::Type type, bool negative);

  /// Index arithmetic, without wrap-around.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, index(b)); }
  mlir::Value sub(mlir::Value a, int64_t b);
  mlir::Value mul(mlir::Value a, int64_t b);
  /// For indices that are not negative.
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value mod(mlir::Value a, int64_t b);
  /// min(max(a, 0), last), signed.
  mlir::Value clamp(mlir::Value a, int64_t last);
  /// lo ≤ a < hi, signed, with tests that hold for every a in [0, size) left out;
  /// null if none remains.
  mlir::Value within(mlir::Value a, int64_t lo, int64_t hi, int64_t size);
  mlir::Value both(mlir::Value a, mlir::Value b);

  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// An integer element as an index, by the signedness of its tensor type.
  mlir::Value toIndex(mlir::Value element, mlir::Type elementType);

  /// Row-major position of indices in a shape, and back.
  mlir::Value linearise(mlir::ValueRange indices, llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<mlir::Value> delinearise(mlir::Value position, llvm::ArrayRef<int64_t> shape);
  /// Indices in one shape of the element at given indices of another shape of as
  /// many elements. Dimensions are matched up in groups of equal products, so
  /// that only those that change are divided.
  llvm::SmallVector<mlir::Value> reshape(mlir::ValueRange indices, llvm::ArrayRef<int64_t> shape,
                                         llvm::ArrayRef<int64_t> newShape);
};

/// A model whose element is a function of the op, the indices and the operands.
template <typename OpTy, mlir::Value (*emit)(OpTy, Scalars, mlir::ValueRange, Load)>
struct Model : KernelOp::ExternalModel<Model<OpTy, emit>, OpTy> {
  mlir::Value emitElement(mlir::Operation *op, mlir::OpBuilder &builder, unsigned,
                          mlir::ValueRange indices, Load load) const {
    return emit(mlir::cast<OpTy>(op), Scalars{builder, op->getLoc()}, indices, load);
  }
};
template <typename OpTy, mlir::Value (*emit)(OpTy, Scalars, mlir::ValueRange, Load)>
void attach(mlir::MLIRContext *context) {
  OpTy::template attachInterface<Model<OpTy, emit>>(*context);
}

void attachUnaryModels(mlir::MLIRContext *context);
void attachBinaryModels(mlir::MLIRContext *context);
void attachSelectionModels(mlir::MLIRContext *context);
void attachConversionModels(mlir::MLIRContext *context);
void attachShapeModels(mlir::MLIRContext *context);
void attachContractionModels(mlir::MLIRContext *context);
void attachRandomModels(mlir::MLIRContext *context);

} // namespace minigptc::graph::kernel

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_SCALARS_H
