//===- LaneValues.cpp -----------------------------------------------------===//
#include "compiler/target/cpu/LaneValues.h"
#include "compiler/target/common/Elements.h"
#include "compiler/target/cpu/VectorLoops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace minigptc::cpu;

VectorType minigptc::cpu::laneType(Type scalar) { return VectorType::get({kLanes}, scalar); }

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

/// True if arithmetic shows the value to be a multiple of the number of lanes.
static bool isWholeBlocks(Value value) {
  if (auto constant = constantOf(value))
    return *constant % kLanes == 0;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MulIOp>(op))
    return isWholeBlocks(op->getOperand(0)) || isWholeBlocks(op->getOperand(1));
  if (isa_and_nonnull<arith::AddIOp>(op))
    return isWholeBlocks(op->getOperand(0)) && isWholeBlocks(op->getOperand(1));
  return false;
}

static unsigned alignmentOf(Type element) {
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

/// A value that is not of the body is uniform.
const Lanes &LaneCloner::get(Value from) {
  auto [entry, isNew] = lanes.try_emplace(from);
  if (isNew)
    entry->second.scalar = from;
  return entry->second;
}

Value LaneCloner::vector(Value from) {
  Lanes value = get(from);
  if (value.vector)
    return value.vector;
  Location loc = value.scalar.getLoc();
  VectorType type = laneType(value.scalar.getType());
  Value result = vector::BroadcastOp::create(builder, loc, type, value.scalar);
  if (value.stride) {
    unsigned width = type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
    SmallVector<APInt> steps;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      steps.emplace_back(width, uint64_t(lane) * uint64_t(value.stride), /*isSigned=*/true,
                         /*implicitTrunc=*/true);
    Value step = arith::ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, steps));
    result = arith::AddIOp::create(builder, loc, result, step);
  }
  return result;
}

Operation *LaneCloner::cloneScalar(Operation *op) {
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, get(operand).scalar);
  return builder.clone(*op, map);
}

bool LaneCloner::cloneBody(Block &body) {
  return llvm::all_of(body.without_terminator(), [&](Operation &op) { return clone(&op); });
}

bool LaneCloner::clone(Operation *op) {
  // What other loops have made vectors of is not taken again.
  auto isVector = [](Type type) { return isa<VectorType>(type); };
  if (llvm::any_of(op->getResultTypes(), isVector) || llvm::any_of(op->getOperandTypes(), isVector))
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](scf::IfOp branch) { return cloneIf(branch); })
      .Case([&](scf::ForOp loop) { return cloneFor(loop); })
      .Case([&](LLVM::GEPOp address) { return cloneAddress(address); })
      .Case([&](LLVM::LoadOp load) { return cloneLoad(load); })
      .Case([&](LLVM::StoreOp store) { return cloneStore(store); })
      .Case([&](LLVM::Prefetch prefetch) { return clonePrefetch(prefetch); })
      .Case([&](func::CallOp call) { return cloneUniform(call) || cloneCall(call); })
      .Default([&](Operation *other) {
        return cloneUniform(other) || cloneLinear(other) || cloneElementwise(other);
      });
}

bool LaneCloner::cloneUniform(Operation *op) {
  if (op->getNumRegions() != 0 ||
      !llvm::all_of(op->getOperands(), [&](Value v) { return get(v).isUniform(); }))
    return false;
  Operation *copy = cloneScalar(op);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
    lanes[from] = {to, {}};
  return true;
}

bool LaneCloner::cloneElementwise(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumResults() != 1 ||
      !OpTrait::hasElementwiseMappableTraits(op))
    return false;
  IRMapping map;
  for (Value operand : op->getOperands()) {
    // A select on a uniform condition stays one.
    bool isCondition = isa<arith::SelectOp>(op) && operand == op->getOperand(0);
    Lanes value = get(operand);
    map.map(operand, isCondition && value.isUniform() && operand != op->getOperand(1) &&
                             operand != op->getOperand(2)
                         ? value.scalar
                         : vector(operand));
  }
  Operation *copy = builder.cloneWithoutRegions(*op, map);
  copy->getResult(0).setType(laneType(op->getResult(0).getType()));
  bindVector(op->getResult(0), copy->getResult(0));
  return true;
}

