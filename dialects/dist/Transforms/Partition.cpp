//===- Partition.cpp - the program of one device --------------------------===//
#include "dialects/dist/IR/LocalOp.h"
#include "dialects/dist/Transforms/CallSites.h"
#include "dialects/dist/Transforms/LocalFunctions.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/ReshardEmitter.h"
#include "dialects/dist/Transforms/ShardingTable.h"
#include "dialects/graph/IR/Diagnostics.h"

#include "mlir/IR/IRMapping.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTPARTITION
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Emits one function anew, with local types. Believes what `--dist-check` has checked.
class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp function, MeshOp meshOp, ReshardEmitter &resharder,
                      LocalFunctions &locals)
      : function(function), meshOp(meshOp), mesh(meshOp.getMesh()), resharder(resharder),
        locals(locals), builder(function.getContext()) {}

  LogicalResult run();

private:
  Sharding shardingOf(Value value) const {
    std::optional<Sharding> sharding = Sharding::of(value, mesh);
    return sharding ? *sharding : Sharding::replicated(tensorType(value).getRank());
  }
  RankedTensorType localTypeOf(Value value) const {
    return shardingOf(value).localType(tensorType(value), mesh);
  }
  SmallVector<Value> lookUp(ValueRange values) const {
    return llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
  }

  LogicalResult emit(Operation *op);
  LogicalResult emitReshard(Operation *op, Value input, OriginAttr origin);
  void emitCall(Operation *call);
  void emitComputation(Operation *op);

  bool fits(const LocalOp &local) const;
  bool cloneLocal(const LocalOp &local, SmallVectorImpl<Value> &results);
  SmallVector<Value> emitWhole(const LocalOp &local);

  void setSignature(Block *block);

  func::FuncOp function;
  MeshOp meshOp;
  MeshAttr mesh;
  ReshardEmitter &resharder;
  LocalFunctions &locals;
  OpBuilder builder;
  IRMapping mapping;
};

LogicalResult FunctionPartitioner::run() {
  Block *old = &function.front(), *block = builder.createBlock(&function.getBody());
  resharder.startBlock();
  for (BlockArgument argument : old->getArguments())
    mapping.map(argument, block->addArgument(localTypeOf(argument), argument.getLoc()));
  for (Operation &op : *old)
    if (failed(emit(&op)))
      return failure();
  setSignature(block);
  old->dropAllDefinedValueUses();
  old->erase();
  return success();
}

/// Local types, and of entry functions the global ones beside them.
void FunctionPartitioner::setSignature(Block *block) {
  if (function->hasAttr(graph::attr::kEntry)) {
    for (auto [number, type] : llvm::enumerate(function.getArgumentTypes()))
      function.setArgAttr(number, attr::kGlobalType, TypeAttr::get(type));
    for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
      function.setResultAttr(number, attr::kGlobalType, TypeAttr::get(type));
  }
  function.setFunctionType(builder.getFunctionType(block->getArgumentTypes(),
                                                   block->getTerminator()->getOperandTypes()));
}

LogicalResult FunctionPartitioner::emit(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    auto origins = op->getAttrOfType<ArrayAttr>(attr::kOrigins);
    return emitReshard(op, reshard.getInput(),
                       origins && !origins.empty() ? dyn_cast<OriginAttr>(origins[0])
                                                   : OriginAttr());
  }
  if (auto constraint = dyn_cast<ConstraintOp>(op))
    return emitReshard(op, constraint.getInput(), OriginAttr());
  if (isCallSite(op))
    emitCall(op);
  else if (auto manual = dyn_cast<ManualOp>(op))
    mapping.map(op->getResults(), locals.emit(builder, manual, lookUp(op->getOperands())));
  else if (isa<func::ReturnOp>(op))
    func::ReturnOp::create(builder, op->getLoc(), lookUp(op->getOperands()));
  else
    emitComputation(op);
  return success();
}

LogicalResult FunctionPartitioner::emitReshard(Operation *op, Value input, OriginAttr origin) {
  Sharding from = shardingOf(input), to = shardingOf(op->getResult(0));
  Value local = resharder.emit(builder, op->getLoc(), mapping.lookup(input), tensorType(input),
                               from, to, origin, isGatheredAnew(input, from, to, mesh));
  if (!local)
    return op->emitOpError() << "has no way from " << toString(from, mesh) << " to "
                             << toString(to, mesh) << ": nothing makes a value partial";
  mapping.map(op->getResult(0), local);
  return success();
}

/// The callee may be local already: types are those of the call's own shardings.
void FunctionPartitioner::emitCall(Operation *call) {
  Operation *local = builder.clone(*call, mapping);
  for (auto [result, old] : llvm::zip_equal(local->getResults(), call->getResults()))
    result.setType(localTypeOf(old));
  for (StringRef name : {attr::kShardings, attr::kFactors, attr::kOrigins})
    local->removeAttr(name);
}

/// Whether a part of a dimension is a part of each of its factors: the next one is as far
/// away.
static bool fitsDim(const graph::DimFactors &factors, int64_t localSize, const LocalOp &local) {
  int64_t parts = 1, behind = 1; // Of the factors that are minor to this one.
  for (unsigned factor : llvm::reverse(factors)) {
    int64_t distance = local.getLocalSize(factor) * behind;
    if (local.getParts(factor) > 1 && distance != localSize * parts)
      return false;
    parts *= local.getParts(factor);
    behind *= local.getRule().factors[factor].size;
  }
  return true;
}

