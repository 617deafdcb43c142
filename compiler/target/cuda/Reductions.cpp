//===- Reductions.cpp -----------------------------------------------------===//
#include "compiler/target/cuda/Reductions.h"
#include "compiler/conversion/GraphToLoops/Loops.h"
#include "compiler/target/cuda/KernelPlan.h"
#include "compiler/target/cuda/WarpCode.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;
using namespace minigptc::graph::kernel;
using minigptc::target::Reduced;

/// What a warp leaves for each reduction.
static constexpr int64_t kPartialBytes = 8;

bool minigptc::cuda::isScalar(Value value) {
  return ShapedType::getNumElements(getShape(value)) == 1;
}

/// The type that holds a scalar in shared memory.
static Type getSharedType(Type elementType) {
  Type scalar = getScalarType(elementType);
  return scalar.isInteger(1) ? IntegerType::get(scalar.getContext(), 8) : scalar;
}

int64_t minigptc::cuda::getSharedBytes(Value value) {
  return getSharedType(getElementType(value)).getIntOrFloatBitWidth() / 8;
}

int64_t minigptc::cuda::getGroupBytes(int64_t threads, int64_t reductions) {
  return threads / kWarp * reductions * kPartialBytes;
}

/// An index as a sum of another one and a constant.
static std::pair<Value, int64_t> splitConstant(Value index) {
  int64_t constant = 0;
  while (auto sum = index.getDefiningOp<arith::AddIOp>()) {
    std::optional<int64_t> part = getConstantIntValue(sum.getRhs());
    if (!part)
      break;
    constant += *part;
    index = sum.getLhs();
  }
  return {index, constant};
}

static Value elementAddress(Scalars s, Type indexType, Value pointer, Type storage,
                            Value position) {
  auto [base, constant] = splitConstant(position);
  Value offset = s.create<arith::IndexCastOp>(indexType, base);
  Value address =
      LLVM::GEPOp::create(s.builder, s.loc, pointer.getType(), storage, pointer,
                          ArrayRef<LLVM::GEPArg>{offset}, LLVM::GEPNoWrapFlags::inbounds);
  return target::addressBehind(s, address, storage, constant);
}

Value ElementEmitter::address(Value pointer, Type storage, Value position) {
  return elementAddress(scalars(), builder.getI64Type(), pointer, storage, position);
}

Value ElementEmitter::position(ValueRange indices, ArrayRef<int64_t> shape) {
  Scalars s = scalars();
  Value position;
  int64_t constant = 0;
  for (auto [index, size] : llvm::zip_equal(indices, shape)) {
    auto [base, part] = splitConstant(index);
    position = position ? s.add(s.mul(position, size), base) : base;
    constant = constant * size + part;
  }
  return s.add(position ? position : s.index(0), constant);
}

Value ElementEmitter::loadShared(Value pointer, Type elementType, Value position) {
  Scalars s = scalars();
  Type type = getSharedType(elementType);
  Value loaded =
      LLVM::LoadOp::create(builder, s.loc, type, elementAddress(s, builder.getI32Type(), pointer, type, position));
  return elementType.isInteger(1)
             ? s.compare(arith::CmpIPredicate::ne, loaded, s.integer(type, 0))
             : loaded;
}

void ElementEmitter::storeShared(Value scalar, Value pointer, Type elementType, Value position) {
  Scalars s = scalars();
  Type type = getSharedType(elementType);
  if (elementType.isInteger(1))
    scalar = s.create<arith::ExtUIOp>(type, scalar);
  LLVM::StoreOp::create(builder, s.loc, scalar, elementAddress(s, builder.getI32Type(), pointer, type, position));
}

void ElementEmitter::barrier() { gpu::BarrierOp::create(builder, function->getLoc()); }

void ElementEmitter::barrier(const Group &group) {
  if (group.size == kWarp)
    syncWarp(scalars());
  else
    barrier();
}

SmallVector<Value> ElementEmitter::combine(const Group &group,
                                           ArrayRef<graph::ReductionKernelOp> reductions,
                                           ValueRange values) {
  SmallVector<Value> results(values);
  for (auto [op, value] : llvm::zip_equal(reductions, results))
    for (int64_t mask = kWarp / 2; mask > 0; mask /= 2)
      value = graph::ReductionKernelOp(op).emitCombine(builder, value, shuffleXor(scalars(), value, mask));
  if (group.size == kWarp || reductions.empty())
    return results;
  Scalars s = scalars();
  int64_t warps = group.size / kWarp;
  auto typeOf = [&](graph::ReductionKernelOp op) { return getElementType(op->getOperand(0)); };
  // Where warp w leaves its part of reduction i.
  auto place = [&](size_t i, Value warp) {
    int64_t bytes = getSharedBytes(graph::ReductionKernelOp(reductions[i])->getOperand(0));
    return s.mul(s.add(warp, int64_t(i) * warps), kPartialBytes / bytes);
  };
  Value isFirst =
      s.compare(arith::CmpIPredicate::eq, s.mod(group.thread, kWarp), s.index(0));
  auto branch = scf::IfOp::create(builder, s.loc, isFirst, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  for (auto [i, op] : llvm::enumerate(reductions))
    storeShared(results[i], group.shared, typeOf(op), place(i, s.div(group.thread, kWarp)));
  builder.setInsertionPointAfter(branch);
  barrier();
  for (auto [i, reduction] : llvm::enumerate(reductions)) {
    graph::ReductionKernelOp op = reduction;
    results[i] = loadShared(group.shared, typeOf(op), place(i, s.index(0)));
    for (int64_t warp = 1; warp < warps; ++warp)
      results[i] = op.emitCombine(
          builder, results[i], loadShared(group.shared, typeOf(op), place(i, s.index(warp))));
  }
  barrier(); // before the memory is used again
  return results;
}

Value ElementEmitter::grouped(const Group &group, graph::ReductionKernelOp op,
                              ValueRange indices) {
  Scalars s = scalars();
  Reduced reduced(op);
  SmallVector<int64_t> sizes = reduced.sizes();
  int64_t length = ShapedType::getNumElements(sizes);
  int64_t vector = std::max<int64_t>(1, kAccessBytes / target::getStorageBytes(reduced.operand));
  while (vector > 1 && (sizes.back() % vector || length < group.size * vector))
    vector /= 2;
  SmallVector<Value> chains(vector, op.emitNeutral(builder));
  Value first = s.mul(group.thread, vector);
  auto loop = scf::ForOp::create(builder, s.loc, first, s.index(length),
                                 s.index(group.size * vector), chains);
  {
    OpBuilder::InsertionGuard guard(builder);
    const Group *outer = std::exchange(this->group, nullptr);
    builder.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> at = s.delinearise(loop.getInductionVar(), sizes);
    Value column = at.back();
    for (int64_t k = 0; k < vector; ++k) {
      at.back() = s.add(column, k);
      Value next = element(reduced.operand, reduced.indices(indices, at));
      chains[k] = op.emitCombine(builder, loop.getRegionIterArg(k), next);
    }
    scf::YieldOp::create(builder, s.loc, chains);
    this->group = outer;
  }
  chains.assign(loop.getResults().begin(), loop.getResults().end());
  for (int64_t half = vector / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k)
      chains[k] = op.emitCombine(builder, chains[k], chains[k + half]);
  return combine(group, op, chains.front()).front();
}

Value ElementEmitter::reduction(graph::ReductionKernelOp op, ValueRange indices) {
  if (group && Reduced(op).reducesLast())
    return grouped(*group, op, indices);
  return sequentialReduction(op, indices);
}