//===- Index arithmetic ---------------------------------------------------===//

bool LaneCloner::cloneLinear(Operation *op) {
  if (!llvm::all_of(op->getOperands(), [&](Value v) { return !get(v).vector; }))
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::AddIOp) { return cloneSum(op, false); })
      .Case([&](arith::SubIOp) { return cloneSum(op, true); })
      .Case([&](arith::MulIOp product) { return cloneProduct(product); })
      .Case<arith::IndexCastOp, arith::TruncIOp>([&](Operation *) { return cloneCast(op); })
      .Case([&](arith::DivUIOp) { return cloneBlockDivision(op, false); })
      .Case([&](arith::RemUIOp) { return cloneBlockDivision(op, true); })
      .Case([&](arith::CmpIOp compare) { return cloneBlockCompare(compare); })
      .Default(false);
}

bool LaneCloner::cloneSum(Operation *op, bool subtracts) {
  Lanes a = get(op->getOperand(0)), b = get(op->getOperand(1));
  int64_t stride;
  if (subtracts ? llvm::SubOverflow(a.stride, b.stride, stride)
                : llvm::AddOverflow(a.stride, b.stride, stride))
    return false;
  auto fits = [](const Lanes &x, const Lanes &other) {
    return x.aligned && other.isUniform() && isWholeBlocks(other.scalar);
  };
  bool aligned = fits(a, b) || (!subtracts && fits(b, a));
  lanes[op->getResult(0)] = {cloneScalar(op)->getResult(0), {}, stride, aligned};
  return true;
}

bool LaneCloner::cloneProduct(arith::MulIOp op) {
  Lanes a = get(op.getLhs()), b = get(op.getRhs());
  const Lanes &linear = a.isLinear() ? a : b;
  std::optional<int64_t> factor = constantOf(a.isLinear() ? op.getRhs() : op.getLhs());
  int64_t stride;
  if (!factor || llvm::MulOverflow(linear.stride, *factor, stride))
    return false;
  lanes[op.getResult()] = {
      cloneScalar(op)->getResult(0), {}, stride, *factor == 1 && linear.aligned};
  return true;
}

bool LaneCloner::cloneCast(Operation *op) {
  Lanes value = get(op->getOperand(0));
  if (!value.scalar.getType().isIndex() && !op->getResult(0).getType().isIndex() &&
      !isa<arith::TruncIOp>(op))
    return false;
  // A wider type than the lanes were counted in could count on where they wrap.
  Type from = value.scalar.getType();
  if (!from.isIndex() && op->getResult(0).getType().isIndex() && from.getIntOrFloatBitWidth() < 64)
    return false;
  lanes[op->getResult(0)] = {cloneScalar(op)->getResult(0), {}, value.stride, value.aligned};
  return true;
}

/// By a multiple of 16, from a multiple of 16: one quotient for all lanes, and
/// successive remainders.
bool LaneCloner::cloneBlockDivision(Operation *op, bool isRemainder) {
  Lanes a = get(op->getOperand(0));
  std::optional<int64_t> divisor = constantOf(op->getOperand(1));
  if (!a.aligned || !divisor || *divisor <= 0 || *divisor % kLanes)
    return false;
  Value result = cloneScalar(op)->getResult(0);
  lanes[op->getResult(0)] = isRemainder ? Lanes{result, {}, 1, true} : Lanes{result, {}};
  return true;
}

bool LaneCloner::cloneBlockCompare(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  Lanes a = get(op.getLhs());
  std::optional<int64_t> bound = constantOf(op.getRhs());
  bool splits = llvm::is_contained({P::slt, P::sge, P::ult, P::uge}, op.getPredicate());
  if (!a.aligned || !bound || *bound % kLanes || !splits)
    return false;
  lanes[op.getResult()] = {cloneScalar(op)->getResult(0), {}};
  return true;
}

//===- Memory -------------------------------------------------------------===//

