//===- Instructions.cpp - instructions of ops between kernels -------------===//
#include "compiler/conversion/GraphToExec/Instructions.h"

#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/Transforms/GemmForm.h"

using namespace mlir;
using namespace minigptc;

namespace {
struct GemmInstruction : graph::InstructionOp::ExternalModel<GemmInstruction, graph::DotGeneralOp> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::compute;
  }

  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    auto form = graph::getGemmForm(op);
    if (!form)
      return op->emitOpError("is no product that a GEMM computes; --graph-canonicalize-dots and "
                             "--graph-fuse come before");
    exec::GemmOp::create(builder, op->getLoc(), inputs[0], inputs[1], outputs[0], form->m, form->n,
                         form->k, form->batch, form->lhsStrides, form->rhsStrides, form->outStrides,
                         form->lhsBatchStrides, form->rhsBatchStrides, form->outBatchStrides,
                         llvm::APFloat(0.0));
    return success();
  }
};

struct ViewInstruction : graph::InstructionOp::ExternalModel<ViewInstruction, graph::ReshapeOp> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::view;
  }
  LogicalResult emitInstruction(Operation *, OpBuilder &, ValueRange, ValueRange) const {
    return failure();
  }
};

struct HostInstruction : graph::InstructionOp::ExternalModel<HostInstruction, graph::HostCallOp> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::host;
  }

  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    exec::ScalarsOp::create(builder, op->getLoc(), cast<graph::HostCallOp>(op).getCalleeAttr(),
                            inputs, outputs);
    return success();
  }
};
} // namespace

void minigptc::registerInstructionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    graph::DotGeneralOp::attachInterface<GemmInstruction>(*context);
    graph::ReshapeOp::attachInterface<ViewInstruction>(*context);
    graph::HostCallOp::attachInterface<HostInstruction>(*context);
  });
}
