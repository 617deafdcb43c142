//===- LocalFunctions.h - functions that are local already ------*- C++ -*-===//
//
// What `dist.manual` ops call, in the program of one device: a call, or the function itself
// in the op's place if nothing else calls it.
//
//   LocalFunctions locals(module);
//   SmallVector<Value> results = locals.emit(builder, manual, localOperands);
//   locals.finish();                                   // when no manual op is left
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_LOCALFUNCTIONS_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_LOCALFUNCTIONS_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"

namespace minigptc::dist {

class LocalFunctions {
public:
  explicit LocalFunctions(mlir::ModuleOp module);

  /// The op's results on this device.
  llvm::SmallVector<mlir::Value> emit(mlir::OpBuilder &builder, ManualOp manual,
                                      mlir::ValueRange operands);
  /// Erases functions that stand where they were called, and what only derivatives needed.
  void finish();

private:
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::StringAttr, unsigned> numUses;
  llvm::SmallVector<mlir::func::FuncOp> inlined;
};

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_LOCALFUNCTIONS_H
