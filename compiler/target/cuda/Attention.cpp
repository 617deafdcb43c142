//===- Attention.cpp - forward and backward -------------------------------===//
#include "compiler/target/cuda/AttentionKernel.h"
#include "compiler/target/cuda/WarpCode.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;
using namespace minigptc::graph::kernel;

static constexpr int64_t kRows = AttentionLayout::kRows;
static constexpr double kLowest = std::numeric_limits<float>::lowest();

void AttentionEmitter::emitForward() {
  // Under a causal mask the last queries have the most keys: they come first.
  Value number = s().mod(block, layout.queryBlocks), outer = s().div(block, layout.queryBlocks);
  Value last = s().index(layout.queryBlocks - 1);
  Value first = s().mul(s().create<arith::SubIOp>(last, number), layout.blockRows());
  Value headNumber = s().mod(outer, problem.heads);
  Head head{s().div(outer, problem.heads), headNumber,
            s().div(headNumber, problem.headsPerGroup())};
  fill(queryRows(buffers.query, head, problem.width), first, layout.blockRows(), layout.own,
       layout.width, problem.scale);
  Rows keys = keyRows(buffers.key, head, problem.width);
  Rows values = keyRows(buffers.value, head, problem.valueWidth);
  int64_t columns = layout.valueWidth / kWarp;

  // The state: maxima, sums, and the result so far. A row without keys keeps the lowest number
  // and 0: its log-sum-exp is log 0.
  Values state(kRows, real(kLowest));
  state.append(kRows * (1 + columns), real(0));
  Range range = keysOf(first);
  state = fold(range.begin, range.end, kWarp, state, [&](Value key, ValueRange known) {
    elements.barrier(); // the last tile has been read
    fill(keys, key, kWarp, layout.tile, layout.width, 1);
    fill(values, key, kWarp, layout.tileValues, layout.valueWidth, 1);
    elements.barrier();
    Values scores = multiply(layout.own, layout.tile, layout.width, problem.width);
    Values next, sums, results;
    for (int64_t i = 0; i < kRows; ++i) {
      Value keep = attends(head, s().add(first, ownRow(i)), s().add(key, lane));
      Value score = s().select(keep, scores[i], s().infinity(builder.getF32Type(), true));
      Value maximum = s().create<arith::MaximumFOp>(known[i], reduceWarp(score, true));
      Value correction = exponential(sub(known[i], maximum));
      scores[i] = exponential(sub(score, maximum));
      next.push_back(maximum);
      sums.push_back(fma(known[kRows + i], correction, reduceWarp(scores[i], false)));
      for (int64_t c = 0; c < columns; ++c)
        results.push_back(mul(known[2 * kRows + i * columns + c], correction));
    }
    results = spread(results, scores, layout.tileValues, layout.valueWidth);
    next.append(sums);
    next.append(results);
    return next;
  });

  Values factors;
  for (int64_t i = 0; i < kRows; ++i) {
    Value sum = state[kRows + i], row = s().add(first, ownRow(i));
    Value isEmpty = s().compare(arith::CmpFPredicate::OEQ, sum, real(0));
    factors.push_back(s().select(isEmpty, real(0), s().create<arith::DivFOp>(real(1), sum)));
    Value isFirst = s().compare(arith::CmpIPredicate::eq, lane, s().index(0));
    Value exists = s().compare(arith::CmpIPredicate::ult, row, s().index(problem.queries));
    when(s().both(isFirst, exists), [&] {
      int64_t shape[] = {problem.batch, problem.heads, problem.queries};
      Value logSum = math::LogOp::create(builder, loc, sum);
      elements.store(add(state[i], logSum), buffers.logSumExp, builder.getF32Type(),
                     s().linearise({head.batch, head.head, row}, shape));
    });
  }
  storeRows(queryRows(buffers.result, head, problem.valueWidth), first,
            ArrayRef(state).drop_front(2 * kRows), layout.valueWidth, factors);
}

