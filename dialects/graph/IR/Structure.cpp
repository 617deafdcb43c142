//===- Structure.cpp - verifiers of ops that hold or call other ops -------===//
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

/// The function called, or an error at the call.
static FailureOr<func::FuncOp> lookupCallee(Operation *op, FlatSymbolRefAttr callee,
                                            SymbolTableCollection &tables) {
  auto function = tables.lookupNearestSymbolFrom<func::FuncOp>(op, callee);
  if (!function)
    return op->emitOpError() << "calls " << callee << ", but there is no such function";
  return function;
}

/// Fails unless `given` are the types `expected` by the function.
static LogicalResult checkTypes(Operation *op, func::FuncOp function, StringRef what,
                                TypeRange given, TypeRange expected) {
  auto fail = [&](auto &&...parts) -> LogicalResult {
    InFlightDiagnostic error = op->emitOpError();
    (error << ... << parts);
    error.attachNote(function.getLoc()) << "@" << function.getSymName() << " is defined here";
    return error;
  };
  if (given.size() != expected.size())
    return fail("has ", given.size(), " ", what, "s, but @", function.getSymName(), " asks for ",
                expected.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i] != expected[i])
      return fail(what, " ", i, " is ", describe(given[i]), ", but @", function.getSymName(),
                  " asks for ", describe(expected[i]));
  return success();
}

LogicalResult VjpOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto function = lookupCallee(*this, getCalleeAttr(), tables);
  if (failed(function))
    return failure();
  FunctionType type = function->getFunctionType();
  if (failed(checkTypes(*this, *function, "input", getInputs().getTypes(), type.getInputs())) ||
      failed(checkTypes(*this, *function, "cotangent", getCotangents().getTypes(),
                        type.getResults())) ||
      failed(OpChecker(*this).checkDims(getWrt(), type.getNumInputs(), "wrt")))
    return failure();
  SmallVector<Type> outputs(type.getResults());
  for (int64_t input : getWrt()) {
    outputs.push_back(type.getInput(input));
    if (!isa<FloatType>(getElementTypeOrSelf(outputs.back())))
      return emitOpError() << "cannot differentiate with respect to input " << input << " "
                           << describe(outputs.back()) << ": only floats have gradients";
  }
  return checkTypes(*this, *function, "output", getOutputs().getTypes(), outputs);
}

FlatSymbolRefAttr ScanOp::getLoopBody() { return getCalleeAttr(); }
void ScanOp::setLoopBody(FlatSymbolRefAttr body) { setCalleeAttr(body); }
int64_t ScanOp::getTripCount() { return int64_t(getCount()); }
bool ScanOp::isReversed() { return getReverse(); }
std::optional<unsigned> ScanOp::getCarriedOperand(unsigned result) {
  if (result < getCarried().size())
    return getConstants().size() + result;
  return std::nullopt;
}
bool ScanOp::isCutOperand(unsigned operand) {
  return operand >= getConstants().size() + getCarried().size();
}
bool ScanOp::isCutResult(unsigned result) { return result >= getCarried().size(); }

/// The types that a scan's operands or results have by its body's: those that are cut
/// are `count` times as long along dimension 0.
static SmallVector<Type> getWholeTypes(TypeRange parts, int64_t count,
                                       function_ref<bool(unsigned)> isCut) {
  SmallVector<Type> types(parts);
  for (auto [i, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!isCut(i) || !tensor || tensor.getRank() == 0)
      continue;
    SmallVector<int64_t> shape(tensor.getShape());
    shape[0] *= count;
    type = tensor.clone(shape);
  }
  return types;
}

LogicalResult ScanOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto function = lookupCallee(*this, getCalleeAttr(), tables);
  if (failed(function))
    return failure();
  if (getTripCount() < 1)
    return emitOpError() << "has the count " << getTripCount() << "; it must be at least 1";
  FunctionType type = function->getFunctionType();
  auto whole = [&](TypeRange parts, auto isCut) {
    return getWholeTypes(parts, getTripCount(), isCut);
  };
  if (failed(checkTypes(*this, *function, "operand", getOperandTypes(),
                        whole(type.getInputs(), [&](unsigned i) { return isCutOperand(i); }))) ||
      failed(checkTypes(*this, *function, "result", getResultTypes(),
                        whole(type.getResults(), [&](unsigned i) { return isCutResult(i); }))))
    return failure();
  auto fail = [&](const Twine &message) -> LogicalResult {
    InFlightDiagnostic error = emitOpError(message);
    error.attachNote(function->getLoc()) << "@" << function->getSymName() << " is defined here";
    return error;
  };
  auto isScalar = [](Type type) { return cast<RankedTensorType>(type).getRank() == 0; };
  if (llvm::any_of(getCut().getTypes(), isScalar) ||
      llvm::any_of(getOutputs().drop_front(getCarried().size()).getTypes(), isScalar))
    return fail("cuts or stacks a scalar, which has no dimension 0");
  for (unsigned i = 0; i < type.getNumInputs(); ++i) {
    auto donate = function->getArgAttrOfType<IntegerAttr>(i, attr::kDonate);
    unsigned number = i - getConstants().size();
    bool isCarried = i >= getConstants().size() && number < getCarried().size();
    if (isCarried ? !donate || donate.getInt() != int64_t(number) : bool(donate))
      return fail("calls @" + function->getSymName() + ", whose argument " + Twine(i) +
                  (isCarried ? " is carried and needs " + attr::kDonate + " = " + Twine(number)
                             : " is not carried and must not have " + Twine(attr::kDonate)));
  }
  return success();
}

