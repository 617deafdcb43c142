//===- AttentionKernel.h - attention without the score matrix ---*- C++ -*-===//
//
// Code of `graph.attention` and `graph.attention_grad`. Queries are taken in
// strips of as many rows as a register tile has (see TileEmitter.h). A strip's
// scores, one row of all its keys per query, lie in scratch memory and never
// leave it; keys that none of the strip's queries may attend to are skipped.
//
// Scratch memory holds padded copies, so that tiles are always full: the keys
// (backward: and values) transposed, the values (backward: the keys) as rows,
// zeros behind the last one. The forward pass keeps a row's log-sum-exp, from
// which the backward pass computes the probabilities again.
//
//   pass      item                          owns
//   forward   batch, head, block of queries rows of the result
//   backward  batch, key head               dK and dV of the key head, dQ of its heads
//
//   AttentionLayout layout(problem, AttentionPass::forward, /*vectorBits=*/256);
//   AttentionEmitter(builder, loc, problem, layout, buffers, scratch).emitForward(begin, end);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_ATTENTIONKERNEL_H
#define MINIGPTC_COMPILER_TARGET_CPU_ATTENTIONKERNEL_H

#include "compiler/target/common/AttentionProblem.h"
#include "compiler/target/cpu/TileEmitter.h"
#include "dialects/graph/IR/Graph.h"

namespace minigptc::cpu {

using target::AttentionBuffers;
using target::AttentionPass;
using target::AttentionProblem;

/// How the work is cut, and where things lie in scratch memory (in elements).
struct AttentionLayout {
  /// Only the tile depends on the machine's vectors.
  AttentionLayout(const AttentionProblem &problem, AttentionPass pass, int64_t vectorBits);

  Tile tile;
  int64_t columns;              ///< keys that a query has are a multiple: two vectors
  int64_t width, valueWidth;    ///< rounded up to whole vectors
  int64_t keys;                 ///< rounded up to whole tiles' columns
  int64_t margin;               ///< columns behind a strip's scores that are cleared: a tile's rows
  int64_t stride;               ///< of rows of scores and of the transposed keys
  int64_t blockRows, numBlocks; ///< queries of an item (forward), of a round (backward)

  int64_t query, transposedKeys, transposedValues, rows, scores, scoreGrads, cotangent, strip,
      keyGrad, valueGrad, logSumExps, corrections, factors;
  int64_t size = 0; ///< of all

private:
  int64_t allocate(int64_t elements);
};

class AttentionEmitter {
public:
  AttentionEmitter(mlir::OpBuilder &builder, mlir::Location loc, const AttentionProblem &problem,
                   const AttentionLayout &layout, const AttentionBuffers &buffers,
                   mlir::Value scratch);

  void emitForward(mlir::Value begin, mlir::Value end);
  void emitBackward(mlir::Value begin, mlir::Value end);

private:
  using Value = mlir::Value;
  /// Keys [begin, end).
  struct Range {
    Value begin, end;
  };
  /// Rows of a tensor or of scratch memory, `stride` elements apart.
  struct Rows {
    Value pointer;
    int64_t stride;
    bool bf16 = false;
  };
  /// What an item, or a head of it, is about.
  struct Head {
    Value batch, head, group;
  };

  Value at(int64_t scratchPlace) { return code.at(scratch, scratchPlace); }
  Rows queryRows(Value tensor, Head head, int64_t width);
  Rows keyRows(Value tensor, Head head, int64_t width);
  Value row(Rows rows, Value number) {
    return place(rows, rows.pointer, code.s.mul(number, rows.stride));
  }
  /// The rows from a number on.
  Rows tail(Rows rows, Value first) { return {row(rows, first), rows.stride, rows.bf16}; }
  /// Elements of such rows: widened where they are read, rounded where they are written.
  Value place(const Rows &rows, Value pointer, Value position) {
    return code.at(pointer, rows.bf16 ? code.builder.getI16Type() : code.element, position);
  }
  Value load(const Rows &rows, Value row, Value position, int64_t lanes) {
    Value address = place(rows, row, position);
    return rows.bf16 ? code.loadBFloat16(address, lanes) : code.load(address, lanes);
  }
  void store(const Rows &rows, Value vector, Value row, Value position, int64_t lanes) {
    Value address = place(rows, row, position);
    rows.bf16 ? code.storeBFloat16(vector, address, lanes) : code.store(vector, address, lanes);
  }
  Rows rowsOf(Value tensor, llvm::ArrayRef<Value> indices, llvm::ArrayRef<int64_t> shape);

  /// Every vector of a row: its place, and how many of its lanes count.
  void forEachVector(int64_t width, llvm::function_ref<void(Value, int64_t)> body);
  void pack(Rows from, Value count, int64_t width, Rows to, Value paddedCount, double scale = 1);
  void unpack(Rows from, Value count, int64_t width, Rows to,
              llvm::function_ref<Value(Value)> factorOfRow);
  void clear(Value pointer, Value count);
  void transposeRows(Rows from, int64_t width, Value to);
  /// sum over depth of a·b for a strip's rows and `width` columns, tile by tile.
  void multiplyColumns(Value depth, TileRows a, Rows b, int64_t width, Rows to, bool accumulate);

  Range keysOf(Value firstQuery, int64_t count);
  Range stripKeys(Value firstQuery);
  void maskRow(Value scores, Head head, Value query, Range strip);
  void maskEdges(Value scores, Range own, Range strip);
  void maskByOperands(Value scores, Head head, Value query, Range strip);
  void restrict(Value address, Value keep, Value scores);

  void forwardStrip(Head head, Value first, Value count);
  void softmaxRow(Head head, Value query, Value rowNumber, Range strip);

  void prepareKeys(Head head);
  void backwardBlock(Head head, Value first);
  void packBlock(Head head, Value first, Value count, Value paddedCount);
  void backwardStrip(Head head, Value first, Value strip);
  void scoreGradRow(Head head, Value query, Value rowNumber, Range strip);
  void accumulateKeyGrads(Value first, Value paddedCount);
  Range blockRowsOf(Value firstKey, Value first, Value paddedCount);

  VectorCode code;
  const AttentionProblem &problem;
  const AttentionLayout &layout;
  AttentionBuffers buffers;
  Value scratch;
  Value offset; ///< of queries' positions; null if 0
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_ATTENTIONKERNEL_H