Value LaneCloner::scalarIn(Value from, int64_t lane) {
  Lanes value = get(from);
  if (value.isUniform())
    return value.scalar;
  return vector::ExtractOp::create(builder, from.getLoc(), vector(from), lane);
}

Value LaneCloner::lanesOf(Location loc, ArrayRef<Value> scalars) {
  return vector::FromElementsOp::create(builder, loc, laneType(scalars.front().getType()), scalars);
}

bool LaneCloner::cloneAddress(LLVM::GEPOp op) {
  if (op.getDynamicIndices().size() != 1 || op.getIndices().size() != 1 ||
      !get(op.getBase()).isUniform())
    return false;
  Lanes index = get(op.getDynamicIndices().front());
  if (index.scalar) {
    lanes[op.getResult()] = {cloneScalar(op)->getResult(0), {}, index.stride, index.aligned};
    return true;
  }
  Value addresses = LLVM::GEPOp::create(builder, op.getLoc(), laneType(op.getType()),
                                        op.getElemType(), get(op.getBase()).scalar,
                                        ArrayRef<LLVM::GEPArg>{index.vector}, op.getNoWrapFlags());
  bindVector(op.getResult(), addresses);
  return true;
}

/// The addresses of linear lanes, one by one; those of a vector are its elements.
static Value addressOfLane(OpBuilder &builder, Location loc, const Lanes &address, Type element,
                           int64_t lane) {
  if (address.vector)
    return vector::ExtractOp::create(builder, loc, address.vector, lane);
  return minigptc::target::addressBehind({builder, loc}, address.scalar, element,
                                         lane * address.stride);
}

bool LaneCloner::cloneLoad(LLVM::LoadOp op) {
  Location loc = op.getLoc();
  Type element = op.getType();
  VectorType type = laneType(element);
  Lanes address = get(op.getAddr());
  if (address.isUniform() && !mask)
    return cloneUniform(op);
  if (address.stride == 1) {
    Value result;
    if (mask)
      result = LLVM::MaskedLoadOp::create(
          builder, loc, type, address.scalar, mask,
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)),
          builder.getI32IntegerAttr(alignmentOf(element)), UnitAttr());
    else
      result = LLVM::LoadOp::create(builder, loc, type, address.scalar, alignmentOf(element));
    bindVector(op.getResult(), result);
    return true;
  }
  SmallVector<Value> parts;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    parts.push_back(addressOfLane(builder, loc, address, element, lane));
  if (mask) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    bindVector(op.getResult(),
               LLVM::masked_gather::create(builder, loc, type, lanesOf(loc, parts), mask, zero,
                                           builder.getI32IntegerAttr(alignmentOf(element))));
    return true;
  }
  for (Value &part : parts)
    part = LLVM::LoadOp::create(builder, loc, element, part);
  bindVector(op.getResult(), lanesOf(loc, parts));
  return true;
}

bool LaneCloner::cloneStore(LLVM::StoreOp op) {
  Location loc = op.getLoc();
  Lanes address = get(op.getAddr());
  if (mask || address.isUniform())
    return false;
  Type element = op.getValue().getType();
  Value value = vector(op.getValue());
  if (address.stride == 1) {
    // What is streamed must be aligned; buffers are.
    bool streamed = op.getNontemporal() && address.aligned;
    unsigned alignment = alignmentOf(element) * (streamed ? kLanes : 1);
    LLVM::StoreOp::create(builder, loc, value, address.scalar, alignment, /*isVolatile=*/false,
                          streamed);
    return true;
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Value part = vector::ExtractOp::create(builder, loc, value, lane);
    LLVM::StoreOp::create(builder, loc, part, addressOfLane(builder, loc, address, element, lane));
  }
  return true;
}

/// Lane 0's brings the lanes that share its line.
bool LaneCloner::clonePrefetch(LLVM::Prefetch op) {
  if (!get(op.getAddr()).scalar)
    return false;
  cloneScalar(op);
  return true;
}