/// An i1 scalar.
static bool isPredicate(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && tensor.getElementType().isInteger(1);
}

LogicalResult CondOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!isPredicate(getPredicate().getType()))
    return emitOpError() << "has the predicate " << describe(getPredicate().getType())
                         << "; it must be an i1 scalar";
  for (FlatSymbolRefAttr branch : {getOnTrueAttr(), getOnFalseAttr()}) {
    auto function = lookupCallee(*this, branch, tables);
    if (failed(function) ||
        failed(checkTypes(*this, *function, "input", getInputs().getTypes(),
                          function->getArgumentTypes())) ||
        failed(checkTypes(*this, *function, "output", getOutputs().getTypes(),
                          function->getResultTypes())))
      return failure();
  }
  return success();
}

LogicalResult WhileOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto condition = lookupCallee(*this, getConditionAttr(), tables);
  auto body = lookupCallee(*this, getBodyAttr(), tables);
  if (failed(condition) || failed(body))
    return failure();
  for (func::FuncOp function : {*condition, *body})
    if (failed(checkTypes(*this, function, "operand", getOperandTypes(),
                          function.getArgumentTypes())))
      return failure();
  if (failed(checkTypes(*this, *body, "result", getResultTypes(), body->getResultTypes())))
    return failure();
  auto fail = [&](func::FuncOp function, const Twine &message) -> LogicalResult {
    InFlightDiagnostic error = emitOpError(message);
    error.attachNote(function.getLoc()) << "@" << function.getSymName() << " is defined here";
    return error;
  };
  if (condition->getNumResults() != 1 || !isPredicate(condition->getResultTypes()[0]))
    return fail(*condition, "needs a condition that gives an i1 scalar, which @" +
                                condition->getSymName() + " does not");
  for (unsigned i = 0; i < body->getNumArguments(); ++i) {
    auto donate = body->getArgAttrOfType<IntegerAttr>(i, attr::kDonate);
    unsigned number = i - getConstants().size();
    bool isCarried = i >= getConstants().size();
    if (isCarried ? !donate || donate.getInt() != int64_t(number) : bool(donate))
      return fail(*body, "calls @" + body->getSymName() + ", whose argument " + Twine(i) +
                             (isCarried ? " is carried and needs " + attr::kDonate + " = " +
                                              Twine(number)
                                        : " is not carried and must not have " +
                                              Twine(attr::kDonate)));
  }
  return success();
}

LogicalResult WhileOp::buildVjp(OpBuilder &, ArrayRef<Value>, ArrayRef<bool>,
                                MutableArrayRef<Value>) {
  return emitError("a while loop has no derivative: how often it runs is known only when it has "
                   "run, and so is what its gradient would need; a scan has one, and a foriLoop "
                   "between numbers");
}

LogicalResult HostCallOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto function = lookupCallee(*this, getCalleeAttr(), tables);
  if (failed(function))
    return failure();
  auto fail = [&](const Twine &message) -> LogicalResult {
    InFlightDiagnostic error = emitOpError(message);
    error.attachNote(function->getLoc()) << "@" << function->getSymName() << " is defined here";
    return error;
  };
  if (!(*function)->hasAttr(attr::kHost))
    return fail("calls @" + function->getSymName() + ", which is not marked " + attr::kHost);
  auto isF64Scalar = [](Type type) {
    return type == RankedTensorType::get({}, Float64Type::get(type.getContext()));
  };
  if (!llvm::all_of(function->getArgumentTypes(), isF64Scalar) ||
      !llvm::all_of(function->getResultTypes(), isF64Scalar))
    return fail("calls @" + function->getSymName() + ", which is not of f64 scalars only");
  if (getInputs().size() != function->getNumArguments() ||
      getOutputs().size() != function->getNumResults())
    return fail("has " + Twine(getInputs().size()) + " inputs and " + Twine(getOutputs().size()) +
                " outputs, but @" + function->getSymName() + " has " +
                Twine(function->getNumArguments()) + " and " + Twine(function->getNumResults()));
  OpChecker check(*this);
  for (Value value : getInputs())
    if (failed(check.checkScalar(value, "input")))
      return failure();
  for (Value value : getOutputs())
    if (failed(check.checkScalar(value, "output")))
      return failure();
  return success();
}

LogicalResult FusionOp::verify() {
  Block &body = getBody().front();
  auto same = [&](TypeRange inside, TypeRange outside, StringRef what) -> LogicalResult {
    if (inside.size() != outside.size())
      return emitOpError() << "has " << outside.size() << " " << what << "s, but its region has "
                           << inside.size();
    for (size_t i = 0; i < inside.size(); ++i)
      if (inside[i] != outside[i])
        return emitOpError() << what << " " << i << " is " << describe(outside[i])
                             << ", but in its region " << describe(inside[i]);
    return success();
  };
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError("must end in graph.yield");
  if (failed(same(body.getArgumentTypes(), getInputs().getTypes(), "input")) ||
      failed(same(yield.getOperandTypes(), getOutputs().getTypes(), "output")))
    return failure();
  for (Operation &op : body.without_terminator())
    if (!isa<FusibleOp>(op)) {
      InFlightDiagnostic error = emitOpError()
                                 << "holds '" << op.getName() << "', which cannot be fused";
      error.attachNote(op.getLoc()) << "the op is here";
      return error;
    }
  return success();
}
