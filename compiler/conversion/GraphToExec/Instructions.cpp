//===- Instructions.cpp - instructions of ops between kernels -------------===//
#include "compiler/conversion/GraphToExec/Instructions.h"

#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/Transforms/GemmForm.h"

using namespace mlir;
using namespace minigptc;

/// What a buffer is made of: a place in the frame, or an argument; an output that is a
/// donated input's memory counts as that input.
static std::pair<Value, int64_t> findMemory(Value buffer) {
  while (auto view = buffer.getDefiningOp<exec::ViewOp>())
    buffer = view.getSource();
  if (auto frame = buffer.getDefiningOp<exec::FrameOp>())
    return {Value(), int64_t(frame.getOffset())};
  auto argument = dyn_cast<BlockArgument>(buffer);
  auto block = argument ? dyn_cast<exec::BlockOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (!block)
    return {buffer, 0};
  for (unsigned input = 0; input < block.getNumInputs(); ++input)
    if (auto donate = block.getArgAttrOfType<IntegerAttr>(input, graph::attr::kDonate);
        donate && block.getNumInputs() + donate.getInt() == argument.getArgNumber())
      return {block.getArgument(input), 0};
  return {buffer, 0};
}

void minigptc::emitCopyUnlessSame(OpBuilder &builder, Location loc, Value source, Value target) {
  if (findMemory(source) != findMemory(target))
    exec::CopyOp::create(builder, loc, source, target);
}

namespace {
LogicalResult emitGemm(Operation *op, OpBuilder &builder, Value lhs, Value rhs, Value out,
                       double beta, exec::Epilogue epilogue = exec::Epilogue::none,
                       Value vector = nullptr) {
  auto form = graph::getGemmForm(op);
  if (!form)
    return op->emitOpError("is no product that a GEMM computes; --graph-canonicalize-dots and "
                           "--graph-fuse come before");
  auto isF32 = [](Value matrix) {
    return cast<ShapedType>(matrix.getType()).getElementType().isF32();
  };
  bool tf32 =
      op->getParentOfType<ModuleOp>()->hasAttr(graph::attr::kTf32) && isF32(lhs) && isF32(rhs);
  exec::GemmOp::create(builder, op->getLoc(), lhs, rhs, out, vector, form->m, form->n, form->k,
                       form->batch, form->lhsStrides, form->rhsStrides, form->outStrides,
                       form->lhsBatchStrides, form->rhsBatchStrides, form->outBatchStrides,
                       llvm::APFloat(beta), tf32, epilogue);
  return success();
}

struct GemmInstruction : graph::InstructionOp::ExternalModel<GemmInstruction, graph::DotGeneralOp> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::compute;
  }

  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    return emitGemm(op, builder, inputs[0], inputs[1], outputs[0], 0);
  }
};

struct AccumulateInstruction
    : graph::InstructionOp::ExternalModel<AccumulateInstruction, graph::DotAccumulateOp> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::compute;
  }
  std::optional<unsigned> getOperandInPlace(Operation *, unsigned) const { return 0; }

  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    emitCopyUnlessSame(builder, op->getLoc(), inputs[0], outputs[0]);
    return emitGemm(op, builder, inputs[1], inputs[2], outputs[0], 1);
  }
};

struct BiasInstruction : graph::InstructionOp::ExternalModel<BiasInstruction, graph::DotBiasOp> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::compute;
  }
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    return emitGemm(op, builder, inputs[0], inputs[1], outputs[0], 0, exec::Epilogue::bias,
                    inputs[2]);
  }
};

struct SumsInstruction : graph::InstructionOp::ExternalModel<SumsInstruction, graph::DotSumsOp> {
  graph::InstructionKind getInstructionKind(Operation *) const {
    return graph::InstructionKind::compute;
  }
  LogicalResult emitInstruction(Operation *op, OpBuilder &builder, ValueRange inputs,
                                ValueRange outputs) const {
    return emitGemm(op, builder, inputs[0], inputs[1], outputs[0], 0, exec::Epilogue::sums,
                    outputs[1]);
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
    graph::DotAccumulateOp::attachInterface<AccumulateInstruction>(*context);
    graph::DotBiasOp::attachInterface<BiasInstruction>(*context);
    graph::DotSumsOp::attachInterface<SumsInstruction>(*context);
    graph::ReshapeOp::attachInterface<ViewInstruction>(*context);
    graph::HostCallOp::attachInterface<HostInstruction>(*context);
  });
}
