//===- AttentionBackward.cpp - code of graph.attention_grad ---------------===//
//
// With P the probabilities, dP = dO·vᵀ and dS = P ∘ (dP - Σ dO∘O):
//
//   dQ = scale · dS·k,   dK = dSᵀ·(scale · q),   dV = Pᵀ·dO
//
// An item walks its heads' queries in blocks; the sums over queries are made
// block after block, so in one order.
//
//===----------------------------------------------------------------------===//
#include "compiler/target/cpu/AttentionKernel.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

void AttentionEmitter::emitBackward(Value begin, Value end) {
  auto &s = code.s;
  Value zero = s.index(0);
  int64_t gradRows = (problem.keys + layout.tile.rows - 1) / layout.tile.rows * layout.tile.rows;
  Rows keyGrad{at(layout.keyGrad), layout.width},
      valueGrad{at(layout.valueGrad), layout.valueWidth};
  code.loop(begin, end, 1, [&](Value item) {
    Head head{s.div(item, problem.groups), zero, s.mod(item, problem.groups)};
    prepareKeys(head);
    clear(keyGrad.pointer, s.index(gradRows * keyGrad.stride));
    clear(valueGrad.pointer, s.index(gradRows * valueGrad.stride));
    code.loop(zero, s.index(problem.headsPerGroup()), 1, [&](Value member) {
      Head own = head;
      own.head = s.add(s.mul(head.group, problem.headsPerGroup()), member);
      code.loop(zero, s.index(problem.queries), layout.blockRows,
                [&](Value first) { backwardBlock(own, first); });
    });
    Value keys = s.index(problem.keys);
    auto unscaled = [](Value) { return Value(); };
    unpack(keyGrad, keys, problem.width, keyRows(buffers.keyGrad, head, problem.width), unscaled);
    unpack(valueGrad, keys, problem.valueWidth,
           keyRows(buffers.valueGrad, head, problem.valueWidth), unscaled);
  });
}

/// Values and keys transposed, and keys as rows.
void AttentionEmitter::prepareKeys(Head head) {
  Value count = code.s.index(problem.keys), paddedCount = code.s.index(layout.keys);
  Rows values{at(layout.rows), layout.valueWidth}, keys{at(layout.rows), layout.width};
  pack(keyRows(buffers.value, head, problem.valueWidth), count, problem.valueWidth, values,
       paddedCount);
  transposeRows(values, layout.valueWidth, at(layout.transposedValues));
  pack(keyRows(buffers.key, head, problem.width), count, problem.width, keys, paddedCount);
  transposeRows(keys, layout.width, at(layout.transposedKeys));
}

void AttentionEmitter::backwardBlock(Head head, Value first) {
  auto &s = code.s;
  Value count =
      code.minimum(code.difference(s.index(problem.queries), first), s.index(layout.blockRows));
  Value paddedCount = code.roundUp(count, layout.tile.rows);
  packBlock(head, first, count, paddedCount);
  code.loop(s.index(0), paddedCount, layout.tile.rows,
            [&](Value strip) { backwardStrip(head, first, strip); });
  accumulateKeyGrads(first, paddedCount);
}

/// Queries and cotangents as rows, and per query its log-sum-exp and Σ dO∘O. A
/// query behind the last one gets zeros: it adds nothing to dK and dV.
void AttentionEmitter::packBlock(Head head, Value first, Value count, Value paddedCount) {
  auto &s = code.s;
  Rows query = queryRows(buffers.query, head, problem.width);
  Rows cotangent = queryRows(buffers.cotangent, head, problem.valueWidth);
  Rows result = queryRows(buffers.result, head, problem.valueWidth);
  Rows packed{at(layout.cotangent), layout.valueWidth};
  pack(tail(query, first), count, problem.width, {at(layout.query), layout.width}, paddedCount,
       problem.scale);
  pack(tail(cotangent, first), count, problem.valueWidth, packed, paddedCount);

  int64_t shape[] = {problem.batch, problem.heads, problem.queries};
  Value logSumExps = code.at(buffers.logSumExp, s.linearise({head.batch, head.head, first}, shape));
  Value lowest =
      s.real(code.element, code.element.isF64() ? std::numeric_limits<double>::lowest()
                                                : double(std::numeric_limits<float>::lowest()));
  code.loop(s.index(0), count, 1, [&](Value number) {
    Value results = row(result, s.add(first, number)), cotangents = row(packed, number);
    int64_t rest = problem.valueWidth % code.lanes, whole = problem.valueWidth - rest;
    auto product = [&](Value place, Value sum, int64_t lanes) {
      return code.fma(code.load(code.at(cotangents, place)), load(result, results, place, lanes),
                      sum);
    };
    Value sum = code.splat(0.0);
    sum =
        code.fold(s.index(0), s.index(whole), code.lanes, sum, [&](Value place, ValueRange known) {
          return SmallVector<Value>{product(place, known[0], code.lanes)};
        })[0];
    if (rest)
      sum = product(s.index(whole), sum, rest);
    code.storeScalar(code.reduce(sum, [&](Value a, Value b) { return code.add(a, b); }),
                     code.at(at(layout.corrections), number));
    // A row without keys has -inf: e^(-inf - lowest) is 0.
    Value logSumExp = code.loadScalar(code.at(logSumExps, number));
    code.storeScalar(s.create<arith::MaximumFOp>(logSumExp, lowest),
                     code.at(at(layout.logSumExps), number));
  });
  code.loop(count, paddedCount, 1, [&](Value number) {
    for (int64_t place : {layout.corrections, layout.logSumExps})
      code.storeScalar(s.real(code.element, 0), code.at(at(place), number));
  });
}

