//===- WholeKernels.cpp - attention, forward and backward -----------------===//
#include "compiler/target/cuda/WholeKernels.h"
#include "compiler/target/cuda/AttentionKernel.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;

/// What every GPU from sm_80 on lets a block have, if asked.
static constexpr int64_t kMostSharedBytes = 99 << 10;

namespace {
template <typename OpTy, AttentionPass pass> struct AttentionKernel : WholeKernel {
  bool matches(Operation *op) const override {
    return op->getName().getTypeID() == TypeID::get<OpTy>();
  }

  LogicalResult verify(Operation *op) const override {
    AttentionProblem problem = target::describe(OpTy(op));
    if (problem.element.isF64())
      return op->emitError("no CUDA code for attention in f64: compute it in f32");
    int64_t bytes = AttentionLayout(problem, pass).size * int64_t(sizeof(float));
    if (bytes > kMostSharedBytes)
      return op->emitError() << "no CUDA code for attention of heads as wide as " << problem.width
                             << " and " << problem.valueWidth << ": a block would need " << bytes
                             << " bytes of shared memory, and has " << kMostSharedBytes
                             << "; more heads are narrower ones, and target 'cpu' takes any";
    return success();
  }

  Launch plan(Operation *op) const override {
    AttentionLayout layout(target::describe(OpTy(op)), pass);
    return {layout.grid, layout.threads(), layout.size * int64_t(sizeof(float))};
  }

  void emit(Operation *op, OpBuilder &builder, ValueRange buffers, Value shared) const override {
    AttentionProblem problem = target::describe(OpTy(op));
    AttentionLayout layout(problem, pass);
    AttentionEmitter emitter(builder, op->getLoc(), problem, layout,
                             target::findBuffers(OpTy(op), buffers), shared);
    if (pass == AttentionPass::forward)
      emitter.emitForward();
    else
      emitter.emitBackward();
  }
};
} // namespace

const WholeKernel *minigptc::cuda::findWholeKernel(Operation *op) {
  static const AttentionKernel<graph::AttentionOp, AttentionPass::forward> forward;
  static const AttentionKernel<graph::AttentionGradOp, AttentionPass::backward> backward;
  for (const WholeKernel *kernel : {static_cast<const WholeKernel *>(&forward),
                                    static_cast<const WholeKernel *>(&backward)})
    if (kernel->matches(op))
      return kernel;
  return nullptr;
}
