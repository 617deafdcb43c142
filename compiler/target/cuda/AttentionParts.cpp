//===- AttentionParts.cpp - rows, tiles and masks -------------------------===//
#include "compiler/conversion/GraphToLoops/Loops.h"
#include "compiler/target/cuda/AttentionKernel.h"
#include "compiler/target/cuda/WarpCode.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;
using namespace minigptc::graph::kernel;

/// A window that reaches behind every position, and fits indices of 32 bits.
static constexpr int64_t kFar = int64_t(1) << 29;

static int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

AttentionLayout::AttentionLayout(const AttentionProblem &problem, AttentionPass pass)
    : width(roundUp(problem.width, kWarp)), valueWidth(roundUp(problem.valueWidth, kWarp)) {
  constexpr int64_t kUsualBytes = 48 << 10; // what every launch may have
  bool isForward = pass == AttentionPass::forward;
  auto place = [&] {
    size = 0;
    auto allocate = [&](int64_t rows, int64_t width) {
      return std::exchange(size, size + rows * (width + 1));
    };
    own = allocate(blockRows(), width);
    ownValues = isForward ? own : allocate(blockRows(), valueWidth);
    tile = allocate(kTileRows, width);
    tileValues = allocate(kTileRows, valueWidth);
    logSumExps = std::exchange(size, size + (isForward ? 0 : kTileRows));
    corrections = std::exchange(size, size + (isForward ? 0 : kTileRows));
  };
  for (place(); warps > 1 && size * int64_t(sizeof(float)) > kUsualBytes; place())
    warps /= 2;
  queryBlocks = roundUp(problem.queries, blockRows()) / blockRows();
  grid = problem.batch * problem.heads * queryBlocks;
  if (isForward)
    return;
  keyBlocks = roundUp(problem.keys, blockRows()) / blockRows();
  grid += problem.batch * problem.groups * keyBlocks;
}

AttentionEmitter::AttentionEmitter(OpBuilder &builder, Location loc,
                                   const AttentionProblem &problem, const AttentionLayout &layout,
                                   const AttentionBuffers &buffers, Value shared)
    : builder(builder), loc(loc), problem(problem), layout(layout), buffers(buffers),
      memory(shared), elements(builder, builder.getInsertionBlock()->getParentOp()),
      element(problem.bf16 ? Type(builder.getBF16Type()) : problem.element) {
  thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  warp = s().div(thread, kWarp);
  lane = s().mod(thread, kWarp);
  if (!problem.hasOffset)
    return;
  // By way of 64 bits, which indices then have: an offset may be anything.
  Type wide = builder.getI64Type();
  Value number = elements.load(buffers.queryOffset, builder.getI32Type(), s().index(0));
  number = s().create<arith::ExtSIOp>(wide, number);
  offset = s().create<arith::IndexCastOp>(builder.getIndexType(), number);
}

AttentionEmitter::Values
AttentionEmitter::fold(Value begin, Value end, int64_t step, ValueRange initial,
                       function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, s().index(step), initial);
  OpBuilder::InsertionGuard guard(builder);
  if (initial.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty())
    scf::YieldOp::create(builder, loc, next);
  return Values(loop.getResults());
}

Value AttentionEmitter::whenElse(Value condition, Type type, function_ref<Value()> onTrue,
                                 function_ref<Value()> onFalse) {
  return emitIf(s(), condition, type, onTrue, onFalse);
}

void AttentionEmitter::when(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

Value AttentionEmitter::add(Value a, Value b) { return s().create<arith::AddFOp>(a, b); }
Value AttentionEmitter::sub(Value a, Value b) { return s().create<arith::SubFOp>(a, b); }
Value AttentionEmitter::mul(Value a, Value b) { return s().create<arith::MulFOp>(a, b); }
Value AttentionEmitter::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, loc, a, b, c);
}
Value AttentionEmitter::exponential(Value x) { return math::ExpOp::create(builder, loc, x); }

Value AttentionEmitter::reduceWarp(Value value, bool isMaximum) {
  for (int64_t mask = kWarp / 2; mask > 0; mask /= 2) {
    Value other = shuffleXor(s(), value, mask);
    value = isMaximum ? s().create<arith::MaximumFOp>(value, other) : add(value, other);
  }
  return value;
}

