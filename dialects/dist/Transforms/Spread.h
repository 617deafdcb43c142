//===- Spread.h - claims of one class for one axis --------------*- C++ -*-===//
//
// A claim wants an axis to cut a factor of an op, or a dimension of a function's argument
// or result. Where it is granted, it makes claims on whatever reads or makes the values that
// have the dimension: ops that cost little first, then in the order in which they were made.
//
//   Spread spread(table, axis, ClaimClass::input);
//   spread.claimUsers(argument, dim, annotation);
//   spread.run();
//
// Every op and slot is decided once for an axis (twice where claims of one class conflict),
// so that the work grows with the program, not with the devices.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_SPREAD_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_SPREAD_H

#include "dialects/dist/Transforms/PartialSums.h"

#include <queue>

namespace minigptc::dist {

/// What an op costs, in steps: elementwise, moving data, products, the rest.
enum class OpRank : uint8_t { elementwise, movement, product, other };
OpRank rankOf(mlir::Operation *op);

class Spread {
public:
  Spread(ShardingTable &table, unsigned axis, ClaimClass claimClass)
      : table(table), axis(axis), claimClass(claimClass), sums(table, axis) {}

  /// Claims on what reads or makes the value of a slot that is cut along `dim`.
  void claimAround(const Slot &slot, unsigned dim, const Annotation &annotation);
  /// Claims on what reads or makes a value that is cut along `dim`.
  void claimUsers(mlir::Value value, unsigned dim, const Annotation &annotation);
  void claimDefiner(mlir::Value value, unsigned dim, const Annotation &annotation);
  void claim(OpEntry &entry, unsigned factor, const Annotation &annotation);
  /// Grants claims until none is left.
  void run();

private:
  struct Claim {
    OpRank rank;
    unsigned sequence;
    OpEntry *entry; ///< or
    Slot *slot;
    unsigned where; ///< factor or dimension
    const Annotation *annotation;
    /// Comes first out of the queue.
    bool operator<(const Claim &other) const {
      return std::pair(rank, sequence) > std::pair(other.rank, other.sequence);
    }
  };

  void claim(Slot &slot, unsigned dim, const Annotation &annotation);
  void claimOpAt(OpEntry &entry, llvm::ArrayRef<graph::DimFactors> tensor, unsigned dim,
                 const Annotation &annotation);
  void grant(const Claim &claim, OpEntry &entry);
  void grant(const Claim &claim, Slot &slot);
  void noteUneven(const Claim &claim, OpEntry &entry);
  bool wins(const Claim &claim, OpEntry &entry);

  ShardingTable &table;
  unsigned axis;
  ClaimClass claimClass;
  PartialSums sums;
  unsigned numClaims = 0;
  std::priority_queue<Claim> queue;
  llvm::DenseSet<mlir::Value> scattered;          ///< partial values that some use wants cut
  llvm::DenseSet<Slot *> passed;                  ///< pinned values through which claims went
  llvm::DenseSet<OpEntry *> reconsidered;         ///< ops that have changed their mind
  llvm::DenseSet<const Annotation *> indivisible; ///< about which there was a remark
};

/// What the operands of an op, and the sum of a partial result, cost on their way if an axis
/// cuts this factor (or none).
double costOfOperands(const ShardingTable &table, const OpEntry &entry, unsigned axis,
                      std::optional<unsigned> factor);
double costOfSums(const ShardingTable &table, const OpEntry &entry, unsigned axis, unsigned factor);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_SPREAD_H
