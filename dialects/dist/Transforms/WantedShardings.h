//===- WantedShardings.h - how what reads a value wants it ------*- C++ -*-===//
//
// What is written in a module of stage `shard`, read.
//
//   WantedShardings wanted(module, mesh);
//   for (auto [operand, sharding] : zip(op->getOpOperands(), wanted.of(op))) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_WANTEDSHARDINGS_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_WANTEDSHARDINGS_H

#include "dialects/dist/Transforms/OpSharding.h"
#include "mlir/IR/BuiltinOps.h"

namespace minigptc::dist {

class WantedShardings {
public:
  WantedShardings(mlir::ModuleOp module, MeshAttr mesh) : symbols(module), mesh(mesh) {}

  /// Of every operand: as the op's factors say, with the sums that it carries on; of a call or
  /// return as the function says, of a constraint as it says; nothing if the op takes what comes
  /// (a reshard).
  llvm::SmallVector<std::optional<Sharding>> of(mlir::Operation *op) const;

private:
  mlir::SymbolTable symbols;
  MeshAttr mesh;
};

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_WANTEDSHARDINGS_H