/// Row r of [batch, r, head, width].
AttentionEmitter::Rows AttentionEmitter::queryRows(Value tensor, Head head, int64_t width) {
  int64_t shape[] = {problem.batch, problem.queries, problem.heads, width};
  Value zero = s().index(0);
  return {tensor, s().linearise({head.batch, zero, head.head, zero}, shape), problem.heads * width,
          width, problem.queries};
}

AttentionEmitter::Rows AttentionEmitter::keyRows(Value tensor, Head head, int64_t width) {
  int64_t shape[] = {problem.batch, problem.keys, problem.groups, width};
  Value zero = s().index(0);
  return {tensor, s().linearise({head.batch, zero, head.group, zero}, shape),
          problem.groups * width, width, problem.keys};
}

Value AttentionEmitter::loadRow(Rows rows, Value row, Value column) {
  Value place = s().add(rows.base, s().add(s().mul(row, rows.stride), column));
  return elements.load(rows.tensor, element, place);
}

/// Position of an element of a row in shared memory. Rows are one apart from a multiple of 32:
/// lanes that read a column of different rows meet in no bank.
Value AttentionEmitter::shared(int64_t place, int64_t width, Value row, Value column) {
  return s().add(s().add(s().mul(row, width + 1), column), place);
}

void AttentionEmitter::fill(Rows rows, Value first, int64_t count, int64_t place, int64_t width,
                            double scale) {
  fold(thread, s().index(count * width), layout.threads(), {}, [&](Value number, ValueRange) {
    Value row = s().div(number, width), column = s().mod(number, width);
    Value source = s().add(first, row);
    Value exists =
        s().compare(arith::CmpIPredicate::ult, source, s().index(rows.count));
    if (width != rows.width)
      exists = s().both(
          exists, s().compare(arith::CmpIPredicate::ult, column, s().index(rows.width)));
    Value loaded = whenElse(
        exists, builder.getF32Type(), [&] { return loadRow(rows, source, column); },
        [&] { return real(0); });
    if (scale != 1)
      loaded = mul(loaded, real(scale));
    elements.storeShared(loaded, memory, builder.getF32Type(), shared(place, width, row, column));
    return Values();
  });
}

AttentionEmitter::Values AttentionEmitter::multiply(int64_t own, int64_t tile, int64_t paddedWidth,
                                                    int64_t width) {
  Values zeros(AttentionLayout::kRows, real(0));
  return fold(s().index(0), s().index(width), 1, zeros, [&](Value depth, ValueRange sums) {
    Type type = builder.getF32Type();
    Value other = elements.loadShared(memory, type, shared(tile, paddedWidth, lane, depth));
    Values next;
    for (auto [i, sum] : llvm::enumerate(sums))
      next.push_back(
          fma(elements.loadShared(memory, type, shared(own, paddedWidth, ownRow(i), depth)), other,
              sum));
    return next;
  });
}

AttentionEmitter::Values AttentionEmitter::spread(ValueRange sums, ArrayRef<Value> values,
                                                  int64_t tile, int64_t paddedWidth) {
  int64_t columns = paddedWidth / kWarp;
  return fold(s().index(0), s().index(kWarp), 1, sums, [&](Value from, ValueRange known) {
    Values next;
    Values row;
    for (int64_t c = 0; c < columns; ++c)
      row.push_back(elements.loadShared(
          memory, builder.getF32Type(),
          shared(tile, paddedWidth, from, s().add(lane, c * kWarp))));
    for (auto [i, value] : llvm::enumerate(values)) {
      Value factor = shuffleFrom(s(), value, from);
      for (int64_t c = 0; c < columns; ++c)
        next.push_back(fma(factor, row[c], known[i * columns + c]));
    }
    return next;
  });
}

