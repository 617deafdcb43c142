//===- Shape.cpp - inference and verifiers of constants and data movement -===//
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = dyn_cast<RankedTensorType>(adaptor.getValue().getType());
  if (!type)
    return OpError(location, getOperationName())
           << "value must be a tensor, not " << describe(adaptor.getValue().getType());
  inferred.push_back(type);
  return success();
}

LogicalResult IotaOp::verify() {
  return OpChecker(*this).checkDims(int64_t(getDim()), getType().getRank(), "dim");
}

LogicalResult BroadcastInDimOp::verify() {
  OpChecker check(*this);
  RankedTensorType from = getOperand().getType(), to = getType();
  ArrayRef<int64_t> dims = getDims();
  if (from.getElementType() != to.getElementType())
    return check.error() << "operand " << describe(from) << " and result " << describe(to)
                         << " have different element types" << note(getOperand(), "operand");
  if (failed(check.checkOnePerDim(dims, from.getRank(), "dims")) ||
      failed(check.checkDims(dims, to.getRank(), "dims")))
    return failure();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i && dims[i] <= dims[i - 1])
      return check.error() << "dims " << describe(dims) << " must be strictly increasing";
    int64_t size = from.getDimSize(i);
    if (size != 1 && size != to.getDimSize(dims[i]))
      return check.error() << "dimension " << i << " of operand " << describe(from)
                           << " does not fit dimension " << dims[i] << " of the result "
                           << describe(to) << note(getOperand(), "operand");
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  OpChecker check(*this);
  if (from.getElementType() != to.getElementType())
    return check.error() << "operand " << describe(from) << " and result " << describe(to)
                         << " have different element types" << note(getOperand(), "operand");
  if (from.getNumElements() != to.getNumElements())
    return check.error() << "operand " << describe(from) << " has " << from.getNumElements()
                         << " elements, result " << describe(to) << " has " << to.getNumElements()
                         << note(getOperand(), "operand");
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  if (failed(check.checkOnePerDim(permutation, type.getRank(), "permutation")) ||
      failed(check.checkDims(permutation, type.getRank(), "permutation")))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  inferred.push_back(type.clone(shape));
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> start = adaptor.getStart(), limit = adaptor.getLimit(),
                    strides = adaptor.getStrides();
  if (failed(check.checkOnePerDim(start, type.getRank(), "start")) ||
      failed(check.checkOnePerDim(limit, type.getRank(), "limit")) ||
      failed(check.checkOnePerDim(strides, type.getRank(), "strides")))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (start[i] < 0 || start[i] > limit[i] || limit[i] > type.getDimSize(i))
      return check.error() << "elements " << start[i] << " to " << limit[i] << " of dimension " << i
                           << " are not within operand " << describe(type)
                           << note(adaptor.getOperand(), "operand");
    if (strides[i] < 1)
      return check.error() << "stride " << strides[i] << " of dimension " << i
                           << " must be at least 1";
    shape.push_back(limit[i] == start[i] ? 0 : (limit[i] - start[i] - 1) / strides[i] + 1);
  }
  inferred.push_back(type.clone(shape));
  return success();
}

/// Starts of a dynamic slice: one scalar per dimension.
static LogicalResult checkStarts(const OpChecker &check, ValueRange starts,
                                 RankedTensorType operand) {
  if (int64_t(starts.size()) != operand.getRank())
    return check.error() << "has " << starts.size() << " starts for operand " << describe(operand)
                         << "; give one scalar per dimension";
  for (Value start : starts)
    if (failed(check.checkScalar(start, "start")))
      return failure();
  return success();
}

/// A block must fit into the operand, dimension by dimension.
static LogicalResult checkFits(const OpChecker &check, ArrayRef<int64_t> block, StringRef what,
                               Value operand) {
  RankedTensorType type = tensorType(operand);
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (block[i] < 0 || block[i] > type.getDimSize(i))
      return check.error() << what << " " << describe(block) << " does not fit into operand "
                           << describe(type) << " in dimension " << i << note(operand, "operand");
  return success();
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand());
  if (failed(check.checkOnePerDim(adaptor.getSizes(), type.getRank(), "sizes")) ||
      failed(checkStarts(check, adaptor.getStart(), type)) ||
      failed(checkFits(check, adaptor.getSizes(), "a block of sizes", adaptor.getOperand())))
    return failure();
  inferred.push_back(type.clone(adaptor.getSizes()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::inferReturnTypes(MLIRContext *,
                                                     std::optional<Location> location,
                                                     Adaptor adaptor,
                                                     SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand()),
                   update = tensorType(adaptor.getUpdate());
  if (failed(check.checkSameElementType(adaptor.getOperand(), "operand", adaptor.getUpdate(),
                                        "update")))
    return failure();
  if (update.getRank() != type.getRank())
    return check.error() << "update " << describe(update) << " and operand " << describe(type)
                         << " have different ranks" << note(adaptor.getUpdate(), "update");
  if (failed(checkStarts(check, adaptor.getStart(), type)) ||
      failed(checkFits(check, update.getShape(), "an update of sizes", adaptor.getOperand())))
    return failure();
  inferred.push_back(type);
  return success();
}

LogicalResult ConcatenateOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  ValueRange inputs = adaptor.getInputs();
  if (inputs.empty())
    return check.error() << "needs at least one input";
  RankedTensorType first = tensorType(inputs[0]);
  int64_t dim = int64_t(adaptor.getDim());
  if (failed(check.checkDims(dim, first.getRank(), "dim")))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  for (auto [i, input] : llvm::enumerate(inputs.drop_front())) {
    RankedTensorType type = tensorType(input);
    SmallVector<int64_t> expected(first.getShape());
    if (type.getRank() == first.getRank())
      expected[dim] = type.getDimSize(dim);
    if (type.getElementType() != first.getElementType() || type.getShape() != ArrayRef(expected))
      return check.error() << "input 0 " << describe(first) << " and input " << i + 1 << " "
                           << describe(type) << " may differ in dimension " << dim << " only"
                           << note(input, "the input");
    shape[dim] += type.getDimSize(dim);
  }
  inferred.push_back(first.clone(shape));
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> low = adaptor.getLow(), high = adaptor.getHigh(),
                    interior = adaptor.getInterior();
  if (failed(check.checkScalar(adaptor.getValue(), "value")) ||
      failed(check.checkSameElementType(adaptor.getOperand(), "operand", adaptor.getValue(),
                                        "value")) ||
      failed(check.checkOnePerDim(low, type.getRank(), "low")) ||
      failed(check.checkOnePerDim(high, type.getRank(), "high")) ||
      failed(check.checkOnePerDim(interior, type.getRank(), "interior")))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (interior[i] < 0)
      return check.error() << "interior padding " << interior[i] << " of dimension " << i
                           << " is negative";
    int64_t gaps = std::max<int64_t>(type.getDimSize(i) - 1, 0);
    int64_t size = low[i] + type.getDimSize(i) + gaps * interior[i] + high[i];
    if (size < 0)
      return check.error() << "padding cuts dimension " << i << " of operand " << describe(type)
                           << " down to " << size << note(adaptor.getOperand(), "operand");
    shape.push_back(size);
  }
  inferred.push_back(type.clone(shape));
  return success();
}
