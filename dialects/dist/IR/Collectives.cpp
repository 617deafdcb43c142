//===- Collectives.cpp - verifiers, costs and joins of collectives --------===//
#include "dialects/dist/IR/Sharding.h"
#include "dialects/graph/IR/Diagnostics.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

/// The number of devices that take part together, or an error: the mesh must have the
/// axes, each once.
static FailureOr<int64_t> groupSize(Operation *op, FlatSymbolRefAttr symbol, ArrayAttr axes,
                                    SymbolTableCollection &tables) {
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(op, symbol);
  if (!mesh)
    return op->emitOpError() << "runs over " << symbol << ", but there is no such mesh";
  int64_t size = 1;
  SmallVector<unsigned> seen;
  for (auto name : axes.getAsRange<StringAttr>()) {
    std::optional<unsigned> axis = mesh.getMesh().find(name);
    if (axis && !llvm::is_contained(seen, *axis)) {
      size *= mesh.getMesh().getSizes()[*axis];
      seen.push_back(*axis);
      continue;
    }
    InFlightDiagnostic error = op->emitOpError() << "runs over axis " << name;
    error << (axis ? " twice" : ", which the mesh does not have");
    error.attachNote(mesh.getLoc()) << "the mesh is " << mesh.getMesh();
    return error;
  }
  return size;
}

/// Fails unless result i has operand i's type with every dimension `scaled(i, dim)` times as
/// long; a negative factor -n means an n-th.
static LogicalResult verifyTypes(CollectiveOp op, function_ref<int64_t(unsigned, int64_t)> scaled) {
  if (op->getNumOperands() == 0 || op->getNumOperands() != op->getNumResults())
    return op->emitOpError() << "has " << op->getNumOperands() << " operands and "
                             << op->getNumResults() << " results; result i is that of operand i";
  if (auto origins = op->getAttrOfType<ArrayAttr>(attr::kOrigins);
      origins && origins.size() != op->getNumOperands())
    return op->emitOpError() << "has " << op->getNumOperands() << " operands, but "
                             << origins.size() << " " << attr::kOrigins;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto from = cast<RankedTensorType>(op->getOperand(i).getType());
    SmallVector<int64_t> shape(from.getShape());
    for (auto [dim, size] : llvm::enumerate(shape)) {
      int64_t factor = scaled(i, dim);
      if (factor < 0 && size % -factor != 0)
        return op->emitOpError() << "cuts dimension " << dim << " of operand " << i << " "
                                 << graph::describe(from) << " into " << -factor
                                 << " parts, which does not divide it";
      size = factor < 0 ? size / -factor : size * factor;
    }
    RankedTensorType expected = from.clone(shape);
    if (op->getResult(i).getType() != expected)
      return op->emitOpError() << "makes " << graph::describe(expected) << " of operand " << i
                               << " " << graph::describe(from) << ", but result " << i << " is "
                               << graph::describe(op->getResult(i).getType());
  }
  return success();
}

/// Fails unless there is a dimension for each operand, within its rank.
static LogicalResult verifyDims(Operation *op, ArrayRef<int64_t> dims, StringRef name) {
  if (dims.size() != op->getNumOperands())
    return op->emitOpError() << "has " << op->getNumOperands() << " operands, but " << name
                             << " has " << dims.size() << " entries";
  for (auto [number, dim] : llvm::enumerate(dims)) {
    int64_t rank = cast<RankedTensorType>(op->getOperand(number).getType()).getRank();
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << name << " has " << dim << " for operand " << number
                               << ", which has dimensions 0 to " << rank - 1;
  }
  return success();
}

/// As reductions: any and all are for i1, the others for numbers.
static LogicalResult verifyCombine(Operation *op, graph::ReduceKind kind) {
  bool logical = kind == graph::ReduceKind::any || kind == graph::ReduceKind::all;
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (auto type = cast<RankedTensorType>(operand.getType());
        logical != type.getElementType().isInteger(1))
      return op->emitOpError() << "combines by " << graph::stringifyReduceKind(kind)
                               << ", which is for " << (logical ? "i1" : "numbers")
                               << ", not for operand " << number << " " << graph::describe(type);
  return success();
}

