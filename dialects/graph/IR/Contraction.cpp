//===- Contraction.cpp - inference and cost of reductions and products ----===//
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand());
  bool logical = adaptor.getKind() == ReduceKind::any || adaptor.getKind() == ReduceKind::all;
  if (logical != type.getElementType().isInteger(1))
    return check.error() << "kind " << stringifyReduceKind(adaptor.getKind()) << " is for "
                         << (logical ? "i1" : "numbers") << ", not for operand " << describe(type)
                         << note(adaptor.getOperand(), "operand");
  if (failed(check.checkDims(adaptor.getDims(), type.getRank(), "dims")))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!llvm::is_contained(adaptor.getDims(), i))
      shape.push_back(type.getDimSize(i));
  inferred.push_back(type.clone(shape));
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  if (getDims().empty())
    return getOperand();
  // The extremum of equal elements is each of them.
  auto constant = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  bool idempotent = getKind() != ReduceKind::sum && getKind() != ReduceKind::prod;
  if (constant && constant.isSplat() && idempotent && getType().getNumElements() > 0)
    return constant.resizeSplat(getType());
  return nullptr;
}

/// Sizes of paired dimensions must be equal.
static LogicalResult checkPairs(const OpChecker &check, StringRef what, Value lhs,
                                ArrayRef<int64_t> lhsDims, Value rhs, ArrayRef<int64_t> rhsDims) {
  if (lhsDims.size() != rhsDims.size())
    return check.error() << "has " << lhsDims.size() << " " << what << " dimensions of lhs and "
                         << rhsDims.size() << " of rhs";
  for (auto [l, r] : llvm::zip_equal(lhsDims, rhsDims))
    if (tensorType(lhs).getDimSize(l) != tensorType(rhs).getDimSize(r))
      return check.error() << what << " dimension " << l << " of lhs " << describe(lhs) << " and "
                           << r << " of rhs " << describe(rhs) << " have different sizes"
                           << note(lhs, "lhs") << note(rhs, "rhs");
  return success();
}

static SmallVector<int64_t> concat(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> result(a);
  result.append(b.begin(), b.end());
  return result;
}

/// Appends the sizes of the dimensions that `without` does not name.
static void appendOthers(SmallVectorImpl<int64_t> &shape, RankedTensorType type,
                         ArrayRef<int64_t> without) {
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!llvm::is_contained(without, i))
      shape.push_back(type.getDimSize(i));
}

/// The result's type of a product; DotGeneralOp and DotAccumulateOp have the same attributes.
template <typename Adaptor>
static FailureOr<RankedTensorType> inferProduct(const OpChecker &check, Adaptor adaptor) {
  Value lhs = adaptor.getLhs(), rhs = adaptor.getRhs();
  RankedTensorType lhsType = tensorType(lhs), rhsType = tensorType(rhs);
  SmallVector<int64_t> lhsNamed = concat(adaptor.getLhsBatch(), adaptor.getLhsContract());
  SmallVector<int64_t> rhsNamed = concat(adaptor.getRhsBatch(), adaptor.getRhsContract());
  if (failed(check.checkSameElementType(lhs, "lhs", rhs, "rhs")) ||
      failed(
          check.checkDims(lhsNamed, lhsType.getRank(), "batching and contracting dims of lhs")) ||
      failed(
          check.checkDims(rhsNamed, rhsType.getRank(), "batching and contracting dims of rhs")) ||
      failed(
          checkPairs(check, "batching", lhs, adaptor.getLhsBatch(), rhs, adaptor.getRhsBatch())) ||
      failed(checkPairs(check, "contracting", lhs, adaptor.getLhsContract(), rhs,
                        adaptor.getRhsContract())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : adaptor.getLhsBatch())
    shape.push_back(lhsType.getDimSize(dim));
  appendOthers(shape, lhsType, lhsNamed);
  appendOthers(shape, rhsType, rhsNamed);
  return lhsType.clone(shape);
}

LogicalResult DotGeneralOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = inferProduct(OpChecker(location, getOperationName()), adaptor);
  if (succeeded(type))
    inferred.push_back(*type);
  return type;
}

bool DotGeneralOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange types) {
  return detail::areSameOrWider(inferred, types);
}

LogicalResult DotAccumulateOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  auto type = inferProduct(check, adaptor);
  if (failed(type))
    return failure();
  Type sum = type->clone(getAccumulatorType(type->getElementType()));
  if (adaptor.getAccumulator().getType() != sum)
    return check.error() << "accumulator " << describe(adaptor.getAccumulator().getType())
                         << " must have the type of the product's sums, " << describe(sum)
                         << note(adaptor.getAccumulator(), "accumulator");
  inferred.push_back(sum);
  return success();
}

