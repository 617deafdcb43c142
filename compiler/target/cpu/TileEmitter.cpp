//===- TileEmitter.cpp ----------------------------------------------------===//
#include "compiler/target/cpu/TileEmitter.h"

#include <algorithm>

using namespace mlir;
using namespace minigptc::cpu;

/// Steps of the depth between two turns of the loop.
static constexpr int64_t kUnroll = 4;

int64_t Tile::getMostRows(int64_t rows) {
  for (int64_t most : {1, 2, 3, 4, 6})
    if (rows <= most)
      return most;
  return kMostRows;
}

/// A fused multiply-add takes four cycles, and two start in each: eight chains or
/// more, and registers left for a row of B and an element of A. A vector is one
/// of 32 registers, or two of 16.
Tile Tile::forRows(int64_t rows, int64_t vectorBits) {
  int64_t most = getMostRows(rows);
  if (vectorBits >= 512)
    return {most, 2};
  most = std::min<int64_t>(most, 6);
  return {most, most <= 3 ? 2 : 1};
}

/// One more element of the depth, at these places of A and B.
static void step(VectorCode &code, Tile tile, TileRows a, TileColumns b, Tile::Sums &sums) {
  SmallVector<Value> row;
  for (int64_t j = 0; j < tile.vectors; ++j)
    row.push_back(code.load(code.at(b.pointer, j * code.lanes)));
  for (int64_t i = 0; i < tile.rows; ++i) {
    Value element = code.splat(code.loadScalar(code.at(a.pointer, i * a.rowStride)));
    for (int64_t j = 0; j < tile.vectors; ++j) {
      Value &sum = sums[i * tile.vectors + j];
      sum = code.fma(element, row[j], sum);
    }
  }
}

Tile::Sums Tile::multiply(VectorCode &code, Value depth, TileRows a, TileColumns b) const {
  Sums zeros(rows * vectors, code.splat(0.0));
  auto steps = [&](int64_t count) {
    return [&, count](Value k, ValueRange known) {
      Sums sums(known);
      Value row = code.at(b.pointer, code.s.mul(k, b.depthStride));
      Value column = code.at(a.pointer, code.s.mul(k, a.depthStride));
      for (int64_t i = 0; i < count; ++i)
        step(code, *this, {code.at(column, i * a.depthStride), a.rowStride, a.depthStride},
             {code.at(row, i * b.depthStride), b.depthStride}, sums);
      return sums;
    };
  };
  Value whole = code.roundDown(depth, kUnroll);
  Sums sums = code.fold(code.s.index(0), whole, kUnroll, zeros, steps(kUnroll));
  return code.fold(whole, depth, 1, sums, steps(1));
}

void Tile::store(VectorCode &code, const Sums &sums, Value c, int64_t rowStride) const {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      code.store(sums[i * vectors + j], code.at(c, i * rowStride + j * code.lanes));
}

void Tile::accumulate(VectorCode &code, const Sums &sums, Value c, int64_t rowStride) const {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j) {
      Value address = code.at(c, i * rowStride + j * code.lanes);
      code.store(code.add(code.load(address), sums[i * vectors + j]), address);
    }
}
