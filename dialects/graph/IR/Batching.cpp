//===- Batching.cpp - functions of one example for many -------------------===//
#include "dialects/graph/IR/Batching.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace minigptc::graph;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

RankedTensorType Batcher::withExamples(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape{size};
  llvm::append_range(shape, tensor.getShape());
  return RankedTensorType::get(shape, tensor.getElementType());
}

func::FuncOp Batcher::lookup(StringRef function) const {
  return mlir::ModuleOp(module).lookupSymbol<func::FuncOp>(function);
}

/// Calls `visit` for each function of the module that an op names.
static void forEachCallee(Operation *op, const Batcher &batcher,
                          function_ref<void(func::FuncOp)> visit) {
  op->getAttrDictionary().walk([&](FlatSymbolRefAttr symbol) {
    if (func::FuncOp callee = batcher.lookup(symbol.getValue()))
      visit(callee);
  });
}

bool Batcher::readsExample(Operation *op) {
  if (auto batchable = dyn_cast<BatchableOp>(op); batchable && batchable.readsExample(axis))
    return true;
  bool any = false;
  forEachCallee(op, *this, [&](func::FuncOp callee) {
    auto [entry, isNew] = reads.try_emplace(callee, false);
    if (isNew) {
      bool inside = llvm::any_of(callee.front(), [&](Operation &op) { return readsExample(&op); });
      reads[callee] = inside; // the entry may have moved
    }
    any |= reads[callee];
  });
  return any;
}

FailureOr<BatchedFunction> Batcher::batch(func::FuncOp function, ArrayRef<bool> isBatched,
                                          ArrayRef<bool> wanted) {
  auto bits = [](ArrayRef<bool> flags) { return std::vector<bool>(flags.begin(), flags.end()); };
  Key key(function, std::pair(bits(isBatched), bits(wanted)));
  if (auto found = known.find(key); found != known.end())
    return found->second;

  SmallVector<Type> types(function.getArgumentTypes());
  for (auto [type, batched] : llvm::zip_equal(types, isBatched))
    if (batched)
      type = withExamples(type);
  MLIRContext *context = function.getContext();
  auto made =
      func::FuncOp::create(function.getLoc(), "batched", FunctionType::get(context, types, {}));
  for (NamedAttribute attribute : function->getDiscardableAttrs())
    if (attribute.getName() != attr::kHost)
      made->setAttr(attribute.getName(), attribute.getValue());
  made.setPrivate();
  if (ArrayAttr attributes = function.getAllArgAttrs())
    made.setAllArgAttrs(attributes);
  auto builder = OpBuilder::atBlockEnd(made.addEntryBlock());
  BatchedValues arguments;
  for (auto [argument, batched] : llvm::zip_equal(made.getArguments(), isBatched))
    arguments.push_back({argument, batched});
  FailureOr<BatchedValues> results = inlineBody(builder, function, arguments);
  if (failed(results)) {
    made.erase();
    return failure();
  }
  Operation *end = function.front().getTerminator();
  Batch batch(builder, end, *results, *this);
  SmallVector<Value> values;
  BatchedFunction all;
  for (auto [i, result] : llvm::enumerate(*results)) {
    all.isBatched.push_back(result.isBatched || (!wanted.empty() && wanted[i]));
    values.push_back(all.isBatched.back() ? batch.all(result) : result.value);
  }
  func::ReturnOp::create(builder, end->getLoc(), values);
  made.setType(FunctionType::get(context, types, TypeRange(ValueRange(values))));
  all.function = add(made, ("batched_" + function.getSymName()).str());
  return known[key] = all;
}