LogicalResult DotBiasOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = inferProduct(OpChecker(location, getOperationName()), adaptor);
  if (succeeded(type))
    inferred.push_back(*type);
  return type;
}

LogicalResult DotSumsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = inferProduct(OpChecker(location, getOperationName()), adaptor);
  if (failed(type))
    return failure();
  SmallVector<int64_t> columns;
  appendOthers(columns, tensorType(adaptor.getRhs()),
               concat(adaptor.getRhsBatch(), adaptor.getRhsContract()));
  inferred.append({*type, type->clone(columns)});
  return success();
}

bool DotBiasOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange types) {
  return detail::areSameOrWider(inferred, types);
}
bool DotSumsOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange types) {
  return detail::areSameOrWider(inferred, types);
}

LogicalResult DotBiasOp::verify() {
  RankedTensorType type = tensorType(getResult()), bias = tensorType(getBias());
  bool isShort = bias.getRank() <= type.getRank();
  if (!isShort || bias.getElementType() != type.getElementType() ||
      bias.getShape() != type.getShape().take_back(bias.getRank()))
    return emitOpError() << "bias " << describe(getBias()) << " must have the type of the last "
                         << "dimensions of the result " << describe(type);
  return success();
}

LogicalResult DotSumsOp::verify() {
  if (tensorType(getResult()).getElementType() != tensorType(getSums()).getElementType())
    return emitOpError() << "result " << describe(getResult()) << " and sums "
                         << describe(getSums()) << " must have one element type";
  return success();
}

template <typename Product> static double countFlops(Product product) {
  double flops = 2.0 * double(product.getResult().getType().getNumElements());
  for (int64_t dim : product.getLhsContract())
    flops *= double(product.getLhs().getType().getDimSize(dim));
  return flops;
}

double DotGeneralOp::getMatmulFlops() { return countFlops(*this); }
double DotAccumulateOp::getMatmulFlops() { return countFlops(*this); }
double DotBiasOp::getMatmulFlops() { return countFlops(*this); }
double DotSumsOp::getMatmulFlops() { return countFlops(*this); }

/// The shape of the slices that `indices` picks from `operand`: what `gather`
/// gives and `scatter` takes as updates.
static FailureOr<SmallVector<int64_t>> inferPicked(const OpChecker &check, Value operand,
                                                   Value indices, ArrayRef<int64_t> dims) {
  RankedTensorType type = tensorType(operand), indexType = tensorType(indices);
  if (failed(check.checkDims(dims, type.getRank(), "dims")))
    return failure();
  if (indexType.getRank() == 0 || indexType.getShape().back() != int64_t(dims.size()))
    return check.error() << "the last dimension of indices " << describe(indexType)
                         << " must have size " << dims.size() << ", one index per entry of dims "
                         << describe(dims) << note(indices, "indices");
  SmallVector<int64_t> shape(indexType.getShape().drop_back());
  appendOthers(shape, type, dims);
  return shape;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand());
  auto shape = inferPicked(check, adaptor.getOperand(), adaptor.getIndices(), adaptor.getDims());
  if (failed(shape))
    return failure();
  RankedTensorType result = type.clone(*shape);
  for (int64_t dim : adaptor.getDims())
    if (type.getDimSize(dim) == 0 && result.getNumElements() != 0)
      return check.error() << "dimension " << dim << " of operand " << describe(type)
                           << " has nothing to pick from" << note(adaptor.getOperand(), "operand");
  inferred.push_back(result);
  return success();
}

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  OpChecker check(location, getOperationName());
  RankedTensorType type = tensorType(adaptor.getOperand());
  if (adaptor.getKind() == ScatterKind::add && type.getElementType().isInteger(1))
    return check.error() << "kind add is for numbers, not for operand " << describe(type)
                         << note(adaptor.getOperand(), "operand");
  auto shape = inferPicked(check, adaptor.getOperand(), adaptor.getIndices(), adaptor.getDims());
  if (failed(shape) ||
      failed(check.checkSameElementType(adaptor.getOperand(), "operand", adaptor.getUpdates(),
                                        "updates")) ||
      failed(check.checkShape(adaptor.getUpdates(), "updates", *shape,
                              "the dimensions of indices but the last, then those of the operand "
                              "that are not in dims")))
    return failure();
  inferred.push_back(type);
  return success();
}
