//===- BatchStructure.cpp - calls, loops and branches of many examples ----===//
//
// A loop or a branch that all examples take alike stays one, of batched functions. Where the
// predicate differs between examples both branches are computed, and a `while` goes on until the
// last example is done: what is done keeps its values.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Batching.h"
#include "dialects/graph/IR/Diagnostics.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// A private function under construction.
class FunctionDraft {
public:
  FunctionDraft(Batch &batch, TypeRange types)
      : batcher(batch.batcher),
        function(func::FuncOp::create(batch.b.getLoc(), "draft",
                                      FunctionType::get(batch.b.getContext(), types, {}))),
        builder(OpBuilder::atBlockEnd(function.addEntryBlock())), b(builder, function.getLoc()) {
    function.setPrivate();
  }

  ValueRange arguments() { return function.getArguments(); }
  ValueRange call(const BatchedFunction &callee, ValueRange operands) {
    return func::CallOp::create(builder, function.getLoc(), callee.function, operands).getResults();
  }
  /// Arguments from `first` on are carried: result i takes over the memory of the i-th.
  func::FuncOp finish(StringRef name, ValueRange results, size_t first = 0, size_t carried = 0) {
    func::ReturnOp::create(builder, function.getLoc(), results);
    function.setType(
        FunctionType::get(builder.getContext(), arguments().getTypes(), results.getTypes()));
    for (size_t i = 0; i < carried; ++i)
      function.setArgAttr(first + i, attr::kDonate, builder.getI64IntegerAttr(int64_t(i)));
    return batcher.add(function, name);
  }

private:
  Batcher &batcher;
  func::FuncOp function;
  OpBuilder builder;

public:
  GraphBuilder b;
};

SmallVector<bool> flagsOf(ArrayRef<BatchedValue> values) {
  return llvm::map_to_vector(values, [](const BatchedValue &value) { return value.isBatched; });
}
/// As they are, or with all examples where `wanted` says so.
SmallVector<Value> valuesOf(Batch &batch, ArrayRef<BatchedValue> values, ArrayRef<bool> wanted) {
  SmallVector<Value> result;
  for (auto [value, all] : llvm::zip_equal(values, wanted))
    result.push_back(all ? batch.all(value) : value.value);
  return result;
}
BatchedValues tagged(ValueRange values, ArrayRef<bool> isBatched) {
  BatchedValues result;
  for (auto [value, batched] : llvm::zip_equal(values, isBatched))
    result.push_back({value, batched});
  return result;
}
/// Whether some become true that were not.
bool join(MutableArrayRef<bool> into, ArrayRef<bool> from) {
  bool grows = false;
  for (auto [flag, other] : llvm::zip(into, from)) {
    grows |= other && !flag;
    flag |= other;
  }
  return grows;
}
SmallVector<bool> together(ArrayRef<bool> a, ArrayRef<bool> b, ArrayRef<bool> c = {}) {
  SmallVector<bool> all(a);
  llvm::append_range(all, b);
  llvm::append_range(all, c);
  return all;
}
/// A predicate of each example, for the elements of a tensor of all.
Value selectExamples(GraphBuilder &b, Value predicate, Value onTrue, Value onFalse) {
  return b.select(b.broadcast(predicate, 0, shapeOf(onTrue)), onTrue, onFalse);
}

} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static FailureOr<BatchedValues> batchCall(func::CallOp op, Batch &batch) {
  SmallVector<bool> flags = flagsOf(batch.getOperands());
  auto all = batch.batcher.batch(batch.batcher.lookup(op.getCallee()), flags);
  if (failed(all))
    return failure();
  auto call = func::CallOp::create(batch.b.getBuilder(), op.getLoc(), all->function,
                                   valuesOf(batch, batch.getOperands(), flags));
  return tagged(call.getResults(), all->isBatched);
}

/// An argument that all examples share has a gradient in each: it is batched before. A result that
/// is the same for all (a sum over them) is one number, and so is its cotangent.
static FailureOr<BatchedValues> batchVjp(VjpOp op, Batch &batch) {
  SmallVector<bool> flags = batch.flags(op.getInputs());
  for (int64_t number : op.getWrt())
    flags[size_t(number)] = true;
  auto all = batch.batcher.batch(batch.batcher.lookup(op.getCallee()), flags,
                                 batch.flags(op.getCotangents()));
  if (failed(all))
    return failure();
  SmallVector<bool> isBatched(all->isBatched);
  isBatched.append(op.getWrt().size(), true);
  SmallVector<Type> types(op.getResultTypes());
  for (auto [type, batched] : llvm::zip_equal(types, isBatched))
    if (batched)
      type = batch.withExamples(type);
  auto made = VjpOp::create(batch.b.getBuilder(), op.getLoc(), types, all->function.getSymName(),
                            valuesOf(batch, batch.getOperands(op.getInputs()), flags),
                            valuesOf(batch, batch.getOperands(op.getCotangents()), all->isBatched),
                            op.getWrt());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return tagged(made.getResults(), isBatched);
}

