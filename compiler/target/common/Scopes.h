//===- Scopes.h - where computed values may stand ---------------*- C++ -*-===//
//
// Kernel code is pulled: an element asks for its operands' elements, wherever it
// stands. What depends on outer loops only is put before the inner loop, and what
// was computed once in a block is used again in it and below. This class knows,
// for the builder's place, the outermost loop that a value may be moved out of,
// and what each block holds already.
//
// Values move out of loops, never out of branches: an index may be valid in its
// branch only. An out-of-range index therefore never reaches memory.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_SCOPES_H
#define MINIGPTC_COMPILER_TARGET_COMMON_SCOPES_H

#include "mlir/IR/Builders.h"

#include <map>

namespace minigptc::target {

class Scopes {
public:
  explicit Scopes(mlir::OpBuilder &builder) : builder(builder) {}

  /// A value of the kernel at given indices.
  struct Key {
    mlir::Value value;
    llvm::SmallVector<mlir::Value, 4> indices;
    bool operator<(const Key &other) const;
  };

  /// The scalar for the key, if one is visible from here.
  mlir::Value lookup(const Key &key) const;
  /// Notes a scalar that was computed at the builder's place.
  void note(const Key &key, mlir::Value scalar);

  /// Moves the builder out of all loops on which none of the values depends.
  void leaveLoops(mlir::ValueRange values);
  /// Moves the arithmetic that made the value as far out as it goes (out of
  /// branches too: it touches no memory), once per block: equal indices become
  /// the same SSA value. The value given stays valid.
  mlir::Value canonicalise(mlir::Value value);

private:
  mlir::Operation *regionToLeave(mlir::Block *block, mlir::ValueRange values,
                                 bool leaveBranches) const;

  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Block *, std::map<Key, mlir::Value>> scalars;
  llvm::DenseMap<std::pair<mlir::Block *, size_t>, llvm::SmallVector<mlir::Operation *, 2>>
      arithmetic;
  llvm::DenseMap<mlir::Value, mlir::Value> canonical;
};

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_SCOPES_H
