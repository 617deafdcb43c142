//===- Builders.h - writing graph ops tersely -------------------*- C++ -*-===//
//
// What decompositions and vector-Jacobian products are written with: one object
// holds the insertion point and the location, and every call emits one op (or
// none, where the result is the operand itself).
//
//   GraphBuilder b(builder, op.getLoc());
//   Value x = b.convert(op.getOperand(), b.accumulatorType(op.getOperand()));
//   Value mean = b.multiply(b.reduce(ReduceKind::sum, x, {1}), 1.0 / width);
//   Value centred = b.subtract(x, b.broadcastBack(mean, x, {1}));
//
// A number beside a tensor becomes a splat constant of the tensor's type. Shapes
// are the caller's business: ops that do not fit are a programming error.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_BUILDERS_H
#define MINIGPTC_DIALECTS_GRAPH_IR_BUILDERS_H

#include "dialects/graph/IR/Graph.h"

namespace minigptc::graph {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return tensorType(value).getShape(); }
inline mlir::Type elementType(mlir::Value value) { return tensorType(value).getElementType(); }
inline int64_t rankOf(mlir::Value value) { return tensorType(value).getRank(); }

/// A tensor attribute of one value, rounded to the element type (i1: nonzero is
/// true; integers: truncated).
mlir::DenseElementsAttr getSplatAttr(mlir::RankedTensorType type, double value);

/// [begin, end).
llvm::SmallVector<int64_t> range(int64_t begin, int64_t end);
/// The dimensions of [0, rank) that are not in `dims`, ascending.
llvm::SmallVector<int64_t> otherDims(int64_t rank, llvm::ArrayRef<int64_t> dims);

class GraphBuilder {
public:
  GraphBuilder(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return location; }
  mlir::MLIRContext *getContext() const { return builder.getContext(); }