static double bytes(Operation *op, unsigned operand) {
  return graph::detail::bytesOf(op->getOperand(operand).getType());
}

//===----------------------------------------------------------------------===//
// Several as one
//===----------------------------------------------------------------------===//

Attribute CollectiveOp::getJoinKey() {
  Builder builder(getContext());
  Attribute detail = getCommonDetail();
  return builder.getArrayAttr({builder.getStringAttr(getOperation()->getName().getStringRef()),
                               getMeshAttr(), getAxes(), detail ? detail : builder.getUnitAttr()});
}

/// `Op` with the operands of `op` and of others; `attributes` follow mesh and axes.
template <typename Op, typename... Attributes>
static CollectiveOp joined(Op op, OpBuilder &builder, Location location,
                           ArrayRef<CollectiveOp> others, Attributes... attributes) {
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<Type> types(op->getResultTypes());
  for (CollectiveOp other : others) {
    llvm::append_range(inputs, other->getOperands());
    llvm::append_range(types, other->getResultTypes());
  }
  auto one = Op::create(builder, location, types, inputs, op.getMeshAttr(), op.getAxes(),
                        attributes...);
  return cast<CollectiveOp>(one.getOperation());
}

/// The entries per operand of `op` and of others.
template <typename Op>
static DenseI64ArrayAttr concatenated(Op op, ArrayRef<CollectiveOp> others,
                                      ArrayRef<int64_t> (Op::*getEntries)()) {
  SmallVector<int64_t> entries((op.*getEntries)());
  for (CollectiveOp other : others)
    llvm::append_range(entries, (cast<Op>(other.getOperation()).*getEntries)());
  return DenseI64ArrayAttr::get(op.getContext(), entries);
}

//===----------------------------------------------------------------------===//
// Each kind
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<int64_t> n = groupSize(*this, getMeshAttr(), getAxes(), tables);
  if (failed(n) || failed(verifyDims(*this, getDims(), "dims")))
    return failure();
  return verifyTypes(*this, [&](unsigned i, int64_t dim) { return dim == getDims()[i] ? *n : 1; });
}
double AllGatherOp::getBytesSent(unsigned operand, int64_t n) {
  return bytes(*this, operand) * double(n - 1);
}
CollectiveOp AllGatherOp::createJoined(OpBuilder &builder, Location location,
                                   ArrayRef<CollectiveOp> others) {
  return joined(*this, builder, location, others, concatenated(*this, others, &AllGatherOp::getDims));
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<int64_t> n = groupSize(*this, getMeshAttr(), getAxes(), tables);
  if (failed(n) || failed(verifyDims(*this, getDims(), "dims")) ||
      failed(verifyCombine(*this, getCombine())))
    return failure();
  return verifyTypes(*this, [&](unsigned i, int64_t dim) { return dim == getDims()[i] ? -*n : 1; });
}
double ReduceScatterOp::getBytesSent(unsigned operand, int64_t n) {
  return bytes(*this, operand) * double(n - 1) / double(n);
}
Attribute ReduceScatterOp::getCommonDetail() { return getCombineAttr(); }
CollectiveOp ReduceScatterOp::createJoined(OpBuilder &builder, Location location,
                                   ArrayRef<CollectiveOp> others) {
  return joined(*this, builder, location, others, getCombineAttr(),
                concatenated(*this, others, &ReduceScatterOp::getDims));
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(groupSize(*this, getMeshAttr(), getAxes(), tables)) ||
      failed(verifyCombine(*this, getCombine())))
    return failure();
  return verifyTypes(*this, [](unsigned, int64_t) { return 1; });
}
double AllReduceOp::getBytesSent(unsigned operand, int64_t n) {
  return 2 * bytes(*this, operand) * double(n - 1) / double(n);
}
Attribute AllReduceOp::getCommonDetail() { return getCombineAttr(); }
CollectiveOp AllReduceOp::createJoined(OpBuilder &builder, Location location,
                                   ArrayRef<CollectiveOp> others) {
  return joined(*this, builder, location, others, getCombineAttr());
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<int64_t> n = groupSize(*this, getMeshAttr(), getAxes(), tables);
  if (failed(n) || failed(verifyDims(*this, getSplitDims(), "split")) ||
      failed(verifyDims(*this, getConcatDims(), "concat")))
    return failure();
  for (auto [i, dims] : llvm::enumerate(llvm::zip_equal(getSplitDims(), getConcatDims())))
    if (std::get<0>(dims) == std::get<1>(dims))
      return emitOpError() << "splits and concatenates operand " << i << " along dimension "
                           << std::get<0>(dims);
  return verifyTypes(*this, [&](unsigned i, int64_t dim) {
    return dim == getSplitDims()[i] ? -*n : dim == getConcatDims()[i] ? *n : 1;
  });
}
double AllToAllOp::getBytesSent(unsigned operand, int64_t n) {
  return bytes(*this, operand) * double(n - 1) / double(n);
}
CollectiveOp AllToAllOp::createJoined(OpBuilder &builder, Location location,
                                   ArrayRef<CollectiveOp> others) {
  return joined(*this, builder, location, others,
                concatenated(*this, others, &AllToAllOp::getSplitDims),
                concatenated(*this, others, &AllToAllOp::getConcatDims));
}

