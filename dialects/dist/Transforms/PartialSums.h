//===- PartialSums.h - sums that are made later -----------------*- C++ -*-===//
//
// An op that sums over a cut factor leaves a partial value. Linear ops may hand it on as it
// is, so that several are added before they are made, and a private function may return it. A
// loop may carry it from one call to the next, if it starts with zeros or with such a value:
// then it is made once, behind the loop. Whether it comes back so is hoped for.
//
//   PartialSums sums(table, axis);
//   sums.note(value);                    // it is partial now: what reads it may carry it on
//   sums.withdraw(slot);                 // what a loop carries is cut instead, which takes less
//                                        // memory: what is added in each call is scattered there
//   …
//   settlePartialSums(table);            // after all axes: what was hoped for in vain is undone
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_PARTIALSUMS_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_PARTIALSUMS_H

#include "dialects/dist/Transforms/ShardingTable.h"

namespace minigptc::dist {

class PartialSums {
public:
  PartialSums(ShardingTable &table, unsigned axis) : table(table), axis(axis) {}

  bool isPartial(mlir::Value value) const;
  void note(mlir::Value value);
  void withdraw(Slot &slot);

private:
  bool isScaled(const OpEntry &entry, unsigned operand) const;
  bool mayTake(mlir::OpOperand &use) const;
  bool mayAllTake(mlir::Value value) const;
  bool carry(OpEntry &entry, llvm::SmallVectorImpl<mlir::Value> &noted);
  Slot *sumSoFar(mlir::Value value) const;
  bool mayWait(const Slot &slot) const;
  void wait(Slot &slot, llvm::SmallVectorImpl<mlir::Value> &noted);

  ShardingTable &table;
  unsigned axis;
};

/// A sum is carried on only if all that read it do: else it is made before, once, for all.
void settlePartialSums(ShardingTable &table);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_PARTIALSUMS_H
