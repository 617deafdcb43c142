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

/// Calls a function of the module.
static LogicalResult callFunction(Operation *op, FlatSymbolRefAttr name, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
  if (!callee)
    return op->emitError("calls ") << name << ", which the module does not have";
  return evaluateCallable(callee, op, operands, results);
}

static LogicalResult evaluateCond(CondOp op, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  FlatSymbolRefAttr branch = operands[0].getInt(0) ? op.getOnTrueAttr() : op.getOnFalseAttr();
  return callFunction(op, branch, operands.drop_front(), results);
}

static LogicalResult evaluateWhile(WhileOp op, ArrayRef<Tensor> operands,
                                   SmallVectorImpl<Tensor> &results) {
  SmallVector<Tensor> arguments(operands);
  size_t constants = op.getConstants().size();
  for (;;) {
    SmallVector<Tensor> holds, next;
    if (failed(callFunction(op, op.getConditionAttr(), arguments, holds)))
      return failure();
    if (!holds[0].getInt(0))
      break;
    if (failed(callFunction(op, op.getBodyAttr(), arguments, next)))
      return failure();
    llvm::copy(next, arguments.begin() + constants);
  }
  results.append(arguments.begin() + constants, arguments.end());
  return success();
}

static LogicalResult evaluateVjp(VjpOp op, ArrayRef<Tensor>, SmallVectorImpl<Tensor> &) {
  return op.emitError("the interpreter does not differentiate; run --graph-autodiff first");
}

void interpreter::attachStructureModels(MLIRContext *context) {
  attachModel<FusionOp, evaluateFusion>(context);
  attachModel<HostCallOp, evaluateHostCall>(context);
  attachModel<CondOp, evaluateCond>(context);
  attachModel<WhileOp, evaluateWhile>(context);
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