/// The host has no tensors: devices compute what depends on the example, in f64 as well.
static FailureOr<BatchedValues> batchHostCall(HostCallOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  BatchedValues arguments(batch.getOperands());
  for (BatchedValue &argument : arguments)
    argument.value = b.convert(argument.value, b.getBuilder().getF64Type());
  auto results =
      batch.batcher.inlineBody(b.getBuilder(), batch.batcher.lookup(op.getCallee()), arguments);
  if (failed(results))
    return failure();
  for (auto [result, type] : llvm::zip_equal(*results, op.getResultTypes()))
    result.value = b.convert(result.value, cast<RankedTensorType>(type).getElementType());
  return results;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// [n, B, …] of parts as [B, n, …], and the other way.
static Value swapExamples(GraphBuilder &b, Value value) {
  SmallVector<int64_t> permutation = range(0, rankOf(value));
  std::swap(permutation[0], permutation[1]);
  SmallVector<int64_t> shape(shapeOf(value));
  std::swap(shape[0], shape[1]);
  return shape[0] == 1 || shape[1] == 1 ? b.reshape(value, shape) : b.transpose(value, permutation);
}

/// Parts are along dimension 0 in a loop, where the examples are elsewhere.
static FailureOr<BatchedValues> batchScan(ScanOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  func::FuncOp body = batch.batcher.lookup(op.getCallee());
  size_t numConstants = op.getConstants().size(), numCarried = op.getCarried().size();
  SmallVector<bool> constants = batch.flags(op.getConstants()),
                    carried = batch.flags(op.getCarried()), cut = batch.flags(op.getCut()), wanted;
  FailureOr<BatchedFunction> all;
  do {
    wanted = carried;
    wanted.resize(op.getNumResults(), false);
    all = batch.batcher.batch(body, together(constants, carried, cut), wanted);
    if (failed(all))
      return failure();
  } while (join(carried, all->isBatched));

  SmallVector<Type> types(all->function.getArgumentTypes());
  for (auto [i, isBatched] : llvm::enumerate(cut))
    if (Type &type = types[numConstants + numCarried + i]; isBatched) {
      SmallVector<int64_t> shape(cast<RankedTensorType>(type).getShape());
      std::swap(shape[0], shape[1]);
      type = cast<RankedTensorType>(type).clone(shape);
    }
  FunctionDraft draft(batch, types);
  SmallVector<Value> arguments(draft.arguments());
  for (auto [i, isBatched] : llvm::enumerate(cut))
    if (Value &part = arguments[numConstants + numCarried + i]; isBatched)
      part = swapExamples(draft.b, part);
  SmallVector<Value> returned(draft.call(*all, arguments));
  SmallVector<Type> results;
  for (auto [i, value] : llvm::enumerate(returned)) {
    if (i >= numCarried && all->isBatched[i])
      value = swapExamples(draft.b, value);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (i >= numCarried)
      shape[0] *= int64_t(op.getCount());
    results.push_back(type.clone(shape));
  }
  func::FuncOp function = draft.finish("scan", returned, numConstants, numCarried);

  SmallVector<Value> parts;
  for (const BatchedValue &value : batch.getOperands(op.getCut()))
    parts.push_back(value.isBatched ? swapExamples(b, value.value) : value.value);
  auto loop = ScanOp::create(b.getBuilder(), op.getLoc(), results, function.getSymName(),
                             valuesOf(batch, batch.getOperands(op.getConstants()), constants),
                             valuesOf(batch, batch.getOperands(op.getCarried()), carried), parts,
                             op.getCount(), op.getReverse());
  BatchedValues made = tagged(loop.getResults(), all->isBatched);
  for (BatchedValue &value : llvm::drop_begin(made, numCarried))
    if (value.isBatched)
      value.value = swapExamples(b, value.value);
  return made;
}

static FailureOr<BatchedValues> batchWhile(WhileOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  func::FuncOp condition = batch.batcher.lookup(op.getCondition());
  func::FuncOp body = batch.batcher.lookup(op.getBody());
  SmallVector<bool> constants = batch.flags(op.getConstants()),
                    carried = batch.flags(op.getCarried());
  FailureOr<BatchedFunction> asked, next;
  do {
    asked = batch.batcher.batch(condition, together(constants, carried));
    if (failed(asked))
      return failure();
    if (asked->isBatched[0])
      carried.assign(carried.size(), true);
    asked = batch.batcher.batch(condition, together(constants, carried), asked->isBatched);
    next = batch.batcher.batch(body, together(constants, carried), carried);
    if (failed(asked) || failed(next))
      return failure();
  } while (join(carried, next->isBatched));

  func::FuncOp holds = asked->function, step = next->function;
  if (asked->isBatched[0]) {
    FunctionDraft any(batch, holds.getArgumentTypes());
    Value each = any.call(*asked, any.arguments())[0];
    holds = any.finish("while_condition", any.b.reduce(ReduceKind::any, each, 0));
    FunctionDraft those(batch, step.getArgumentTypes());
    Value goesOn = those.call(*asked, those.arguments())[0];
    SmallVector<Value> values(those.call(*next, those.arguments()));
    for (auto [value, before] :
         llvm::zip_equal(values, those.arguments().drop_front(constants.size())))
      value = selectExamples(those.b, goesOn, value, before);
    step = those.finish("while_body", values, constants.size(), carried.size());
  }
  SmallVector<Value> start = valuesOf(batch, batch.getOperands(op.getCarried()), carried);
  auto loop = WhileOp::create(
      b.getBuilder(), op.getLoc(), ValueRange(start).getTypes(), holds.getSymName(),
      step.getSymName(), valuesOf(batch, batch.getOperands(op.getConstants()), constants), start);
  return tagged(loop.getResults(), carried);
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

static FailureOr<BatchedValues> batchCond(CondOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  ArrayRef<BatchedValue> inputs = batch.getOperands(op.getInputs());
  SmallVector<bool> flags = flagsOf(inputs);
  SmallVector<Value> operands = valuesOf(batch, inputs, flags);
  SmallVector<bool> wanted(op.getNumResults(), batch.isBatched(0u));
  FailureOr<BatchedFunction> sides[2];
  StringRef names[] = {op.getOnTrue(), op.getOnFalse()};
  for (bool grows = true; grows;) {
    grows = false;
    for (auto [side, name] : llvm::zip_equal(sides, names)) {
      side = batch.batcher.batch(batch.batcher.lookup(name), flags, wanted);
      if (failed(side))
        return failure();
      grows |= join(wanted, side->isBatched);
    }
  }
  func::FuncOp onTrue = sides[0]->function, onFalse = sides[1]->function;
  if (!batch.isBatched(0u)) {
    auto made = CondOp::create(b.getBuilder(), op.getLoc(), onTrue.getResultTypes(), batch.get(0),
                               onTrue.getSymName(), onFalse.getSymName(), operands);
    return tagged(made.getResults(), wanted);
  }
  auto one = func::CallOp::create(b.getBuilder(), op.getLoc(), onTrue, operands);
  auto other = func::CallOp::create(b.getBuilder(), op.getLoc(), onFalse, operands);
  BatchedValues made;
  for (auto [x, y] : llvm::zip_equal(one.getResults(), other.getResults()))
    made.push_back({selectExamples(b, batch.get(0), x, y), true});
  return made;
}

//===----------------------------------------------------------------------===//
// What an example knows of the others
//===----------------------------------------------------------------------===//

LogicalResult GatherExamplesOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  auto operand = cast<RankedTensorType>(getOperand().getType());
  if (type.getElementType() != operand.getElementType() ||
      type.getRank() != operand.getRank() + 1 || type.getShape().drop_front() != operand.getShape())
    return emitOpError() << "gives " << graph::describe(type) << " of " << graph::describe(operand)
                         << ": it must be that with one more dimension before the others";
  return success();
}

namespace {

struct GatherExamplesModel : BatchableOp::ExternalModel<GatherExamplesModel, GatherExamplesOp> {
  bool readsExample(Operation *op, StringRef axis) const {
    return cast<GatherExamplesOp>(op).getAxis() == axis;
  }
  FailureOr<BatchedValues> batch(Operation *op, Batch &batch) const {
    auto gather = cast<GatherExamplesOp>(op);
    if (gather.getAxis() == batch.batcher.getAxis())
      return BatchedValues{{batch.all(0u), false}};
    // Over an outer axis: what is gathered are tensors of all examples of this one.
    RankedTensorType type = gather.getType();
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin() + 1, batch.size());
    Value all = GatherExamplesOp::create(batch.b.getBuilder(), op->getLoc(), type.clone(shape),
                                         batch.get(0), gather.getAxis());
    return BatchedValues{{batch.moveDim(all, 1, 0), true}};
  }
};

struct ExampleIndexModel : BatchableOp::ExternalModel<ExampleIndexModel, ExampleIndexOp> {
  bool readsExample(Operation *op, StringRef axis) const {
    return cast<ExampleIndexOp>(op).getAxis() == axis;
  }
  FailureOr<BatchedValues> batch(Operation *op, Batch &batch) const {
    return BatchedValues{{batch.b.iota(batch.withExamples(op->getResult(0).getType()), 0), true}};
  }
};

} // namespace

void minigptc::graph::attachStructureBatchRules(MLIRContext *context) {
  attachBatchRule<batchCall, func::CallOp>(context);
  attachBatchRule<batchVjp, VjpOp>(context);
  attachBatchRule<batchHostCall, HostCallOp>(context);
  attachBatchRule<batchScan, ScanOp>(context);
  attachBatchRule<batchWhile, WhileOp>(context);
  attachBatchRule<batchCond, CondOp>(context);
  GatherExamplesOp::attachInterface<GatherExamplesModel>(*context);
  ExampleIndexOp::attachInterface<ExampleIndexModel>(*context);
}
