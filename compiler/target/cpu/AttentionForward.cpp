//===- AttentionForward.cpp - code of graph.attention ---------------------===//
#include "compiler/target/cpu/AttentionKernel.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

static double lowest(Type element) {
  return element.isF64() ? std::numeric_limits<double>::lowest()
                         : double(std::numeric_limits<float>::lowest());
}

void AttentionEmitter::emitForward(Value begin, Value end) {
  auto &s = code.s;
  code.loop(begin, end, 1, [&](Value item) {
    // Under a causal mask the last queries have the most keys: they come first.
    Value number = s.mod(item, layout.numBlocks);
    Value block = code.difference(s.index(layout.numBlocks - 1), number);
    Value outer = s.div(item, layout.numBlocks), headNumber = s.mod(outer, problem.heads);
    Head head{s.div(outer, problem.heads), headNumber, s.div(headNumber, problem.headsPerGroup())};

    Value allKeys = s.index(problem.keys), paddedKeys = s.index(layout.keys);
    Rows keys{at(layout.rows), layout.width}, values{at(layout.rows), layout.valueWidth};
    pack(keyRows(buffers.key, head, problem.width), allKeys, problem.width, keys, paddedKeys);
    transposeRows(keys, layout.width, at(layout.transposedKeys));
    pack(keyRows(buffers.value, head, problem.valueWidth), allKeys, problem.valueWidth, values,
         paddedKeys);

    Value first = s.mul(block, layout.blockRows);
    Value last = code.minimum(s.add(first, layout.blockRows), s.index(problem.queries));
    code.loop(first, last, layout.tile.rows, [&](Value query) {
      Value count = code.minimum(code.difference(last, query), s.index(layout.tile.rows));
      forwardStrip(head, query, count);
    });
  });
}

void AttentionEmitter::forwardStrip(Head head, Value first, Value count) {
  auto &s = code.s;
  const int64_t tileRows = layout.tile.rows;
  Rows query{at(layout.query), layout.width};
  Rows source = queryRows(buffers.query, head, problem.width);
  pack(tail(source, first), count, problem.width, query, s.index(tileRows), problem.scale);

  Range keys = stripKeys(first);
  code.loop(keys.begin, keys.end, layout.tile.vectors * code.lanes, [&](Value key) {
    Tile::Sums sums =
        layout.tile.multiply(code, s.index(problem.width), {query.pointer, query.stride, 1},
                             {code.at(at(layout.transposedKeys), key), layout.stride});
    layout.tile.store(code, sums, code.at(at(layout.scores), key), layout.stride);
  });
  code.loop(s.index(0), count, 1, [&](Value number) {
    Value queryNumber = s.add(first, number);
    maskRow(row({at(layout.scores), layout.stride}, number), head, queryNumber, keys);
    softmaxRow(head, queryNumber, number, keys);
  });

  Rows strip{at(layout.strip), layout.valueWidth};
  Value depth = code.difference(code.minimum(keys.end, s.index(problem.keys)), keys.begin);
  Value values = code.at(at(layout.rows), s.mul(keys.begin, layout.valueWidth));
  multiplyColumns(depth, {code.at(at(layout.scores), keys.begin), layout.stride, 1},
                  {values, layout.valueWidth}, layout.valueWidth, strip, /*accumulate=*/false);
  Rows target = queryRows(buffers.result, head, problem.valueWidth);
  unpack(strip, count, problem.valueWidth, tail(target, first), [&](Value number) {
    return code.splat(code.loadScalar(code.at(at(layout.factors), number)));
  });
}

/// e^(scores - maximum) in place of the scores, 1 over their sum, log-sum-exp.
void AttentionEmitter::softmaxRow(Head head, Value query, Value rowNumber, Range strip) {
  auto &s = code.s;
  using P = arith::CmpFPredicate;
  const int64_t vectors = layout.columns / code.lanes;
  Value scores = row({at(layout.scores), layout.stride}, rowNumber);
  auto combine = [&](SmallVector<Value> parts, auto &&fn) {
    Value all = parts.front();
    for (Value part : ArrayRef(parts).drop_front())
      all = fn(all, part);
    return code.reduce(all, fn);
  };
  auto greater = [&](Value a, Value b) { return code.greater(a, b); };
  auto add = [&](Value a, Value b) { return code.add(a, b); };

  SmallVector<Value> initial(vectors, code.splat(s.infinity(code.element, /*negative=*/true)));
  SmallVector<Value> maxima =
      code.fold(strip.begin, strip.end, layout.columns, initial, [&](Value key, ValueRange known) {
        SmallVector<Value> next;
        for (int64_t j = 0; j < vectors; ++j)
          next.push_back(
              code.greater(code.load(code.at(code.at(scores, key), j * code.lanes)), known[j]));
        return next;
      });
  // A row without keys: e^(-inf - lowest) = 0, and log 0 = -inf.
  Value maximum =
      code.greater(combine(maxima, greater), s.real(code.element, lowest(code.element)));
  Value shift = code.splat(maximum);
  SmallVector<Value> zeros(vectors, code.splat(0.0));
  SmallVector<Value> sums =
      code.fold(strip.begin, strip.end, layout.columns, zeros, [&](Value key, ValueRange known) {
        SmallVector<Value> next;
        for (int64_t j = 0; j < vectors; ++j) {
          Value address = code.at(code.at(scores, key), j * code.lanes);
          Value e = code.exponential(code.sub(code.load(address), shift));
          code.store(e, address);
          next.push_back(code.add(known[j], e));
        }
        return next;
      });
  Value sum = combine(sums, add), zero = s.real(code.element, 0), one = s.real(code.element, 1);
  Value factor = s.select(s.compare(P::OEQ, sum, zero), zero, s.create<arith::DivFOp>(one, sum));
  code.storeScalar(factor, code.at(at(layout.factors), rowNumber));
  Value logSum = math::LogOp::create(code.builder, s.loc, sum);
  int64_t shape[] = {problem.batch, problem.heads, problem.queries};
  Value place = s.linearise({head.batch, head.head, query}, shape);
  code.storeScalar(code.add(maximum, logSum), code.at(buffers.logSumExp, place));
}