std::pair<Value, Value> AttentionEmitter::statistics(Head head, Value query) {
  Rows cotangents = queryRows(buffers.cotangent, head, problem.valueWidth);
  Rows results = queryRows(buffers.result, head, problem.valueWidth);
  Value exists = s().compare(arith::CmpIPredicate::ult, query, s().index(problem.queries));
  Value sum = real(0);
  for (int64_t c = 0; c < layout.valueWidth; c += kWarp) {
    Value column = s().add(lane, c);
    Value here = exists;
    if (c + kWarp > problem.valueWidth)
      here = s().both(
          here, s().compare(arith::CmpIPredicate::ult, column, s().index(problem.valueWidth)));
    sum = whenElse(
        here, builder.getF32Type(),
        [&] {
          return fma(loadRow(cotangents, query, column), loadRow(results, query, column), sum);
        },
        [&] { return sum; });
  }
  int64_t shape[] = {problem.batch, problem.heads, problem.queries};
  Value logSumExp = whenElse(
      exists, builder.getF32Type(),
      [&] {
        return elements.load(buffers.logSumExp, builder.getF32Type(),
                             s().linearise({head.batch, head.head, query}, shape));
      },
      [&] { return real(0); });
  // A row without keys has -inf: e^(-inf - lowest) is 0.
  return {reduceWarp(sum, false), s().create<arith::MaximumFOp>(logSumExp, real(kLowest))};
}

/// Those of a tile of queries, into shared memory: each warp takes every so many.
void AttentionEmitter::fillStatistics(Head head, Value first) {
  fold(warp, s().index(kWarp), layout.warps, {}, [&](Value number, ValueRange) {
    auto [correction, logSumExp] = statistics(head, s().add(first, number));
    Value isFirst = s().compare(arith::CmpIPredicate::eq, lane, s().index(0));
    when(isFirst, [&, correction = correction, logSumExp = logSumExp] {
      Type type = builder.getF32Type();
      elements.storeShared(correction, memory, type, s().add(number, layout.corrections));
      elements.storeShared(logSumExp, memory, type, s().add(number, layout.logSumExps));
    });
    return Values();
  });
}

