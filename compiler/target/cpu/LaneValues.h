//===- LaneValues.h - a scalar body, sixteen lanes at once ------*- C++ -*-===//
//
// Clones the ops of a scalar loop body at the builder's place as code for 16 successive
// iterations; see VectorLoops.h.
//
//   LaneCloner cloner(builder);
//   cloner.bindIndex(loop.getInductionVar(), index, /*aligned=*/true);
//   if (cloner.cloneBody(*loop.getBody())) Value sum = cloner.vector(yielded);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_LANEVALUES_H
#define MINIGPTC_COMPILER_TARGET_CPU_LANEVALUES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace minigptc::cpu {

/// What stands for a value of the scalar body. Exactly one of `scalar` (uniform or
/// linear) and `vector` is set at first; a vector is made of a scalar when needed.
struct Lanes {
  mlir::Value scalar, vector;
  int64_t stride = 0;   ///< of a linear value, in units; 0: uniform
  bool aligned = false; ///< linear of stride 1 from a multiple of 16

  bool isUniform() const { return scalar && stride == 0; }
  bool isLinear() const { return scalar && stride != 0; }
};

class LaneCloner {
public:
  explicit LaneCloner(mlir::OpBuilder &builder) : builder(builder) {}

  void bindIndex(mlir::Value from, mlir::Value scalar, bool aligned) {
    lanes[from] = {scalar, {}, 1, aligned};
  }
  void bindVector(mlir::Value from, mlir::Value vector) { lanes[from] = {{}, vector}; }

  /// Clones all ops but the terminator; false if one has no vector form (what was
  /// built stays behind).
  bool cloneBody(mlir::Block &body);
  /// The value's 16 lanes.
  mlir::Value vector(mlir::Value from);

private:
  bool clone(mlir::Operation *op);
  bool cloneUniform(mlir::Operation *op);
  bool cloneLinear(mlir::Operation *op);
  bool cloneElementwise(mlir::Operation *op);
  bool cloneSum(mlir::Operation *op, bool subtracts);
  bool cloneProduct(mlir::arith::MulIOp op);
  bool cloneCast(mlir::Operation *op);
  bool cloneBlockDivision(mlir::Operation *op, bool isRemainder);
  bool cloneBlockCompare(mlir::arith::CmpIOp op);
  bool cloneAddress(mlir::LLVM::GEPOp op);
  bool cloneLoad(mlir::LLVM::LoadOp op);
  bool cloneStore(mlir::LLVM::StoreOp op);
  bool clonePrefetch(mlir::LLVM::Prefetch op);
  bool cloneCall(mlir::Operation *op);
  bool cloneIf(mlir::scf::IfOp op);
  bool cloneUniformIf(mlir::scf::IfOp op);
  bool cloneMasked(mlir::Block &body, mlir::Value mask);
  bool cloneFor(mlir::scf::ForOp op);

  const Lanes &get(mlir::Value from);
  mlir::Operation *cloneScalar(mlir::Operation *op);
  mlir::Value scalarIn(mlir::Value from, int64_t lane);
  mlir::Value lanesOf(mlir::Location loc, llvm::ArrayRef<mlir::Value> scalars);

  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, Lanes> lanes;
  mlir::Value mask; ///< the lanes that are active; null: all
};

/// vector<16xT>
mlir::VectorType laneType(mlir::Type scalar);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_LANEVALUES_H
