//===- Models.h - attaching evaluation to ops -------------------*- C++ -*-===//
//
// One function per op family, each in the file of its name; `attachModel` turns
// a plain function into the `EvaluableOp` model of an op:
//
//   static LogicalResult evaluateIota(IotaOp op, ArrayRef<Tensor> operands,
//                                     SmallVectorImpl<Tensor> &results);
//   attachModel<IotaOp, evaluateIota>(context);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_MODELS_H
#define MINIGPTC_COMPILER_INTERPRETER_MODELS_H

#include "compiler/interpreter/Tensor.h"
#include "dialects/graph/IR/Graph.h"

namespace minigptc::interpreter {

template <typename OpTy, auto evaluateFn>
struct Model : graph::EvaluableOp::ExternalModel<Model<OpTy, evaluateFn>, OpTy> {
  llvm::LogicalResult evaluate(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
                               llvm::SmallVectorImpl<Tensor> &results) const {
    return evaluateFn(mlir::cast<OpTy>(op), operands, results);
  }
};

template <typename OpTy, auto evaluateFn> void attachModel(mlir::MLIRContext *context) {
  OpTy::template attachInterface<Model<OpTy, evaluateFn>>(*context);
}

/// The type of an op's only (or first) result.
inline mlir::RankedTensorType resultType(mlir::Operation *op, unsigned result = 0) {
  return mlir::cast<mlir::RankedTensorType>(op->getResult(result).getType());
}

void attachUnaryModels(mlir::MLIRContext *context);
void attachBinaryModels(mlir::MLIRContext *context);
void attachSelectionModels(mlir::MLIRContext *context); ///< compare, select, clamp, convert
void attachShapeModels(mlir::MLIRContext *context);
void attachReductionModels(mlir::MLIRContext *context);
void attachDotModels(mlir::MLIRContext *context);
void attachGatherModels(mlir::MLIRContext *context);        ///< gather, scatter, embedding
void attachRandomModels(mlir::MLIRContext *context);        ///< and dropout
void attachActivationModels(mlir::MLIRContext *context);    ///< and adamw_update
void attachNormalizationModels(mlir::MLIRContext *context); ///< norms, softmax, rope, cross-entropy
void attachAttentionModels(mlir::MLIRContext *context);
void attachLinearCrossEntropyModels(mlir::MLIRContext *context);
void attachStructureModels(mlir::MLIRContext *context);
void attachShardingModels(mlir::MLIRContext *context); ///< constraint, reshard, manual, collectives

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_MODELS_H
