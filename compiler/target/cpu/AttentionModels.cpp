//===- AttentionModels.cpp - the interface of attention's kernels ---------===//
#include "compiler/target/cpu/AttentionKernel.h"
#include "compiler/target/cpu/WholeKernels.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;
using target::describe;
using target::findBuffers;

namespace {
template <typename OpTy, AttentionPass pass>
struct Model : graph::WholeKernelOp::ExternalModel<Model<OpTy, pass>, OpTy> {
  bool hasWholeKernel(Operation *op) const {
    AttentionProblem problem = describe(cast<OpTy>(op));
    bool isEmpty = problem.batch * problem.queries * problem.keys * problem.heads == 0 ||
                   problem.width * problem.valueWidth == 0;
    return !isEmpty && !cast<OpTy>(op).getQuery().getType().getElementType().isF16();
  }

  graph::WholeKernelPlan planWholeKernel(Operation *op) const {
    AttentionProblem problem = describe(cast<OpTy>(op));
    AttentionLayout layout(problem, pass, /*vectorBits=*/256);
    int64_t items = pass == AttentionPass::forward
                        ? problem.batch * problem.heads * layout.numBlocks
                        : problem.batch * problem.groups;
    return {items, /*grain=*/1, layout.size * problem.element.getIntOrFloatBitWidth() / 8};
  }

  void emitWholeKernel(Operation *op, OpBuilder &builder, ValueRange buffers, Value begin,
                       Value end, Value scratch, int64_t vectorBits) const {
    auto attention = cast<OpTy>(op);
    AttentionProblem problem = describe(attention);
    AttentionLayout layout(problem, pass, vectorBits);
    AttentionEmitter emitter(builder, builder.getUnknownLoc(), problem, layout,
                             findBuffers(attention, buffers), scratch);
    if (pass == AttentionPass::forward)
      emitter.emitForward(begin, end);
    else
      emitter.emitBackward(begin, end);
  }
};
} // namespace

void minigptc::cpu::attachAttentionKernels(MLIRContext *context) {
  graph::AttentionOp::attachInterface<Model<graph::AttentionOp, AttentionPass::forward>>(*context);
  graph::AttentionGradOp::attachInterface<Model<graph::AttentionGradOp, AttentionPass::backward>>(
      *context);
}