bool LaneCloner::cloneCall(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  SmallVector<Value> results;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    IRMapping map;
    for (Value operand : op->getOperands())
      map.map(operand, scalarIn(operand, lane));
    results.push_back(builder.clone(*op, map)->getResult(0));
  }
  bindVector(op->getResult(0), lanesOf(op->getLoc(), results));
  return true;
}

//===- Regions ------------------------------------------------------------===//

bool LaneCloner::cloneIf(scf::IfOp op) {
  if (get(op.getCondition()).isUniform())
    return cloneUniformIf(op);
  if (op.getNumResults() == 0)
    return false;
  Location loc = op.getLoc();
  Value condition = vector(op.getCondition());
  Value ones = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(cast<VectorType>(condition.getType()), true));
  Value otherwise = arith::XOrIOp::create(builder, loc, condition, ones);
  if (!cloneMasked(*op.thenBlock(), condition) || !cloneMasked(*op.elseBlock(), otherwise))
    return false;
  for (auto [result, a, b] :
       llvm::zip_equal(op.getResults(), op.thenYield().getOperands(), op.elseYield().getOperands()))
    bindVector(result, arith::SelectOp::create(builder, loc, condition, vector(a), vector(b)));
  return true;
}

bool LaneCloner::cloneMasked(Block &body, Value condition) {
  Value outer = mask;
  mask = outer ? arith::AndIOp::create(builder, condition.getLoc(), outer, condition) : condition;
  bool cloned = cloneBody(body);
  mask = outer;
  return cloned;
}

bool LaneCloner::cloneUniformIf(scf::IfOp op) {
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(laneType(type));
  auto copy = scf::IfOp::create(builder, op.getLoc(), types, get(op.getCondition()).scalar,
                                /*addThenBlock=*/true, /*addElseBlock=*/op.elseBlock() != nullptr);
  auto fill = [&](Block *from, Block *to) {
    if (!from)
      return true;
    OpBuilder::InsertionGuard guard(builder);
    if (!to->empty() && to->back().hasTrait<OpTrait::IsTerminator>())
      builder.setInsertionPoint(&to->back());
    else
      builder.setInsertionPointToEnd(to);
    if (!cloneBody(*from))
      return false;
    if (types.empty())
      return true;
    SmallVector<Value> yielded;
    for (Value value : from->getTerminator()->getOperands())
      yielded.push_back(vector(value));
    scf::YieldOp::create(builder, op.getLoc(), yielded);
    return true;
  };
  if (!fill(op.thenBlock(), copy.thenBlock()) || !fill(op.elseBlock(), copy.elseBlock()))
    return false;
  for (auto [from, to] : llvm::zip_equal(op.getResults(), copy.getResults()))
    bindVector(from, to);
  return true;
}

/// A loop that all lanes run at once.
bool LaneCloner::cloneFor(scf::ForOp op) {
  auto bound = [&](Value value) { return get(value).isUniform() ? get(value).scalar : Value(); };
  Value lower = bound(op.getLowerBound()), upper = bound(op.getUpperBound());
  Value step = bound(op.getStep());
  if (!lower || !upper || !step)
    return false;
  SmallVector<Value> initial;
  for (Value value : op.getInitArgs())
    initial.push_back(vector(value));
  auto copy = scf::ForOp::create(builder, op.getLoc(), lower, upper, step, initial);
  OpBuilder::InsertionGuard guard(builder);
  lanes[op.getInductionVar()] = {copy.getInductionVar(), {}};
  for (auto [from, to] : llvm::zip_equal(op.getRegionIterArgs(), copy.getRegionIterArgs()))
    bindVector(from, to);
  if (initial.empty())
    builder.setInsertionPoint(copy.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(copy.getBody());
  if (!cloneBody(*op.getBody()))
    return false;
  if (!initial.empty()) {
    SmallVector<Value> yielded;
    for (Value value : op.getYieldedValues())
      yielded.push_back(vector(value));
    scf::YieldOp::create(builder, op.getLoc(), yielded);
  }
  for (auto [from, to] : llvm::zip_equal(op.getResults(), copy.getResults()))
    bindVector(from, to);
  return true;
}
