//===- MemoryOrder.h - what memory orders instructions ----------*- C++ -*-===//
//
// Instructions of a block are noted one after the other, each at its time; asked is the
// first time at which another one could run, as far as memory tells.
//
//   MemoryOrder order(block);
//   order.note(op, time);                     // for every instruction, in order
//   int64_t from = order.earliest(later);     // after the last one that hinders it
//
// Arguments of an entry block are different memory, but for a donated input and its
// output. Any other block may be given an input's buffer as an output, so that all of its
// arguments count as one. What is written once and read only (constants) orders nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_EXEC_TRANSFORMS_MEMORYORDER_H
#define MINIGPTC_DIALECTS_EXEC_TRANSFORMS_MEMORYORDER_H

#include "dialects/exec/IR/Exec.h"

#include <map>

namespace minigptc::exec {

class MemoryOrder {
public:
  explicit MemoryOrder(BlockOp block);

  void note(mlir::Operation *op, int64_t time);
  int64_t earliest(mlir::Operation *op);

private:
  /// Bytes of the frame, or an argument (0: the frame; i + 1: argument i).
  struct Range {
    unsigned memory;
    int64_t begin, end;
  };
  struct Access {
    Range range;
    bool isWrite;
  };
  struct Times {
    int64_t read = -1, written = -1;
  };

  struct Piece {
    int64_t end;
    Times times;
  };

  void split(unsigned memory, int64_t at);
  llvm::SmallVector<Access> accessesOf(mlir::Operation *op);
  std::optional<Range> rangeOf(mlir::Value buffer) const;

  int64_t frameSize;
  llvm::SmallVector<unsigned> memoryOf; ///< by argument
  mlir::SymbolTableCollection symbols;
  /// Disjoint pieces of what was touched, by memory and begin.
  std::map<std::pair<unsigned, int64_t>, Piece> known;
};

} // namespace minigptc::exec

#endif // MINIGPTC_DIALECTS_EXEC_TRANSFORMS_MEMORYORDER_H
