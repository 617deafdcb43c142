//===- LowerAllSlices.cpp - --lower-all-slices ----------------------------===//
#include "compiler/conversion/GraphToExec/Passes.h"
#include "dialects/dist/IR/Dist.h"

namespace minigptc {
#define GEN_PASS_DEF_LOWERALLSLICES
#include "compiler/conversion/GraphToExec/Passes.h.inc"
} // namespace minigptc

using namespace mlir;
using namespace minigptc;

namespace {
Value scalar(OpBuilder &builder, Location loc, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return graph::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
}

/// The part number `index` of a tensor that is cut along `dim`.
Value emitSlice(OpBuilder &builder, Location loc, Value tensor, RankedTensorType part, int64_t dim,
                Value index) {
  SmallVector<Value> start(part.getRank());
  for (int64_t d = 0; d < part.getRank(); ++d)
    start[d] = d != dim ? scalar(builder, loc, 0)
                        : Value(graph::MultiplyOp::create(
                              builder, loc, index, scalar(builder, loc, part.getDimSize(dim))));
  return graph::DynamicSliceOp::create(builder, loc, part, tensor, start,
                                       builder.getDenseI64ArrayAttr(part.getShape()));
}

struct LowerAllSlices : minigptc::impl::LowerAllSlicesBase<LowerAllSlices> {
  void runOnOperation() override {
    SmallVector<dist::AllSliceOp> slices;
    getOperation()->walk([&](dist::AllSliceOp op) { slices.push_back(op); });
    for (dist::AllSliceOp op : slices) {
      OpBuilder builder(op);
      Value index = dist::AxisIndexOp::create(builder, op.getLoc(),
                                              RankedTensorType::get({}, builder.getI64Type()),
                                              op.getMeshAttr(), op.getAxes());
      for (auto [i, input] : llvm::enumerate(op.getInputs())) {
        auto part = cast<RankedTensorType>(op.getOutputs()[i].getType());
        op.getOutputs()[i].replaceAllUsesWith(
            emitSlice(builder, op.getLoc(), input, part, op.getDims()[i], index));
      }
      op.erase();
    }
  }
};
} // namespace
