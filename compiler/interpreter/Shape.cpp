//===- Shape.cpp - constants and data movement ----------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"
#include "compiler/interpreter/Strided.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

static LogicalResult evaluateConstant(ConstantOp op, ArrayRef<Tensor>,
                                      SmallVectorImpl<Tensor> &results) {
  Tensor result = Tensor::fromAttribute(op.getValue());
  if (!result.getType())
    return op.emitError("the constant's value is not dense, or its data are not in the module");
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateIota(IotaOp op, ArrayRef<Tensor>, SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  ArrayRef<int64_t> shape = result.getShape();
  int64_t dim = op.getDim();
  int64_t stride = rowMajorStrides(shape)[dim];
  dispatch(result.getType().getElementType(), [&]<typename T>() {
    for (auto [position, x] : llvm::enumerate(mutableElements<T>(result)))
      x = narrow<T>(int64_t(position) / stride % shape[dim]);
  });
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateBroadcast(BroadcastInDimOp op, ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results) {
  const Tensor &operand = operands[0];
  Tensor result(resultType(op));
  SmallVector<int64_t> strides = rowMajorStrides(operand.getShape());
  Placement from;
  from.strides.assign(result.getShape().size(), 0);
  for (auto [dim, resultDim] : llvm::enumerate(op.getDims()))
    if (operand.getShape()[dim] != 1) // a size-1 dimension repeats
      from.strides[resultDim] = strides[dim];
  copyStrided(result.getShape(), operand, from, result, {0, rowMajorStrides(result.getShape())});
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateReshape(ReshapeOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  std::copy_n(operands[0].data(), result.getNumBytes(), result.mutableData());
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateTranspose(TransposeOp op, ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results) {
  results.push_back(transpose(operands[0], op.getPermutation()));
  return success();
}

/// The placement of the box at `start` in a tensor of that shape.
static Placement boxAt(ArrayRef<int64_t> shape, ArrayRef<int64_t> start) {
  Placement box{0, rowMajorStrides(shape)};
  for (auto [first, stride] : llvm::zip_equal(start, box.strides))
    box.offset += first * stride;
  return box;
}

static LogicalResult evaluateSlice(SliceOp op, ArrayRef<Tensor> operands,
                                   SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  Placement from = boxAt(operands[0].getShape(), op.getStart());
  for (auto [stride, step] : llvm::zip_equal(from.strides, op.getStrides()))
    stride *= step;
  copyStrided(result.getShape(), operands[0], from, result,
              {0, rowMajorStrides(result.getShape())});
  results.push_back(std::move(result));
  return success();
}

/// The scalars' values, clamped so that a box of `sizes` lies inside `shape`.
static SmallVector<int64_t> clampedStart(ArrayRef<Tensor> scalars, ArrayRef<int64_t> shape,
                                         ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> start;
  for (auto [scalar, dimension, size] : llvm::zip_equal(scalars, shape, sizes))
    start.push_back(std::clamp<int64_t>(scalar.getInt(0), 0, dimension - size));
  return start;
}

static LogicalResult evaluateDynamicSlice(DynamicSliceOp op, ArrayRef<Tensor> operands,
                                          SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  ArrayRef<int64_t> shape = operands[0].getShape();
  SmallVector<int64_t> start = clampedStart(operands.drop_front(), shape, result.getShape());
  copyStrided(result.getShape(), operands[0], boxAt(shape, start), result,
              {0, rowMajorStrides(result.getShape())});
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateDynamicUpdateSlice(DynamicUpdateSliceOp op, ArrayRef<Tensor> operands,
                                                SmallVectorImpl<Tensor> &results) {
  Tensor result = operands[0];
  const Tensor &update = operands[1];
  SmallVector<int64_t> start =
      clampedStart(operands.drop_front(2), result.getShape(), update.getShape());
  copyStrided(update.getShape(), update, {0, rowMajorStrides(update.getShape())}, result,
              boxAt(result.getShape(), start));
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateConcatenate(ConcatenateOp op, ArrayRef<Tensor> operands,
                                         SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  SmallVector<int64_t> start(result.getShape().size(), 0);
  for (const Tensor &input : operands) {
    copyStrided(input.getShape(), input, {0, rowMajorStrides(input.getShape())}, result,
                boxAt(result.getShape(), start));
    start[op.getDim()] += input.getShape()[op.getDim()];
  }
  results.push_back(std::move(result));
  return success();
}

/// Fills the tensor with a scalar.
static void fill(Tensor &tensor, const Tensor &scalar) {
  Placement from;
  from.strides.assign(tensor.getShape().size(), 0);
  copyStrided(tensor.getShape(), scalar, from, tensor, {0, rowMajorStrides(tensor.getShape())});
}

/// Element i of the operand lands at low + i·(interior + 1); those that a
/// negative `low` or `high` puts outside the result are cut off.
static LogicalResult evaluatePad(PadOp op, ArrayRef<Tensor> operands,
                                 SmallVectorImpl<Tensor> &results) {
  const Tensor &operand = operands[0];
  Tensor result(resultType(op));
  fill(result, operands[1]);
  SmallVector<int64_t> shape;
  Placement from{0, rowMajorStrides(operand.getShape())}, to{0, rowMajorStrides(result.getShape())};
  for (size_t dim = 0; dim < operand.getShape().size(); ++dim) {
    int64_t low = op.getLow()[dim], step = op.getInterior()[dim] + 1;
    int64_t begin = low < 0 ? llvm::divideCeilSigned(-low, step) : 0;
    int64_t end = std::min(operand.getShape()[dim],
                           llvm::divideFloorSigned(result.getShape()[dim] - 1 - low, step) + 1);
    shape.push_back(std::max<int64_t>(end - begin, 0));
    from.offset += begin * from.strides[dim];
    to.offset += (low + begin * step) * to.strides[dim];
    to.strides[dim] *= step;
  }
  copyStrided(shape, operand, from, result, to);
  results.push_back(std::move(result));
  return success();
}

void interpreter::attachShapeModels(MLIRContext *context) {
  attachModel<ConstantOp, evaluateConstant>(context);
  attachModel<IotaOp, evaluateIota>(context);
  attachModel<BroadcastInDimOp, evaluateBroadcast>(context);
  attachModel<ReshapeOp, evaluateReshape>(context);
  attachModel<TransposeOp, evaluateTranspose>(context);
  attachModel<SliceOp, evaluateSlice>(context);
  attachModel<DynamicSliceOp, evaluateDynamicSlice>(context);
  attachModel<DynamicUpdateSliceOp, evaluateDynamicUpdateSlice>(context);
  attachModel<ConcatenateOp, evaluateConcatenate>(context);
  attachModel<PadOp, evaluatePad>(context);
}
