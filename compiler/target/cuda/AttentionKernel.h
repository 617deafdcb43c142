//===- AttentionKernel.h - attention without the score matrix ---*- C++ -*-===//
//
// Code of `graph.attention` and `graph.attention_grad` on a GPU: correct for all sizes and
// masks, in f32 (bf16 is widened where it is read); it asks for no tensor cores.
//
// A block owns rows, each warp `kRows` of them, and walks the other side in tiles of 32 that it
// puts into shared memory: lane j has the tile's element j. A warp's scores are products of
// its rows with the lane's row of the tile; sums over the tile hand the lanes' values round.
//
// | blocks | own | walk | keep in registers |
// |---|---|---|---|
// | forward | queries of a head | keys that a query may attend to | result, maximum and sum of a row, corrected tile by tile |
// | backward, first | queries of a head | keys | dQ |
// | backward, behind | keys of a key head | queries of its heads, in order | dK and dV |
//
// So nothing is added up by more than one block, and there are no atomics. With P the
// probabilities (from the log-sum-exp), dP = dO·vᵀ and dS = P ∘ (dP - Σ dO∘O):
// dQ = scale · dS·k, dK = dSᵀ·(scale · q), dV = Pᵀ·dO.
//
//   AttentionLayout layout(problem, AttentionPass::forward);
//   AttentionEmitter(builder, loc, problem, layout, buffers, shared).emitForward();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_ATTENTIONKERNEL_H
#define MINIGPTC_COMPILER_TARGET_CUDA_ATTENTIONKERNEL_H

#include "compiler/target/common/AttentionProblem.h"
#include "compiler/target/cuda/KernelPlan.h"
#include "compiler/target/cuda/Reductions.h"

namespace minigptc::cuda {

using target::AttentionBuffers;
using target::AttentionPass;
using target::AttentionProblem;

/// How the work is cut, and where rows lie in shared memory (in floats).
struct AttentionLayout {
  /// Rows of a warp, and of a tile.
  static constexpr int64_t kRows = 4, kTileRows = kWarp;

  AttentionLayout(const AttentionProblem &problem, AttentionPass pass);

  int64_t blockRows() const { return warps * kRows; }
  int64_t threads() const { return warps * kWarp; }

  int64_t warps = 8;
  int64_t queryBlocks = 0, keyBlocks = 0; ///< of a head; of a key head (backward)
  int64_t grid = 0;
  int64_t width, valueWidth; ///< rounded up to whole warps
  /// The block's rows, and the tile's: of the width of keys, and of values.
  int64_t own, ownValues, tile, tileValues;
  int64_t logSumExps, corrections; ///< of a tile of queries
  int64_t size;                    ///< of all
};

class AttentionEmitter {
public:
  AttentionEmitter(mlir::OpBuilder &builder, mlir::Location loc, const AttentionProblem &problem,
                   const AttentionLayout &layout, const AttentionBuffers &buffers,
                   mlir::Value shared);

  void emitForward();
  void emitBackward();

private:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;
  /// Rows of a tensor, by number, of a head.
  struct Rows {
    Value tensor, base; ///< position of row 0
    int64_t stride, width, count;
  };
  struct Range {
    Value begin, end;
  };
  struct Head {
    Value batch, head, group;
  };

  Rows queryRows(Value tensor, Head head, int64_t width);
  Rows keyRows(Value tensor, Head head, int64_t width);
  /// Rows [first, first + count) into shared memory, with zeros behind the last and around.
  void fill(Rows rows, Value first, int64_t count, int64_t place, int64_t width, double scale);
  Value loadRow(Rows rows, Value row, Value column);
  void storeRows(Rows rows, Value first, llvm::ArrayRef<Value> sums, int64_t width,
                 llvm::ArrayRef<Value> factors);
  Value shared(int64_t place, int64_t width, Value row, Value column);

  /// The warp's rows times the lane's row of the tile.
  Values multiply(int64_t own, int64_t tile, int64_t paddedWidth, int64_t width);
  /// sums[row][c] + Σ over lanes of values[row] · tile[lane][this lane + 32 c]
  Values spread(mlir::ValueRange sums, llvm::ArrayRef<Value> values, int64_t tile,
                int64_t paddedWidth);
  /// Row by row Σ dO∘O, and the log-sum-exp, for a query; zeros behind the last.
  std::pair<Value, Value> statistics(Head head, Value query);
  void fillStatistics(Head head, Value first);

  Range keysOf(Value firstQuery);
  Range queriesOf(Value firstKey);
  /// Whether the query attends to the key; both may lie behind the last ones.
  Value attends(Head head, Value query, Value key);
  Value mayAttendByOperands(Head head, Value query, Value key);

  void emitQueryGrads(Value block);
  void emitKeyGrads(Value block);

  Values fold(Value begin, Value end, int64_t step, mlir::ValueRange initial,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  Value whenElse(Value condition, mlir::Type type, llvm::function_ref<Value()> onTrue,
                 llvm::function_ref<Value()> onFalse);
  void when(Value condition, llvm::function_ref<void()> body);
  Value real(double value) { return s().real(builder.getF32Type(), value); }
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  Value exponential(Value x);
  Value reduceWarp(Value value, bool isMaximum);
  graph::kernel::Scalars s() { return {builder, loc}; }
  /// Number of the warp's row `i` in the block.
  Value ownRow(int64_t i) { return s().add(s().mul(warp, AttentionLayout::kRows), i); }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const AttentionProblem &problem;
  const AttentionLayout &layout;
  AttentionBuffers buffers;
  Value memory;
  ElementEmitter elements;
  mlir::Type element; ///< of the tensors but the log-sum-exp
  Value thread, block, warp, lane;
  Value offset; ///< of queries' positions; null if 0
};

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_ATTENTIONKERNEL_H
