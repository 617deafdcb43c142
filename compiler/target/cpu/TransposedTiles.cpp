//===- TransposedTiles.cpp ------------------------------------------------===//
#include "compiler/target/cpu/TransposedTiles.h"
#include "compiler/target/cpu/VectorCode.h"
#include "compiler/target/cpu/VectorLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;
using namespace minigptc::graph::kernel;

/// The lines come first, which all values share, then a tile for each.
static int64_t lineBytes(const NestPlan &nest) {
  int64_t widest = 0;
  for (Value value : nest.turnedValues)
    widest = std::max(widest, target::getStorageBytes(value));
  return kTile * kTile * widest;
}

int64_t minigptc::cpu::getTileScratch(const NestPlan &nest) {
  int64_t bytes = lineBytes(nest);
  for (Value value : nest.turnedValues)
    bytes += kTile * kTile * target::getStorageBytes(value);
  return bytes;
}

void TileFiller::fill(ValueRange indices, Range rows, Range columns) {
  int64_t offset = lineBytes(nest);
  for (Value value : nest.turnedValues) {
    tiles.push_back(target::addressBehind({builder, scratch.getLoc()}, scratch,
                                          builder.getI8Type(), offset));
    offset += kTile * kTile * target::getStorageBytes(value);
    fillLines(value, indices, rows, columns);
    turnLines(value, tiles.back(), rows, columns);
  }
}

/// The operand's rows, which are the nest's columns.
void TileFiller::fillLines(Value value, ValueRange indices, Range rows, Range columns) {
  bool isWhole = nest.shape[nest.turned] % kLanes == 0;
  scf::ForOp columnLoop = elements.enterLoop(columns.begin, columns.end);
  scf::ForOp rowLoop =
      elements.enterParallelLoop(rows.begin, rows.end, {kTile, isWhole ? kLanes : 1});
  SmallVector<Value> at(indices);
  at[nest.turned] = rowLoop.getInductionVar();
  at.push_back(columnLoop.getInductionVar());
  while (at.size() < nest.shape.size())
    at.push_back(elements.scalars().index(0));
  Value element = elements.element(value, at);
  prefetchNextTile(value, at);
  Scalars s = elements.scalars();
  Value line = s.create<arith::SubIOp>(columnLoop.getInductionVar(), columns.begin);
  Value inLine = s.create<arith::SubIOp>(rowLoop.getInductionVar(), rows.begin);
  elements.store(element, scratch, getElementType(value), s.add(s.mul(line, kTile), inLine));
  elements.leaveLoop(columnLoop);
}

/// Lines so far apart are not foreseen by the machine. Nothing is read, so that the last tile
/// needs no exception.
void TileFiller::prefetchNextTile(Value value, SmallVector<Value> at) {
  Operation *transpose = value.getDefiningOp();
  Value operand = transpose->getOperand(0);
  if (!elements.getPointer(operand))
    return;
  at[nest.inner] = elements.scalars().add(at[nest.inner], kTile);
  SmallVector<Value> source(at.size());
  for (auto [i, dim] : llvm::enumerate(*getPermutation(transpose)))
    source[dim] = at[i];
  elements.prefetch(operand, elements.linearise(source, getShape(operand)));
}

/// What lies beyond the nest's edge is turned with the rest, and read by nobody.
void TileFiller::turnLines(Value value, Value tile, Range rows, Range columns) {
  Scalars s = elements.scalars();
  VectorCode code(builder, s.loc, getStorageType(getElementType(value)), kLanes);
  auto sizeOf = [&](Range range) { return s.create<arith::SubIOp>(range.end, range.begin); };
  code.loop(s.index(0), sizeOf(columns), kLanes, [&](Value column) {
    code.loop(s.index(0), sizeOf(rows), kLanes, [&](Value row) {
      auto address = [&](Value pointer, Value line, Value inLine) {
        return code.at(pointer, s.add(s.mul(line, kTile), inLine));
      };
      Value source = address(scratch, column, row), target = address(tile, row, column);
      SmallVector<Value> lines;
      for (int64_t line = 0; line < kLanes; ++line)
        lines.push_back(code.load(code.at(source, line * kTile)));
      for (auto [line, turned] : llvm::enumerate(code.transpose(lines)))
        code.store(turned, code.at(target, line * kTile));
    });
  });
}

void TileFiller::noteElements(ValueRange indices, Range rows, Range columns) {
  Scalars s = elements.scalars();
  Value row = s.create<arith::SubIOp>(indices[nest.turned], rows.begin);
  Value column = s.create<arith::SubIOp>(indices[nest.inner], columns.begin);
  Value position = s.add(s.mul(row, kTile), column);
  for (auto [value, tile] : llvm::zip_equal(nest.turnedValues, tiles))
    elements.note(value, indices, elements.load(tile, getElementType(value), position));
}