  /// Any op with one result.
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(builder, location, std::forward<Args>(args)...)->getResult(0);
  }

  // Types.
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Type i64() { return builder.getI64Type(); }
  mlir::Type i1() { return builder.getI1Type(); }
  mlir::Type ui32() { return builder.getIntegerType(32, /*isSigned=*/false); }
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape, mlir::Type elementType) {
    return mlir::RankedTensorType::get(shape, elementType);
  }
  /// The type in which statistics of the value are computed.
  mlir::Type accumulatorType(mlir::Value value) { return getAccumulatorType(elementType(value)); }

  // Constants.
  mlir::Value splat(mlir::RankedTensorType type, double value) {
    return make<ConstantOp>(llvm::cast<mlir::ElementsAttr>(getSplatAttr(type, value)));
  }
  mlir::Value splatLike(mlir::Value like, double value) { return splat(tensorType(like), value); }
  mlir::Value zerosLike(mlir::Value like) { return splatLike(like, 0); }
  mlir::Value onesLike(mlir::Value like) { return splatLike(like, 1); }
  mlir::Value scalar(mlir::Type elementType, double value) {
    return splat(tensor({}, elementType), value);
  }
  /// Signless or unsigned 64-bit contents, exactly.
  mlir::Value integerSplat(mlir::RankedTensorType type, uint64_t value);
  /// Random bits of a draw, or of one of the parts of one along dimension 0.
  mlir::Value randomBits(mlir::Value key, llvm::ArrayRef<int64_t> shape, mlir::Value part = {},
                         int64_t parts = 1);
  mlir::Value iota(mlir::RankedTensorType type, int64_t dim) {
    return make<IotaOp>(type, uint64_t(dim));
  }

  // Shapes. No op where nothing changes.
  mlir::Value convert(mlir::Value value, mlir::Type elementType);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> dims,
                        llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcastScalar(mlir::Value scalar, llvm::ArrayRef<int64_t> shape) {
    return broadcast(scalar, {}, shape);
  }
  /// Repeats along leading dimensions: the value's dimensions become the last ones.
  mlir::Value broadcastLeading(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Undoes the shape change of a reduction of `like` over `reduced`: [2] becomes
  /// [2,3] for a `like` of [2,3] and reduced = {1}.
  mlir::Value broadcastBack(mlir::Value reducedValue, mlir::Value like,
                            llvm::ArrayRef<int64_t> reduced);
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t start, int64_t limit,
                    int64_t stride = 1);
  mlir::Value concatenate(mlir::ValueRange values, int64_t dim) {
    return make<ConcatenateOp>(values, uint64_t(dim));
  }

  // Reductions and products.
  mlir::Value reduce(ReduceKind kind, mlir::Value value, llvm::ArrayRef<int64_t> dims);
  mlir::Value sum(mlir::Value value, llvm::ArrayRef<int64_t> dims) {
    return reduce(ReduceKind::sum, value, dims);
  }
  /// Reduces and broadcasts back to the value's shape.
  mlir::Value reduceAndBroadcast(ReduceKind kind, mlir::Value value, llvm::ArrayRef<int64_t> dims) {
    return broadcastBack(reduce(kind, value, dims), value, dims);
  }
  mlir::Value dot(mlir::Value lhs, mlir::Value rhs, llvm::ArrayRef<int64_t> lhsBatch,
                  llvm::ArrayRef<int64_t> rhsBatch, llvm::ArrayRef<int64_t> lhsContract,
                  llvm::ArrayRef<int64_t> rhsContract) {
    return make<DotGeneralOp>(lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract);
  }

  // Elementwise.
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<AddOp>(a, b); }
  mlir::Value add(mlir::Value a, double b) { return add(a, splatLike(a, b)); }
  mlir::Value subtract(mlir::Value a, mlir::Value b) { return make<SubtractOp>(a, b); }
  mlir::Value subtract(mlir::Value a, double b) { return subtract(a, splatLike(a, b)); }
  mlir::Value subtract(double a, mlir::Value b) { return subtract(splatLike(b, a), b); }
  mlir::Value multiply(mlir::Value a, mlir::Value b) { return make<MultiplyOp>(a, b); }
  mlir::Value multiply(mlir::Value a, double b) { return multiply(a, splatLike(a, b)); }
  mlir::Value divide(mlir::Value a, mlir::Value b) { return make<DivideOp>(a, b); }
  mlir::Value divide(mlir::Value a, double b) { return divide(a, splatLike(a, b)); }
  mlir::Value divide(double a, mlir::Value b) { return divide(splatLike(b, a), b); }
  mlir::Value maximum(mlir::Value a, mlir::Value b) { return make<MaximumOp>(a, b); }
  mlir::Value maximum(mlir::Value a, double b) { return maximum(a, splatLike(a, b)); }
  mlir::Value minimum(mlir::Value a, mlir::Value b) { return make<MinimumOp>(a, b); }
  mlir::Value minimum(mlir::Value a, double b) { return minimum(a, splatLike(a, b)); }
  mlir::Value negate(mlir::Value a) { return make<NegateOp>(a); }
  mlir::Value square(mlir::Value a) { return multiply(a, a); }
  mlir::Value exponential(mlir::Value a) { return make<ExponentialOp>(a); }
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b) { return make<AndOp>(a, b); }
  mlir::Value compare(CompareDirection direction, mlir::Value a, mlir::Value b) {
    return make<CompareOp>(direction, a, b);
  }
  mlir::Value compare(CompareDirection direction, mlir::Value a, double b) {
    return compare(direction, a, splatLike(a, b));
  }
  mlir::Value select(mlir::Value pred, mlir::Value onTrue, mlir::Value onFalse) {
    return make<SelectOp>(pred, onTrue, onFalse);
  }

  /// e^(x - max) along dimensions, safe for slices that are -inf everywhere: their
  /// exponentials and `sum` are 0 (and `max` is the least finite number).
  struct ShiftedExponential {
    mlir::Value max;          ///< reduced
    mlir::Value shifted;      ///< x - max
    mlir::Value exponentials; ///< e^shifted
    mlir::Value sum;          ///< of the exponentials, reduced
  };
  ShiftedExponential shiftedExponential(mlir::Value x, llvm::ArrayRef<int64_t> dims);
  /// e^(x - max) / sum; zeros for a slice that is -inf everywhere.
  mlir::Value normalize(const ShiftedExponential &e, llvm::ArrayRef<int64_t> dims);

  /// The mean along one dimension, which disappears.
  mlir::Value mean(mlir::Value x, int64_t dim) {
    return divide(sum(x, dim), double(shapeOf(x)[dim]));
  }
  /// 1/√x of a mean square, and NaN for one that has overflowed: x · 1/∞ would be zeros,
  /// with which a model goes on to train wrongly. Adding 0 changes no bit of the others.
  mlir::Value inverseRoot(mlir::Value x) { return add(make<RsqrtOp>(x), multiply(x, 0.0)); }

private:
  mlir::OpBuilder &builder;
  mlir::Location location;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_BUILDERS_H