/// Whether parts of all dimensions are parts of factors, and nothing whole is cut.
bool FunctionPartitioner::fits(const LocalOp &local) const {
  const graph::ShardingRule &rule = local.getRule();
  auto fitsDims = [&](ArrayRef<graph::DimFactors> dims, RankedTensorType type,
                      const Sharding &sharding) {
    RankedTensorType localType = sharding.localType(type, mesh);
    return llvm::all_of(llvm::zip_equal(dims, localType.getShape()), [&](auto dim) {
      return fitsDim(std::get<0>(dim), std::get<1>(dim), local);
    });
  };
  for (OpOperand &operand : local.getOp()->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    if (!fitsDims(rule.operands[i], tensorType(operand.get()),
                  operandSharding(rule, i, local.getFactorAxes())))
      return false;
  }
  for (OpResult result : local.getOp()->getResults()) {
    unsigned i = result.getResultNumber();
    if (!fitsDims(rule.results[i], tensorType(result),
                  resultSharding(rule, i, local.getFactorAxes())))
      return false;
  }
  return !local.isCut(graph::FactorKind::replicated);
}

/// The op itself on local tensors, if that makes the results: its attributes know no
/// sizes, and no device needs another.
bool FunctionPartitioner::cloneLocal(const LocalOp &local, SmallVectorImpl<Value> &results) {
  if (local.isCut(graph::FactorKind::collective))
    return false;
  for (auto [number, factor] : llvm::enumerate(local.getRule().factors))
    if (factor.kind == graph::FactorKind::reduction && local.isUneven(number))
      return false;
  Operation *copy = local.clone(builder);
  if (auto inferring = dyn_cast<InferTypeOpInterface>(copy)) {
    SmallVector<Type> types;
    if (failed(inferring.inferReturnTypes(copy->getContext(), std::nullopt, copy->getOperands(),
                                          copy->getDiscardableAttrDictionary(),
                                          copy->getPropertiesStorage(), copy->getRegions(),
                                          types)) ||
        TypeRange(types) != copy->getResultTypes()) {
      copy->erase();
      return false;
    }
  }
  llvm::append_range(results, copy->getResults());
  return true;
}

/// Every device computes the whole op and takes its part: always right, and what is left
/// where parts do not fit together.
SmallVector<Value> FunctionPartitioner::emitWhole(const LocalOp &local) {
  Operation *op = local.getOp();
  Location location = op->getLoc();
  auto origin = OriginAttr::get(op->getContext(),
                                (op->getName().getStringRef() + " has no parts of " +
                                 graph::describe(op->getResult(0)) + " that lie on one device each")
                                    .str(),
                                "", "", "");
  Operation *whole = op->clone();
  for (OpOperand &operand : op->getOpOperands()) {
    Sharding from = shardingOf(operand.get()), to = from;
    to.dims.assign(to.dims.size(), {});
    whole->setOperand(operand.getOperandNumber(),
                      resharder.emit(builder, location, mapping.lookup(operand.get()),
                                     tensorType(operand.get()), from, to, origin));
  }
  for (StringRef name : {attr::kShardings, attr::kFactors, attr::kOrigins})
    whole->removeAttr(name);
  builder.insert(whole);
  SmallVector<Value> results;
  for (auto [result, old] : llvm::zip_equal(whole->getResults(), op->getResults())) {
    Sharding to = resultSharding(local.getRule(), result.getResultNumber(), local.getFactorAxes());
    Axes summed = std::move(to.partial);
    to.partial = {};
    Value part = resharder.emit(builder, location, result, tensorType(old),
                                Sharding::replicated(tensorType(old).getRank()), to, origin);
    results.push_back(local.keepOnFirst(builder, part, summed,
                                        getNeutral(to.combine, tensorType(old).getElementType())));
  }
  return results;
}

void FunctionPartitioner::emitComputation(Operation *op) {
  graph::ShardingRule rule = getRule(op);
  SmallVector<Value> operands = lookUp(op->getOperands());
  LocalOp local(op, meshOp, rule, getFactorAxes(op, rule, mesh), operands);
  SmallVector<Value> results;
  bool isCut = llvm::any_of(local.getFactorAxes(), [](const Axes &axes) { return !axes.empty(); });
  if (!isCut) {
    results = SmallVector<Value>(local.clone(builder)->getResults());
  } else if (fits(local)) {
    if (auto partitionable = dyn_cast<graph::PartitionableOp>(op))
      results = partitionable.partition(builder, local);
    else
      cloneLocal(local, results);
  }
  if (results.size() < op->getNumResults())
    results = emitWhole(local);
  mapping.map(op->getResults(), results);
}

struct Partition : minigptc::dist::impl::DistPartitionBase<Partition> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    ReshardEmitter resharder(mesh);
    LocalFunctions locals(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isSharded(function) &&
          failed(FunctionPartitioner(function, mesh, resharder, locals).run()))
        return signalPassFailure();
    locals.finish();
  }
};
} // namespace