LogicalResult CollectivePermuteOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<int64_t> n = groupSize(*this, getMeshAttr(), getAxes(), tables);
  if (failed(n))
    return failure();
  if (int64_t(getSources().size()) != *n)
    return emitOpError() << "has " << getSources().size() << " sources for groups of " << *n;
  for (int64_t source : getSources())
    if (source < -1 || source >= *n)
      return emitOpError() << "has source " << source << "; devices of a group are 0 to " << *n - 1
                           << ", and -1 is none";
  return verifyTypes(*this, [](unsigned, int64_t) { return 1; });
}
double CollectivePermuteOp::getBytesSent(unsigned operand, int64_t) {
  return bytes(*this, operand);
}
Attribute CollectivePermuteOp::getCommonDetail() { return getSourcesAttr(); }
CollectiveOp CollectivePermuteOp::createJoined(OpBuilder &builder, Location location,
                                   ArrayRef<CollectiveOp> others) {
  return joined(*this, builder, location, others, getSourcesAttr());
}

LogicalResult AllSliceOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<int64_t> n = groupSize(*this, getMeshAttr(), getAxes(), tables);
  if (failed(n) || failed(verifyDims(*this, getDims(), "dims")))
    return failure();
  return verifyTypes(*this, [&](unsigned i, int64_t dim) { return dim == getDims()[i] ? -*n : 1; });
}
double AllSliceOp::getBytesSent(unsigned, int64_t) { return 0; }
bool AllSliceOp::hasToWait() { return false; }
CollectiveOp AllSliceOp::createJoined(OpBuilder &builder, Location location,
                                   ArrayRef<CollectiveOp> others) {
  return joined(*this, builder, location, others, concatenated(*this, others, &AllSliceOp::getDims));
}

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(groupSize(*this, getMeshAttr(), getAxes(), tables)))
    return failure();
  return graph::OpChecker(*this).checkScalar(getResult(), "result");
}

WaitOp dist::findWait(Operation *collective) {
  if (!collective->hasAttr(attr::kStarted))
    return {};
  for (Operation *user : collective->getUsers())
    if (auto wait = dyn_cast<WaitOp>(user); wait && wait->getBlock() == collective->getBlock())
      return wait;
  return {};
}

LogicalResult WaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                       DictionaryAttr, OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult WaitOp::verify() {
  Operation *started = getInputs().empty() ? nullptr : getInputs()[0].getDefiningOp();
  if (!started || !started->hasAttr(attr::kStarted))
    return emitOpError() << "waits for something that is no started collective ("
                         << attr::kStarted << ")";
  return success();
}

LogicalResult VaryOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(succeeded(groupSize(*this, getMeshAttr(), getAxes(), tables)));
}
/// For what is saved: as cheap as its operand.
graph::FusionKind VaryOp::getFusionKind() { return graph::FusionKind::elementwise; }