/// The warp's rows of a tensor: sums[row][c] · factors[row].
void AttentionEmitter::storeRows(Rows rows, Value first, ArrayRef<Value> sums, int64_t width,
                                 ArrayRef<Value> factors) {
  int64_t columns = width / kWarp;
  for (int64_t i = 0; i < AttentionLayout::kRows; ++i) {
    Value row = s().add(first, ownRow(i));
    Value exists = s().compare(arith::CmpIPredicate::ult, row, s().index(rows.count));
    for (int64_t c = 0; c < columns; ++c) {
      Value column = s().add(lane, c * kWarp), here = exists;
      if ((c + 1) * kWarp > rows.width)
        here = s().both(
            here, s().compare(arith::CmpIPredicate::ult, column, s().index(rows.width)));
      when(here, [&] {
        Value value = sums[i * columns + c];
        if (!factors.empty())
          value = mul(value, factors[i]);
        Value place = s().add(rows.base, s().add(s().mul(row, rows.stride), column));
        elements.store(elements.rounded(value, element), rows.tensor, element, place);
      });
    }
  }
}

/// Keys that some of the block's queries may attend to, by the mask's kind.
AttentionEmitter::Range AttentionEmitter::keysOf(Value firstQuery) {
  Range range{s().index(0), s().index(problem.keys)};
  if (problem.kind == graph::MaskKind::none)
    return range;
  Value position = offset ? s().add(firstQuery, offset) : firstQuery;
  range.end = s().clamp(s().add(position, layout.blockRows()), problem.keys);
  if (problem.kind == graph::MaskKind::sliding_window) {
    int64_t window = std::min(problem.window, kFar);
    Value begin = s().clamp(s().sub(position, window - 1), problem.keys);
    range.begin = s().mul(s().div(begin, kWarp), kWarp);
  }
  return range;
}

/// Queries some of which may attend to some of the block's keys.
AttentionEmitter::Range AttentionEmitter::queriesOf(Value firstKey) {
  Range range{s().index(0), s().index(problem.queries)};
  if (problem.kind == graph::MaskKind::none)
    return range;
  auto within = [&](Value query) {
    if (offset)
      query = s().create<arith::SubIOp>(query, offset);
    return s().clamp(query, problem.queries);
  };
  range.begin = s().mul(s().div(within(firstKey), kWarp), kWarp);
  if (problem.kind == graph::MaskKind::sliding_window) {
    int64_t window = std::min(problem.window, kFar);
    range.end = within(s().add(firstKey, layout.blockRows() - 1 + window));
  }
  return range;
}

Value AttentionEmitter::attends(Head head, Value query, Value key) {
  using P = arith::CmpIPredicate;
  Value keep = s().both(s().compare(P::ult, key, s().index(problem.keys)),
                        s().compare(P::ult, query, s().index(problem.queries)));
  Value position = offset ? s().add(query, offset) : query;
  if (problem.kind != graph::MaskKind::none)
    keep = s().both(keep, s().compare(P::sle, key, position));
  if (problem.kind == graph::MaskKind::sliding_window) {
    int64_t window = std::min(problem.window, kFar);
    keep = s().both(keep, s().compare(P::sgt, key, s().sub(position, window)));
  }
  if (!problem.maskBatch && !problem.hasSegments)
    return keep;
  return whenElse(
      keep, builder.getI1Type(), [&] { return mayAttendByOperands(head, query, key); },
      [&] { return s().integer(builder.getI1Type(), 0); });
}

Value AttentionEmitter::mayAttendByOperands(Head head, Value query, Value key) {
  Value keep, zero = s().index(0);
  if (problem.maskBatch) {
    int64_t shape[] = {problem.maskBatch, problem.maskHeads, problem.queries, problem.keys};
    Value place = s().linearise({problem.maskBatch == 1 ? zero : head.batch,
                                 problem.maskHeads == 1 ? zero : head.head, query, key},
                                shape);
    keep = elements.load(buffers.mask, builder.getI1Type(), place);
  }
  if (problem.hasSegments) {
    Type type = builder.getI32Type();
    auto segment = [&](Value tensor, int64_t count, Value number) {
      return elements.load(tensor, type, s().add(s().mul(head.batch, count), number));
    };
    Value same = s().compare(arith::CmpIPredicate::eq,
                             segment(buffers.querySegments, problem.queries, query),
                             segment(buffers.keySegments, problem.keys, key));
    keep = s().both(keep, same);
  }
  return keep;
}
