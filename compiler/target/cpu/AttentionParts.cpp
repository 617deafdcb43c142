//===- AttentionParts.cpp - what both passes of attention share -----------===//
#include "compiler/target/cpu/AttentionKernel.h"

#include <algorithm>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

/// Positions and windows beyond this differ from it in nothing: offsets are i32.
static constexpr int64_t kFar = int64_t(1) << 40;

AttentionEmitter::AttentionEmitter(OpBuilder &builder, Location loc,
                                   const AttentionProblem &problem, const AttentionLayout &layout,
                                   const AttentionBuffers &buffers, Value scratch)
    : code(builder, loc, problem.element), problem(problem), layout(layout), buffers(buffers),
      scratch(scratch) {
  if (problem.hasOffset)
    offset = code.s.toIndex(code.loadScalar(buffers.queryOffset, builder.getI32Type()),
                            builder.getI32Type());
}

/// Rows from some element of a tensor [batch, row, head, width] on.
AttentionEmitter::Rows AttentionEmitter::rowsOf(Value tensor, ArrayRef<Value> indices,
                                                ArrayRef<int64_t> shape) {
  Rows rows{tensor, shape[2] * shape[3], problem.bf16};
  rows.pointer = place(rows, tensor, code.s.linearise(indices, shape));
  return rows;
}

AttentionEmitter::Rows AttentionEmitter::queryRows(Value tensor, Head head, int64_t width) {
  Value zero = code.s.index(0);
  return rowsOf(tensor, {head.batch, zero, head.head, zero},
                {problem.batch, problem.queries, problem.heads, width});
}

AttentionEmitter::Rows AttentionEmitter::keyRows(Value tensor, Head head, int64_t width) {
  Value zero = code.s.index(0);
  return rowsOf(tensor, {head.batch, zero, head.group, zero},
                {problem.batch, problem.keys, problem.groups, width});
}

void AttentionEmitter::forEachVector(int64_t width, function_ref<void(Value, int64_t)> body) {
  int64_t rest = width % code.lanes;
  if (width <= 8 * code.lanes)
    for (int64_t place = 0; place < width - rest; place += code.lanes)
      body(code.s.index(place), code.lanes);
  else
    code.loop(code.s.index(0), code.s.index(width - rest), code.lanes,
              [&](Value place) { body(place, code.lanes); });
  if (rest)
    body(code.s.index(width - rest), rest);
}

/// Copies rows; what is behind a row's or the last row's end becomes 0.
void AttentionEmitter::pack(Rows from, Value count, int64_t width, Rows to, Value paddedCount,
                            double scale) {
  code.loop(code.s.index(0), count, 1, [&](Value number) {
    Value source = row(from, number), target = row(to, number);
    forEachVector(width, [&](Value place, int64_t lanes) {
      Value vector = load(from, source, place, lanes);
      store(to, scale == 1 ? vector : code.mul(vector, code.splat(scale)), target, place,
            code.lanes);
    });
  });
  Value end = code.s.mul(paddedCount, to.stride), begin = code.s.mul(count, to.stride);
  clear(code.at(to.pointer, begin), code.difference(end, begin));
}

void AttentionEmitter::unpack(Rows from, Value count, int64_t width, Rows to,
                              function_ref<Value(Value)> factorOfRow) {
  code.loop(code.s.index(0), count, 1, [&](Value number) {
    Value source = row(from, number), target = row(to, number);
    Value factor = factorOfRow(number);
    forEachVector(width, [&](Value place, int64_t lanes) {
      Value vector = load(from, source, place, code.lanes);
      store(to, factor ? code.mul(vector, factor) : vector, target, place, lanes);
    });
  });
}

/// `count` elements, a multiple of a vector's.
void AttentionEmitter::clear(Value pointer, Value count) {
  Value zero = code.splat(0.0);
  code.loop(code.s.index(0), count, code.lanes,
            [&](Value place) { code.store(zero, code.at(pointer, place)); });
}

void AttentionEmitter::transposeRows(Rows from, int64_t width, Value to) {
  Value zero = code.s.index(0);
  code.loop(zero, code.s.index(layout.keys), code.lanes, [&](Value key) {
    code.loop(zero, code.s.index(width), code.lanes, [&](Value place) {
      Value source = code.at(row(from, key), place);
      Value target = code.at(code.at(to, code.s.mul(place, layout.stride)), key);
      SmallVector<Value> vectors;
      for (int64_t i = 0; i < code.lanes; ++i)
        vectors.push_back(code.load(code.at(source, i * from.stride)));
      for (auto [i, vector] : llvm::enumerate(code.transpose(vectors)))
        code.store(vector, code.at(target, int64_t(i) * layout.stride));
    });
  });
}

