//===- AttentionLayout.cpp - how attention is cut -------------------------===//
#include "compiler/target/cpu/AttentionKernel.h"

#include <algorithm>

using namespace mlir;
using namespace minigptc::cpu;

/// Items that a forward pass should have at least, and the queries that pay for
/// packing the keys.
static constexpr int64_t kItems = 64, kBlockRows = 96;
/// Bytes of a round's scores in the backward pass: with their gradients, half of a
/// small second-level cache.
static constexpr int64_t kScoreBytes = 96 << 10;

static int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t AttentionLayout::allocate(int64_t elements) {
  int64_t place = size;
  size = roundUp(size + elements, 16);
  return place;
}

/// Rows that are a multiple of so many bytes apart would share few cache sets.
static int64_t avoidAliasing(int64_t stride, int64_t lanes, int64_t bytes) {
  return stride * bytes % 1024 == 0 ? stride + lanes : stride;
}

AttentionLayout::AttentionLayout(const AttentionProblem &problem, AttentionPass pass,
                                 int64_t vectorBits)
    : tile(Tile::forRows(problem.queries, vectorBits)) {
  int64_t lanes = getLanes(problem.element), bytes = problem.element.getIntOrFloatBitWidth() / 8;
  const int64_t tileRows = Tile::getMostRows(problem.queries);
  columns = 2 * lanes;
  width = roundUp(problem.width, lanes);
  valueWidth = roundUp(problem.valueWidth, lanes);
  keys = roundUp(problem.keys, columns);
  margin = roundUp(tileRows, lanes);
  stride = avoidAliasing(keys + margin, lanes, bytes);
  int64_t allRows = roundUp(problem.queries, tileRows);
  bool isForward = pass == AttentionPass::forward;
  if (isForward) {
    int64_t wanted = ceilDiv(kItems, problem.batch * problem.heads);
    blockRows = std::max(ceilDiv(problem.queries, wanted), kBlockRows);
  } else {
    blockRows = kScoreBytes / bytes / problem.keys;
  }
  blockRows = std::clamp(blockRows / tileRows * tileRows, tileRows, allRows);
  numBlocks = ceilDiv(problem.queries, blockRows);

  int64_t stripRows = isForward ? tileRows : blockRows;
  query = allocate(stripRows * width);
  transposedKeys = allocate(width * stride);
  rows = allocate(keys * std::max(width, valueWidth));
  scores = allocate(stripRows * stride);
  strip = allocate(tileRows * std::max(width, valueWidth));
  factors = allocate(tileRows);
  if (isForward)
    return;
  int64_t gradRows = roundUp(problem.keys, tileRows);
  transposedValues = allocate(valueWidth * stride);
  scoreGrads = allocate(stripRows * stride);
  cotangent = allocate(stripRows * valueWidth);
  keyGrad = allocate(gradRows * width);
  valueGrad = allocate(gradRows * valueWidth);
  logSumExps = allocate(stripRows);
  corrections = allocate(stripRows);
}