/// Scores and their gradients of a strip of the block, and dQ.
void AttentionEmitter::backwardStrip(Head head, Value first, Value strip) {
  auto &s = code.s;
  Value query = s.add(first, strip);
  Range keys = stripKeys(query);
  Value scores = row({at(layout.scores), layout.stride}, strip);
  Value scoreGrads = row({at(layout.scoreGrads), layout.stride}, strip);
  Value queries = row({at(layout.query), layout.width}, strip);
  Value cotangents = row({at(layout.cotangent), layout.valueWidth}, strip);
  code.loop(keys.begin, keys.end, layout.tile.vectors * code.lanes, [&](Value key) {
    auto multiply = [&](int64_t width, Value a, int64_t stride, int64_t b, Value to) {
      Tile::Sums sums = layout.tile.multiply(code, s.index(width), {a, stride, 1},
                                             {code.at(at(b), key), layout.stride});
      layout.tile.store(code, sums, code.at(to, key), layout.stride);
    };
    multiply(problem.width, queries, layout.width, layout.transposedKeys, scores);
    multiply(problem.valueWidth, cotangents, layout.valueWidth, layout.transposedValues,
             scoreGrads);
  });
  code.loop(s.index(0), s.index(layout.tile.rows), 1, [&](Value number) {
    scoreGradRow(head, s.add(query, number), s.add(strip, number), keys);
  });

  Rows queryGrad{at(layout.strip), layout.width};
  Value depth = code.difference(code.minimum(keys.end, s.index(problem.keys)), keys.begin);
  multiplyColumns(depth, {code.at(scoreGrads, keys.begin), layout.stride, 1},
                  {code.at(at(layout.rows), s.mul(keys.begin, layout.width)), layout.width},
                  layout.width, queryGrad, /*accumulate=*/false);
  Rows target = queryRows(buffers.queryGrad, head, problem.width);
  Value count =
      code.minimum(code.difference(s.index(problem.queries), query), s.index(layout.tile.rows));
  unpack(queryGrad, count, problem.width, tail(target, query),
         [&](Value) { return code.splat(problem.scale); });
}

/// P in place of the scores, dS in place of dP, and zeros in the margins on both
/// sides, which tiles of keys that the strip covers in part reach into.
void AttentionEmitter::scoreGradRow(Head head, Value query, Value rowNumber, Range strip) {
  auto &s = code.s;
  Value scores = row({at(layout.scores), layout.stride}, rowNumber);
  Value scoreGrads = row({at(layout.scoreGrads), layout.stride}, rowNumber);
  maskRow(scores, head, query, strip);
  Value logSumExp = code.splat(code.loadScalar(code.at(at(layout.logSumExps), rowNumber)));
  Value correction = code.splat(code.loadScalar(code.at(at(layout.corrections), rowNumber)));
  code.loop(strip.begin, strip.end, layout.columns, [&](Value key) {
    for (int64_t j = 0; j < layout.columns; j += code.lanes) {
      Value place = s.add(key, j);
      Value score = code.at(scores, place), grad = code.at(scoreGrads, place);
      Value probability = code.exponential(code.sub(code.load(score), logSumExp));
      code.store(probability, score);
      code.store(code.mul(probability, code.sub(code.load(grad), correction)), grad);
    }
  });
  auto clearBoth = [&](Value begin, Value end) {
    for (Value pointer : {scores, scoreGrads})
      clear(code.at(pointer, begin), code.difference(end, begin));
  };
  if (problem.kind != graph::MaskKind::none || problem.keys % layout.tile.rows)
    clearBoth(strip.end, s.add(strip.end, layout.margin));
  if (problem.kind == graph::MaskKind::sliding_window)
    clearBoth(code.maximum(s.sub(strip.begin, layout.margin), s.index(0)), strip.begin);
}

/// dK and dV of all keys that a query of the block may attend to.
void AttentionEmitter::accumulateKeyGrads(Value first, Value paddedCount) {
  Range keys = keysOf(first, layout.blockRows);
  code.loop(code.roundDown(keys.begin, layout.tile.rows), keys.end, layout.tile.rows,
            [&](Value key) {
              Range queries = blockRowsOf(key, first, paddedCount);
              Value depth = code.difference(queries.end, queries.begin);
              auto accumulate = [&](int64_t a, int64_t b, int64_t width, int64_t to) {
                Value scores = code.at(row({at(a), layout.stride}, queries.begin), key);
                multiplyColumns(depth, {scores, 1, layout.stride},
                                {row({at(b), width}, queries.begin), width}, width,
                                {row({at(to), width}, key), width}, /*accumulate=*/true);
              };
              accumulate(layout.scores, layout.cotangent, layout.valueWidth, layout.valueGrad);
              accumulate(layout.scoreGrads, layout.query, layout.width, layout.keyGrad);
            });
}

/// The block's strips of which a query may attend to one of a tile's keys: rows of
/// the block.
AttentionEmitter::Range AttentionEmitter::blockRowsOf(Value firstKey, Value first,
                                                      Value paddedCount) {
  auto &s = code.s;
  const int64_t tileRows = layout.tile.rows;
  Range range{s.index(0), paddedCount};
  if (problem.kind == graph::MaskKind::none)
    return range;
  auto within = [&](Value row) { return code.minimum(code.maximum(row, s.index(0)), paddedCount); };
  Value position = code.difference(firstKey, first); // of a query that stands at the first key
  if (offset)
    position = code.difference(position, offset);
  range.begin = code.roundDown(within(position), tileRows);
  if (problem.kind == graph::MaskKind::sliding_window) {
    int64_t window = std::min(problem.window, int64_t(1) << 40);
    range.end = code.roundUp(within(s.add(position, tileRows - 1 + window)), tileRows);
    range.end = code.minimum(range.end, paddedCount);
  }
  return range;
}
