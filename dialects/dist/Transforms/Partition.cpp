//===- Partition.cpp - the program of one device --------------------------===//
#include "dialects/dist/IR/LocalOp.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/ReshardEmitter.h"
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

/// An op with its rule and the axes that cut its factors.
struct CutOp {
  Operation *op;
  graph::ShardingRule rule;
  SmallVector<Axes> factorAxes;

  CutOp(Operation *op, MeshAttr mesh) : op(op) {
    auto sharded = dyn_cast<graph::ShardingRuleOp>(op);
    rule = sharded ? sharded.getShardingRule() : graph::ShardingRule::replicated(op);
    factorAxes = getFactorAxes(op, rule, mesh);
  }
};

/// Emits one function anew, with local types.
class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp function, MeshOp meshOp, SymbolTable &symbols,
                      ReshardEmitter &resharder)
      : function(function), meshOp(meshOp), mesh(meshOp.getMesh()), symbols(symbols),
        resharder(resharder), builder(function.getContext()) {}

  LogicalResult run();

private:
  Sharding shardingOf(Value value) const {
    std::optional<Sharding> sharding = Sharding::of(value, mesh);
    return sharding ? *sharding : Sharding::replicated(tensorType(value).getRank());
  }
  Sharding fromAttr(Attribute attribute, Type type) const {
    auto sharding = dyn_cast_or_null<ShardingAttr>(attribute);
    return sharding ? Sharding::fromAttr(sharding, mesh)
                    : Sharding::replicated(cast<RankedTensorType>(type).getRank());
  }
  RankedTensorType localTypeOf(Value value) const {
    return shardingOf(value).localType(tensorType(value), mesh);
  }
  SmallVector<Value> lookUp(ValueRange values) const {
    return llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
  }

  LogicalResult emit(Operation *op);
  LogicalResult emitReshard(Operation *op, Value input, OriginAttr origin);
  LogicalResult emitCall(func::CallOp call);
  LogicalResult emitReturn(func::ReturnOp op);
  LogicalResult emitComputation(Operation *op);

  LogicalResult checkOperand(Operation *op, unsigned operand, const Sharding &wanted);
  LogicalResult checkResults(const CutOp &cut, const LocalOp &local);
  FailureOr<Sharding> carriedPartial(const CutOp &cut);
  bool fits(const CutOp &cut, const LocalOp &local) const;
  bool cloneLocal(const LocalOp &local, SmallVectorImpl<Value> &results);
  SmallVector<Value> emitWhole(const CutOp &cut, const LocalOp &local);

  void setSignature(Block *block);

  func::FuncOp function;
  MeshOp meshOp;
  MeshAttr mesh;
  SymbolTable &symbols;
  ReshardEmitter &resharder;
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
  function.setFunctionType(builder.getFunctionType(
      block->getArgumentTypes(), block->getTerminator()->getOperandTypes()));
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
  if (auto call = dyn_cast<func::CallOp>(op))
    return emitCall(call);
  if (auto end = dyn_cast<func::ReturnOp>(op))
    return emitReturn(end);
  return emitComputation(op);
}

LogicalResult FunctionPartitioner::emitReshard(Operation *op, Value input, OriginAttr origin) {
  Sharding from = shardingOf(input), to = shardingOf(op->getResult(0));
  Value local = resharder.emit(builder, op->getLoc(), mapping.lookup(input), tensorType(input),
                               from, to, origin);
  if (!local)
    return op->emitOpError() << "has no way from " << toString(from, mesh) << " to "
                             << toString(to, mesh) << ": nothing makes a value partial";
  mapping.map(op->getResult(0), local);
  return success();
}

LogicalResult FunctionPartitioner::checkOperand(Operation *op, unsigned operand,
                                                const Sharding &wanted) {
  Sharding sharding = shardingOf(op->getOperand(operand));
  if (sharding == wanted)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "operand " << operand << " is sharded "
                             << toString(sharding, mesh) << ", but is needed "
                             << toString(wanted, mesh) << "; a dist.reshard is missing";
  error.attachNote(op->getOperand(operand).getLoc()) << "the operand is defined here";
  return error;
}

