//===- Structure.cpp - ops that hold or call other ops --------------------===//
#include "compiler/interpreter/Evaluation.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/interpreter/Models.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

static LogicalResult evaluateFusion(FusionOp op, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  return evaluateRegion(op.getBody(), operands, results);
}

/// A scalar of another float type.
static Tensor convertScalar(const Tensor &scalar, Type elementType) {
  Tensor result(RankedTensorType::get({}, elementType));
  result.setFloat(0, scalar.getFloat(0));
  return result;
}

static LogicalResult evaluateHostCall(HostCallOp op, ArrayRef<Tensor> operands,
                                      SmallVectorImpl<Tensor> &results) {
  Operation *callee = SymbolTable::lookupNearestSymbolFrom(op, op.getCalleeAttr());
  if (!isa_and_nonnull<CallableOpInterface>(callee))
    return op.emitError("calls @") << op.getCallee() << ", which the module does not have";
  SmallVector<Tensor> arguments, values;
  for (const Tensor &operand : operands)
    arguments.push_back(convertScalar(operand, Float64Type::get(op.getContext())));
  if (failed(evaluateCallable(callee, op, arguments, values)))
    return failure();
  for (auto [index, value] : llvm::enumerate(values))
    results.push_back(convertScalar(value, resultType(op, index).getElementType()));
  return success();
}

static LogicalResult evaluateVjp(VjpOp op, ArrayRef<Tensor>, SmallVectorImpl<Tensor> &) {
  return op.emitError("the interpreter does not differentiate; run --graph-autodiff first");
}

void interpreter::attachStructureModels(MLIRContext *context) {
  attachModel<FusionOp, evaluateFusion>(context);
  attachModel<HostCallOp, evaluateHostCall>(context);
  attachModel<VjpOp, evaluateVjp>(context);
}

void interpreter::registerEvaluableModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, GraphDialect *) {
    attachUnaryModels(context);
    attachBinaryModels(context);
    attachSelectionModels(context);
    attachShapeModels(context);
    attachReductionModels(context);
    attachDotModels(context);
    attachGatherModels(context);
    attachRandomModels(context);
    attachActivationModels(context);
    attachNormalizationModels(context);
    attachAttentionModels(context);
    attachLinearCrossEntropyModels(context);
    attachStructureModels(context);
  });
  registry.addExtension(
      +[](MLIRContext *context, dist::DistDialect *) { attachShardingModels(context); });
}
