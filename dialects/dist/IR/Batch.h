//===- Batch.h - constraints and collectives of many examples ---*- C++ -*-===//
#ifndef MINIGPTC_DIALECTS_DIST_IR_BATCH_H
#define MINIGPTC_DIALECTS_DIST_IR_BATCH_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace minigptc::dist {

/// Gives the dialect's ops their `BatchableOp`; for the dialect's initialisation.
void attachBatchRules(mlir::MLIRContext *context);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_IR_BATCH_H