LogicalResult FunctionPartitioner::emitCall(func::CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  // The callee may be local already; shardings have the ranks of the global types.
  for (unsigned i = 0; i < call.getNumOperands(); ++i)
    if (failed(checkOperand(call, i,
                            fromAttr(callee.getArgAttr(i, attr::kSharding),
                                     call.getOperand(i).getType()))))
      return failure();
  SmallVector<Type> types;
  for (OpResult result : call.getResults()) {
    Sharding sharding =
        fromAttr(callee.getResultAttr(result.getResultNumber(), attr::kSharding), result.getType());
    if (shardingOf(result) != sharding)
      return call.emitOpError() << "result " << result.getResultNumber() << " is sharded "
                                << toString(shardingOf(result), mesh) << ", but the function's is "
                                << toString(sharding, mesh);
    types.push_back(localTypeOf(result));
  }
  auto local = func::CallOp::create(builder, call.getLoc(), call.getCallee(), types,
                                    lookUp(call.getOperands()));
  mapping.map(call.getResults(), local.getResults());
  return success();
}

LogicalResult FunctionPartitioner::emitReturn(func::ReturnOp op) {
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    if (failed(checkOperand(
            op, i, fromAttr(function.getResultAttr(i, attr::kSharding), op.getOperand(i).getType()))))
      return failure();
  func::ReturnOp::create(builder, op.getLoc(), lookUp(op.getOperands()));
  return success();
}

/// Over which axes results are partial since operands are; fails where the op may not
/// carry that on.
FailureOr<Sharding> FunctionPartitioner::carriedPartial(const CutOp &cut) {
  Sharding carried;
  unsigned numLinear = 0, numPartial = 0;
  auto refuse = [&](unsigned operand, StringRef why) {
    InFlightDiagnostic error = cut.op->emitOpError()
                               << "operand " << operand << " is still to be combined over devices: "
                               << toString(shardingOf(cut.op->getOperand(operand)), mesh) << "; "
                               << why;
    error.attachNote(cut.op->getOperand(operand).getLoc()) << "the operand is defined here";
    return error;
  };
  for (unsigned i = 0; i < cut.op->getNumOperands(); ++i) {
    Sharding sharding = shardingOf(cut.op->getOperand(i));
    bool isLinear = cut.rule.linearity != graph::Linearity::none &&
                    (cut.rule.linear.empty() || cut.rule.linear[i]);
    numLinear += isLinear;
    if (sharding.partial.empty())
      continue;
    if (!isLinear)
      return refuse(i, "the op is not linear in it");
    if (numPartial++ && (carried.partial != sharding.partial || carried.combine != sharding.combine))
      return refuse(i, "another operand is so over other axes");
    carried.partial = sharding.partial;
    carried.combine = sharding.combine;
    auto fusible = dyn_cast<graph::FusibleOp>(cut.op);
    bool moves = fusible && (fusible.getFusionKind() == graph::FusionKind::data_movement ||
                             fusible.getFusionKind() == graph::FusionKind::broadcast);
    if (sharding.combine != graph::ReduceKind::sum && !moves)
      return refuse(i, "the op does more than to move elements");
  }
  bool joint = cut.rule.linearity == graph::Linearity::joint;
  if (numPartial && numPartial != (joint ? numLinear : 1))
    return cut.op->emitOpError() << numPartial << " of its " << numLinear
                                 << " operands are still to be combined over devices; "
                                 << (joint ? "all or none" : "one at most") << " may be so";
  return carried;
}

LogicalResult FunctionPartitioner::checkResults(const CutOp &cut, const LocalOp &local) {
  FailureOr<Sharding> carried = carriedPartial(cut);
  if (failed(carried))
    return failure();
  for (OpResult result : cut.op->getResults()) {
    Sharding computed = resultSharding(cut.rule, result.getResultNumber(), cut.factorAxes);
    if (!carried->partial.empty()) {
      if (!computed.partial.empty() && computed.combine != carried->combine)
        return cut.op->emitOpError() << "combines in two ways what is partial";
      llvm::append_range(computed.partial, carried->partial);
      llvm::sort(computed.partial);
      computed.combine = carried->combine;
    }
    if (shardingOf(result) != computed)
      return cut.op->emitOpError()
             << "result " << result.getResultNumber() << " is sharded "
             << toString(shardingOf(result), mesh) << ", but is computed "
             << toString(computed, mesh) << "; a dist.reshard is missing";
  }
  return success();
}

