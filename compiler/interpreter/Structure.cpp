//===- Structure.cpp - ops that hold or call other ops --------------------===//
#include "compiler/interpreter/Evaluation.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/interpreter/Models.h"
#include "dialects/dist/IR/Dist.h"

#include <cstring>

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

/// Part `number` of `count` along dimension 0: a run of memory.
static Tensor cutPart(const Tensor &whole, int64_t number, RankedTensorType type) {
  Tensor part(type);
  std::memcpy(part.mutableData(), whole.data() + number * part.getNumBytes(), part.getNumBytes());
  return part;
}

static LogicalResult evaluateScan(ScanOp op, ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
  if (!callee)
    return op.emitError("calls @") << op.getCallee() << ", which the module does not have";
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    auto carried = op.getCarriedOperand(i);
    results.push_back(carried ? operands[*carried] : Tensor(resultType(op, i)));
  }
  SmallVector<Tensor> arguments(operands);
  for (int64_t call = 0; call < op.getTripCount(); ++call) {
    for (auto [i, operand] : llvm::enumerate(operands))
      if (op.isCutOperand(i))
        arguments[i] = cutPart(operand, call, cast<RankedTensorType>(callee.getArgumentTypes()[i]));
    for (auto [i, result] : llvm::enumerate(results))
      if (auto carried = op.getCarriedOperand(i))
        arguments[*carried] = result;
    SmallVector<Tensor> made;
    if (failed(evaluateCallable(callee, op, arguments, made)))
      return failure();
    for (auto [i, part] : llvm::enumerate(made)) {
      if (op.getCarriedOperand(i))
        results[i] = part;
      else
        std::memcpy(results[i].mutableData() + call * part.getNumBytes(), part.data(),
                    part.getNumBytes());
    }
  }
  return success();
}

static LogicalResult evaluateVjp(VjpOp op, ArrayRef<Tensor>, SmallVectorImpl<Tensor> &) {
  return op.emitError("the interpreter does not differentiate; run --graph-autodiff first");
}

void interpreter::attachStructureModels(MLIRContext *context) {
  attachModel<FusionOp, evaluateFusion>(context);
  attachModel<HostCallOp, evaluateHostCall>(context);
  attachModel<ScanOp, evaluateScan>(context);
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