FailureOr<BatchedValues> Batcher::inlineBody(OpBuilder &builder, func::FuncOp function,
                                             ArrayRef<BatchedValue> arguments) {
  Block &body = function.front();
  llvm::DenseMap<Value, BatchedValue> values;
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    values[argument] = value;
  if (failed(batchOps(builder, body, values)))
    return failure();
  BatchedValues results;
  for (Value returned : body.getTerminator()->getOperands())
    results.push_back(values.lookup(returned));
  return results;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult Batcher::batchOps(OpBuilder &builder, Block &block,
                                llvm::DenseMap<Value, BatchedValue> &values) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(batchOp(builder, op, values)))
      return failure();
  return success();
}

LogicalResult Batcher::batchOp(OpBuilder &builder, Operation &op,
                               llvm::DenseMap<Value, BatchedValue> &values) {
  BatchedValues operands;
  bool any = false;
  for (Value operand : op.getOperands()) {
    operands.push_back(values.lookup(operand));
    any |= operands.back().isBatched;
  }
  if (!any && !readsExample(&op)) {
    IRMapping mapping;
    for (auto [operand, value] : llvm::zip_equal(op.getOperands(), operands))
      mapping.map(operand, value.value);
    Operation *same = builder.clone(op, mapping);
    for (auto [result, value] : llvm::zip_equal(op.getResults(), same->getResults()))
      values[result] = {value, false};
    return success();
  }
  auto batchable = dyn_cast<BatchableOp>(&op);
  if (!batchable)
    return op.emitOpError("cannot be computed for many examples at once, by vmap");
  Batch batch(builder, &op, operands, *this);
  FailureOr<BatchedValues> results = batchable.batch(batch);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op.getResults(), *results))
    values[result] = value;
  return success();
}

bool Batch::isBatched(OperandRange range) const {
  return llvm::any_of(getOperands(range), [](const BatchedValue &v) { return v.isBatched; });
}

SmallVector<bool> Batch::flags(OperandRange range) const {
  return llvm::map_to_vector(getOperands(range), [](const BatchedValue &v) { return v.isBatched; });
}

Value Batch::all(const BatchedValue &value) {
  if (value.isBatched)
    return value.value;
  RankedTensorType type = withExamples(value.value.getType());
  return b.broadcast(value.value, range(1, type.getRank()), type.getShape());
}

SmallVector<Value> Batch::allOperands() {
  return llvm::map_to_vector(operands, [&](const BatchedValue &v) { return all(v); });
}

BatchedValues Batch::clone(ValueRange others) {
  Operation *made = b.getBuilder().clone(*op);
  made->setOperands(others);
  BatchedValues results;
  for (OpResult result : made->getResults()) {
    result.setType(withExamples(result.getType()));
    results.push_back({result, true});
  }
  return results;
}

FailureOr<BatchedValues> Batch::decompose() {
  Block block; // of ops on one example, which never become part of a function
  OpBuilder scratch(b.getContext());
  scratch.setInsertionPointToStart(&block);
  SmallVector<Value> parts = cast<DecomposableOp>(op).decompose(scratch);
  llvm::DenseMap<Value, BatchedValue> values;
  for (auto [operand, value] : llvm::zip_equal(op->getOperands(), operands))
    values[operand] = value;
  if (failed(batcher.batchOps(b.getBuilder(), block, values)))
    return failure();
  return llvm::map_to_vector(parts, [&](Value part) { return values.lookup(part); });
}

Value Batch::moveDim(Value value, int64_t from, int64_t to) {
  SmallVector<int64_t> permutation = otherDims(rankOf(value), {from});
  permutation.insert(permutation.begin() + to, from);
  return b.transpose(value, permutation);
}

SmallVector<int64_t> minigptc::graph::shiftDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> first) {
  SmallVector<int64_t> shifted(first);
  for (int64_t dim : dims)
    shifted.push_back(dim + 1);
  return shifted;
}

FailureOr<BatchedValues> minigptc::graph::batchElementwise(Operation *, Batch &batch) {
  return batch.clone(batch.allOperands());
}

FailureOr<BatchedValues> minigptc::graph::batchDecomposed(Operation *, Batch &batch) {
  return batch.decompose();
}