void AttentionEmitter::multiplyColumns(Value depth, TileRows a, Rows b, int64_t width, Rows to,
                                       bool accumulate) {
  auto emit = [&](Tile tile, Value column) {
    Tile::Sums sums = tile.multiply(code, depth, a, {code.at(b.pointer, column), b.stride});
    Value target = code.at(to.pointer, column);
    accumulate ? tile.accumulate(code, sums, target, to.stride)
               : tile.store(code, sums, target, to.stride);
  };
  const int64_t columns = layout.tile.vectors * code.lanes, rest = width % columns;
  if (width > rest)
    code.loop(code.s.index(0), code.s.index(width - rest), columns,
              [&](Value column) { emit(layout.tile, column); });
  if (rest)
    emit({layout.tile.rows, rest / code.lanes}, code.s.index(width - rest));
}

/// The keys that the mask's kind lets some of `count` queries attend to.
AttentionEmitter::Range AttentionEmitter::keysOf(Value firstQuery, int64_t count) {
  Range range{code.s.index(0), code.s.index(problem.keys)};
  if (problem.kind == graph::MaskKind::none)
    return range;
  Value position = offset ? code.s.add(firstQuery, offset) : firstQuery;
  range.end = code.s.clamp(code.s.add(position, count), problem.keys);
  if (problem.kind == graph::MaskKind::sliding_window)
    range.begin =
        code.s.clamp(code.s.sub(position, std::min(problem.window, kFar) - 1), problem.keys);
  return range;
}

/// The same for a strip, rounded to the columns of tiles.
AttentionEmitter::Range AttentionEmitter::stripKeys(Value firstQuery) {
  Range range = keysOf(firstQuery, layout.tile.rows);
  return {code.roundDown(range.begin, layout.columns), code.roundUp(range.end, layout.columns)};
}

/// -inf for the scores of keys that a query doesn't attend to. A query behind the
/// last one is treated as the last.
void AttentionEmitter::maskRow(Value scores, Head head, Value query, Range strip) {
  Value existing = code.minimum(query, code.s.index(problem.queries - 1));
  maskEdges(scores, keysOf(query, 1), strip);
  maskByOperands(scores, head, existing, strip);
}

void AttentionEmitter::restrict(Value address, Value keep, Value scores) {
  Value masked = code.splat(code.s.infinity(code.element, /*negative=*/true));
  code.store(code.s.select(keep, scores, masked), address);
}

void AttentionEmitter::maskEdges(Value scores, Range own, Range strip) {
  using P = arith::CmpIPredicate;
  auto mask = [&](Value begin, Value end, P predicate, Value limit) {
    Value limits = code.splat(code.s.create<arith::IndexCastOp>(code.builder.getI32Type(), limit));
    code.loop(begin, end, code.lanes, [&](Value place) {
      Value address = code.at(scores, place);
      restrict(address, code.s.compare(predicate, code.lanePositions(place), limits),
               code.load(address));
    });
  };
  if (problem.kind != graph::MaskKind::none || problem.keys != layout.keys)
    mask(code.roundDown(own.end, code.lanes), strip.end, P::slt, own.end);
  if (problem.kind == graph::MaskKind::sliding_window)
    mask(strip.begin, code.roundUp(own.begin, code.lanes), P::sge, own.begin);
}

void AttentionEmitter::maskByOperands(Value scores, Head head, Value query, Range strip) {
  auto &s = code.s;
  if (!problem.maskBatch && !problem.hasSegments)
    return;
  Type i8 = code.builder.getI8Type(), i32 = code.builder.getI32Type();
  Value zero = s.index(0), maskRow, segment, keySegments;
  if (problem.maskBatch) {
    int64_t shape[] = {problem.maskBatch, problem.maskHeads, problem.queries, problem.keys};
    maskRow = code.at(buffers.mask, i8,
                      s.linearise({problem.maskBatch == 1 ? zero : head.batch,
                                   problem.maskHeads == 1 ? zero : head.head, query, zero},
                                  shape));
  }
  if (problem.hasSegments) {
    Value place = s.add(s.mul(head.batch, problem.queries), query);
    segment = code.splat(code.loadScalar(code.at(buffers.querySegments, i32, place), i32));
    keySegments = code.at(buffers.keySegments, i32, s.mul(head.batch, problem.keys));
  }
  auto mask = [&](Value place, int64_t lanes) {
    Value keep;
    if (maskRow) {
      Value bytes = code.loadIntegers(code.at(maskRow, i8, place), i8, lanes);
      Value none = code.splat(s.integer(i8, 0));
      keep = s.compare(arith::CmpIPredicate::ne, bytes, none);
    }
    if (segment) {
      Value others = code.loadIntegers(code.at(keySegments, i32, place), i32, lanes);
      keep = s.both(keep, s.compare(arith::CmpIPredicate::eq, others, segment));
    }
    Value address = code.at(scores, place);
    restrict(address, keep, code.load(address));
  };
  // What a last vector would read behind the operand's row is masked already.
  int64_t rest = problem.keys % code.lanes;
  Value whole = s.index(problem.keys - rest);
  code.loop(strip.begin, code.minimum(strip.end, whole), code.lanes,
            [&](Value place) { mask(place, code.lanes); });
  if (rest)
    code.when(s.compare(arith::CmpIPredicate::sgt, strip.end, whole), [&] { mask(whole, rest); });
}