void AttentionEmitter::emitBackward() {
  int64_t queryBlocks = problem.batch * problem.heads * layout.queryBlocks;
  Value isQueries = s().compare(arith::CmpIPredicate::ult, block, s().index(queryBlocks));
  auto branch = scf::IfOp::create(builder, loc, isQueries, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  emitQueryGrads(block);
  builder.setInsertionPoint(branch.elseBlock()->getTerminator());
  emitKeyGrads(s().sub(block, queryBlocks));
}

void AttentionEmitter::emitQueryGrads(Value number) {
  Value outer = s().div(number, layout.queryBlocks);
  Value first = s().mul(s().mod(number, layout.queryBlocks), layout.blockRows());
  Value headNumber = s().mod(outer, problem.heads);
  Head head{s().div(outer, problem.heads), headNumber,
            s().div(headNumber, problem.headsPerGroup())};
  fill(queryRows(buffers.query, head, problem.width), first, layout.blockRows(), layout.own,
       layout.width, problem.scale);
  fill(queryRows(buffers.cotangent, head, problem.valueWidth), first, layout.blockRows(),
       layout.ownValues, layout.valueWidth, 1);
  Values corrections, logSumExps;
  for (int64_t i = 0; i < kRows; ++i) {
    auto [correction, logSumExp] = statistics(head, s().add(first, ownRow(i)));
    corrections.push_back(correction);
    logSumExps.push_back(logSumExp);
  }
  Rows keys = keyRows(buffers.key, head, problem.width);
  Rows values = keyRows(buffers.value, head, problem.valueWidth);
  Values grads(kRows * (layout.width / kWarp), real(0));
  Range range = keysOf(first);
  grads = fold(range.begin, range.end, kWarp, grads, [&](Value key, ValueRange known) {
    elements.barrier();
    fill(keys, key, kWarp, layout.tile, layout.width, 1);
    fill(values, key, kWarp, layout.tileValues, layout.valueWidth, 1);
    elements.barrier();
    Values scores = multiply(layout.own, layout.tile, layout.width, problem.width);
    Values cotangents =
        multiply(layout.ownValues, layout.tileValues, layout.valueWidth, problem.valueWidth);
    for (int64_t i = 0; i < kRows; ++i) {
      Value keep = attends(head, s().add(first, ownRow(i)), s().add(key, lane));
      Value probability = exponential(sub(scores[i], logSumExps[i]));
      Value grad = mul(probability, sub(cotangents[i], corrections[i]));
      scores[i] = s().select(keep, grad, real(0));
    }
    return spread(known, scores, layout.tile, layout.width);
  });
  storeRows(queryRows(buffers.queryGrad, head, problem.width), first, grads, layout.width,
            Values(kRows, real(problem.scale)));
}

void AttentionEmitter::emitKeyGrads(Value number) {
  Value outer = s().div(number, layout.keyBlocks);
  Value first = s().mul(s().mod(number, layout.keyBlocks), layout.blockRows());
  Head head{s().div(outer, problem.groups), {}, s().mod(outer, problem.groups)};
  fill(keyRows(buffers.key, head, problem.width), first, layout.blockRows(), layout.own,
       layout.width, 1);
  fill(keyRows(buffers.value, head, problem.valueWidth), first, layout.blockRows(),
       layout.ownValues, layout.valueWidth, 1);
  size_t numKeyGrads = kRows * (layout.width / kWarp);
  Values grads(numKeyGrads + kRows * (layout.valueWidth / kWarp), real(0));
  Range range = queriesOf(first);
  Type type = builder.getF32Type();
  auto walkTile = [&](Head own, Value query, ValueRange known) {
    elements.barrier();
    fill(queryRows(buffers.query, own, problem.width), query, kWarp, layout.tile, layout.width,
         problem.scale);
    fill(queryRows(buffers.cotangent, own, problem.valueWidth), query, kWarp, layout.tileValues,
         layout.valueWidth, 1);
    fillStatistics(own, query);
    elements.barrier();
    Value correction = elements.loadShared(memory, type, s().add(lane, layout.corrections));
    Value logSumExp = elements.loadShared(memory, type, s().add(lane, layout.logSumExps));
    Values scores = multiply(layout.own, layout.tile, layout.width, problem.width);
    Values cotangents =
        multiply(layout.ownValues, layout.tileValues, layout.valueWidth, problem.valueWidth);
    Values probabilities;
    for (int64_t i = 0; i < kRows; ++i) {
      Value keep = attends(own, s().add(query, lane), s().add(first, ownRow(i)));
      Value probability = exponential(sub(scores[i], logSumExp));
      probability = s().select(keep, probability, real(0));
      probabilities.push_back(probability);
      scores[i] = mul(probability, sub(cotangents[i], correction));
    }
    Values next = spread(known.take_front(numKeyGrads), scores, layout.tile, layout.width);
    next.append(spread(known.drop_front(numKeyGrads), probabilities, layout.tileValues,
                       layout.valueWidth));
    return next;
  };
  Value firstHead = s().mul(head.group, problem.headsPerGroup());
  grads = fold(s().index(0), s().index(problem.headsPerGroup()), 1, grads,
               [&](Value member, ValueRange known) {
                 Head own{head.batch, s().add(firstHead, member), head.group};
                 return fold(range.begin, range.end, kWarp, known,
                             [&](Value query, ValueRange sums) {
                               return walkTile(own, query, sums);
                             });
               });
  storeRows(keyRows(buffers.keyGrad, head, problem.width), first,
            ArrayRef(grads).take_front(numKeyGrads), layout.width, {});
  storeRows(keyRows(buffers.valueGrad, head, problem.valueWidth), first,
            ArrayRef(grads).drop_front(numKeyGrads), layout.valueWidth, {});
}
