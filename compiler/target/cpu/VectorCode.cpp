//===- VectorCode.cpp -----------------------------------------------------===//
#include "compiler/target/cpu/VectorCode.h"
#include "compiler/conversion/GraphToLoops/BFloat16.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

static unsigned alignmentOf(Type element) { return element.getIntOrFloatBitWidth() / 8; }

Value VectorCode::at(Value pointer, int64_t position) {
  if (position == 0)
    return pointer;
  return at(pointer, element, s.index(position));
}

Value VectorCode::at(Value pointer, Type memoryElement, Value position) {
  Value offset = s.create<arith::IndexCastOp>(builder.getI64Type(), position);
  return LLVM::GEPOp::create(builder, s.loc, pointer.getType(), memoryElement, pointer,
                             ArrayRef<LLVM::GEPArg>{offset}, LLVM::GEPNoWrapFlags::inbounds);
}

/// i1 per lane, true for the first ones.
Value VectorCode::firstLanes(int64_t count) {
  SmallVector<bool> bits(lanes, false);
  std::fill_n(bits.begin(), count, true);
  auto mask = VectorType::get({lanes}, builder.getI1Type());
  return arith::ConstantOp::create(builder, s.loc,
                                   DenseElementsAttr::get(mask, ArrayRef<bool>(bits)));
}

Value VectorCode::loadVector(VectorType vector, Value address, int64_t count) {
  unsigned alignment = alignmentOf(vector.getElementType());
  if (count < 0 || count == lanes)
    return LLVM::LoadOp::create(builder, s.loc, vector, address, alignment);
  Value others = arith::ConstantOp::create(builder, s.loc, builder.getZeroAttr(vector));
  return LLVM::MaskedLoadOp::create(builder, s.loc, vector, address, firstLanes(count), others,
                                    alignment);
}

Value VectorCode::load(Value address, int64_t count) { return loadVector(type, address, count); }

Value VectorCode::loadIntegers(Value address, Type integer, int64_t count) {
  return loadVector(VectorType::get({lanes}, integer), address, count);
}

void VectorCode::store(Value vector, Value address, int64_t count) {
  unsigned alignment = alignmentOf(cast<VectorType>(vector.getType()).getElementType());
  if (count < 0 || count == lanes)
    LLVM::StoreOp::create(builder, s.loc, vector, address, alignment);
  else if (count == 1) // LLVM 22 stores too much of one lane of truncated integers.
    storeScalar(vector::ExtractOp::create(builder, s.loc, vector, 0), address);
  else
    LLVM::MaskedStoreOp::create(builder, s.loc, vector, address, firstLanes(count), alignment);
}

Value VectorCode::loadBFloat16(Value address, int64_t count) {
  return graph::kernel::widenBFloat16(s, loadIntegers(address, builder.getI16Type(), count));
}

void VectorCode::storeBFloat16(Value vector, Value address, int64_t count) {
  Value rounded = graph::kernel::roundToBFloat16(s, vector);
  store(graph::kernel::getBFloat16Bits(s, rounded), address, count);
}

Value VectorCode::loadScalar(Value address, Type scalar) {
  return LLVM::LoadOp::create(builder, s.loc, scalar, address);
}

void VectorCode::storeScalar(Value scalar, Value address) {
  LLVM::StoreOp::create(builder, s.loc, scalar, address);
}

Value VectorCode::splat(Value scalar) {
  return vector::BroadcastOp::create(builder, s.loc, VectorType::get({lanes}, scalar.getType()),
                                     scalar);
}

Value VectorCode::lanePositions(Value first) {
  SmallVector<int32_t> numbers(lanes);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto positions = VectorType::get({lanes}, builder.getI32Type());
  Value steps = arith::ConstantOp::create(
      builder, s.loc, DenseElementsAttr::get(positions, ArrayRef<int32_t>(numbers)));
  Value start = s.create<arith::IndexCastOp>(builder.getI32Type(), first);
  return s.create<arith::AddIOp>(splat(start), steps);
}

Value VectorCode::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, s.loc, a, b, c);
}
Value VectorCode::add(Value a, Value b) { return arith::AddFOp::create(builder, s.loc, a, b); }
Value VectorCode::sub(Value a, Value b) { return arith::SubFOp::create(builder, s.loc, a, b); }
Value VectorCode::mul(Value a, Value b) { return arith::MulFOp::create(builder, s.loc, a, b); }

Value VectorCode::greater(Value a, Value b) {
  return s.select(s.compare(arith::CmpFPredicate::OGT, a, b), a, b);
}

Value VectorCode::exponential(Value vector) {
  if (!element.isF64())
    return math::ExpOp::create(builder, s.loc, vector);
  Value result = vector; // f64 has no polynomial, but a library's function.
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value scalar = vector::ExtractOp::create(builder, s.loc, vector, lane);
    result = vector::InsertOp::create(
        builder, s.loc, Value(math::ExpOp::create(builder, s.loc, scalar)), result, lane);
  }
  return result;
}

Value VectorCode::shuffle(Value a, Value b, ArrayRef<int32_t> mask) {
  return LLVM::ShuffleVectorOp::create(builder, s.loc, a, b, mask);
}

Value VectorCode::reduce(Value vector, function_ref<Value(Value, Value)> combine) {
  for (int32_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int32_t> upper(lanes);
    for (int32_t lane = 0; lane < lanes; ++lane)
      upper[lane] = (lane + half) % lanes;
    vector = combine(vector, shuffle(vector, vector, upper));
  }
  return vector::ExtractOp::create(builder, s.loc, vector, 0);
}

/// Swaps the off-diagonal quarters of blocks, the largest first.
SmallVector<Value> VectorCode::transpose(SmallVector<Value> rows) {
  for (int32_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int32_t> lower(lanes), upper(lanes);
    for (int32_t lane = 0; lane < lanes; ++lane) {
      bool isRight = lane & half;
      lower[lane] = isRight ? lanes + lane - half : lane;
      upper[lane] = isRight ? lanes + lane : lane + half;
    }
    for (int32_t row = 0; row < lanes; ++row) {
      if (row & half)
        continue;
      Value a = rows[row], b = rows[row + half];
      rows[row] = shuffle(a, b, lower);
      rows[row + half] = shuffle(a, b, upper);
    }
  }
  return rows;
}

void VectorCode::loop(Value begin, Value end, int64_t step, function_ref<void(Value)> body) {
  fold(begin, end, step, {}, [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>();
  });
}

SmallVector<Value> VectorCode::fold(Value begin, Value end, int64_t step, ValueRange initial,
                                    FoldBody body) {
  auto loop = scf::ForOp::create(builder, s.loc, begin, end, s.index(step), initial);
  OpBuilder::InsertionGuard guard(builder);
  if (initial.empty()) {
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar(), {});
  } else {
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(builder, s.loc, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  }
  return loop.getResults();
}

void VectorCode::when(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, s.loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

Value VectorCode::roundDown(Value index, int64_t unit) { return s.mul(s.div(index, unit), unit); }
Value VectorCode::roundUp(Value index, int64_t unit) {
  return roundDown(s.add(index, unit - 1), unit);
}
Value VectorCode::minimum(Value a, Value b) { return s.create<arith::MinSIOp>(a, b); }
Value VectorCode::maximum(Value a, Value b) { return s.create<arith::MaxSIOp>(a, b); }
Value VectorCode::difference(Value a, Value b) { return s.create<arith::SubIOp>(a, b); }