/// Whether a part of a dimension is a part of each of its factors: of that size, and with
/// the others as far away.
static bool fitsDim(const graph::DimFactors &factors, int64_t localSize, const LocalOp &local) {
  int64_t product = 1, parts = 1, behind = 1;
  for (unsigned factor : llvm::reverse(factors)) {
    int64_t distance = local.getLocalSize(factor) * behind;
    if (local.getParts(factor) > 1 && distance != localSize * parts)
      return false;
    product *= local.getLocalSize(factor);
    parts *= local.getParts(factor);
    behind *= local.getRule().factors[factor].size;
  }
  return factors.empty() || product == localSize;
}

/// Whether parts of all dimensions are parts of factors, and nothing whole is cut.
bool FunctionPartitioner::fits(const CutOp &cut, const LocalOp &local) const {
  auto fitsDims = [&](ArrayRef<graph::DimFactors> dims, RankedTensorType type,
                      const Sharding &sharding) {
    RankedTensorType localType = sharding.localType(type, mesh);
    return llvm::all_of(llvm::zip_equal(dims, localType.getShape()), [&](auto dim) {
      return fitsDim(std::get<0>(dim), std::get<1>(dim), local);
    });
  };
  for (OpOperand &operand : cut.op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    if (!fitsDims(cut.rule.operands[i], tensorType(operand.get()),
                  operandSharding(cut.rule, i, cut.factorAxes)))
      return false;
  }
  for (OpResult result : cut.op->getResults()) {
    unsigned i = result.getResultNumber();
    if (!fitsDims(cut.rule.results[i], tensorType(result),
                  resultSharding(cut.rule, i, cut.factorAxes)))
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
SmallVector<Value> FunctionPartitioner::emitWhole(const CutOp &cut, const LocalOp &local) {
  Location location = cut.op->getLoc();
  auto origin = OriginAttr::get(cut.op->getContext(),
                                (cut.op->getName().getStringRef() + " has no parts of " +
                                 graph::describe(cut.op->getResult(0)) +
                                 " that lie on one device each")
                                    .str(),
                                "", "", "");
  Operation *whole = cut.op->clone();
  for (OpOperand &operand : cut.op->getOpOperands()) {
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
  for (auto [result, old] : llvm::zip_equal(whole->getResults(), cut.op->getResults())) {
    Sharding to = resultSharding(cut.rule, result.getResultNumber(), cut.factorAxes);
    Axes summed = std::move(to.partial);
    to.partial = {};
    Value part = resharder.emit(builder, location, result, tensorType(old),
                                Sharding::replicated(tensorType(old).getRank()), to, origin);
    results.push_back(local.keepOnFirst(
        builder, part, summed, getNeutral(to.combine, tensorType(old).getElementType())));
  }
  return results;
}

LogicalResult FunctionPartitioner::emitComputation(Operation *op) {
  CutOp cut(op, mesh);
  SmallVector<Value> operands = lookUp(op->getOperands());
  LocalOp local(op, meshOp, cut.rule, cut.factorAxes, operands);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Sharding wanted = operandSharding(cut.rule, i, cut.factorAxes);
    Sharding given = shardingOf(op->getOperand(i));
    wanted.partial = given.partial; // `checkResults` looks at these.
    wanted.combine = given.combine;
    if (failed(checkOperand(op, i, wanted)))
      return failure();
  }
  if (failed(checkResults(cut, local)))
    return failure();
  SmallVector<Value> results;
  bool isCut = llvm::any_of(cut.factorAxes, [](const Axes &axes) { return !axes.empty(); });
  if (!isCut) {
    results = SmallVector<Value>(local.clone(builder)->getResults());
  } else if (fits(cut, local)) {
    if (auto partitionable = dyn_cast<graph::PartitionableOp>(op))
      results = partitionable.partition(builder, local);
    else
      cloneLocal(local, results);
  }
  if (results.empty())
    results = emitWhole(cut, local);
  mapping.map(op->getResults(), results);
  return success();
}

struct Partition : minigptc::dist::impl::DistPartitionBase<Partition> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    SymbolTable symbols(getOperation());
    ReshardEmitter resharder(mesh);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(graph::attr::kHost) || function.isDeclaration())
        continue;
      if (failed(FunctionPartitioner(function, mesh, symbols, resharder).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
