//===- PartialSums.h - sums that are made later -----------------*- C++ -*-===//
//
// An op that sums over a cut factor leaves a partial value. Linear ops may hand it on as it
// is, so that several are added before they are made, and a private function may return it:
//
//   PartialSums sums(table, axis);
//   sums.note(value);                    // it is partial now: what reads it may carry it on
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

private:
  bool isScaled(const OpEntry &entry, unsigned operand) const;
  bool mayTake(mlir::OpOperand &use) const;
  bool mayAllTake(mlir::Value value) const;
  bool carry(OpEntry &entry);

  ShardingTable &table;
  unsigned axis;
};

/// A sum is carried on only if all that read it do: else it is made before, once, for all.
void settlePartialSums(ShardingTable &table);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_PARTIALSUMS_H
