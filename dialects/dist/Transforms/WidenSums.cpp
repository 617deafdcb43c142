//===- WidenSums.cpp - parts of sums in the accumulator type --------------===//
#include "dialects/dist/Transforms/CallSites.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/WantedShardings.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTWIDENSUMS
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// The type of sums, for a tensor of bf16 or f16; null for others.
RankedTensorType widened(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto element = dyn_cast<FloatType>(tensor.getElementType());
  return element && element != graph::getAccumulatorType(element)
             ? tensor.clone(graph::getAccumulatorType(element))
             : RankedTensorType();
}

/// One function, in the order of its ops: what an op reads is wide already.
class FunctionWidener {
public:
  FunctionWidener(func::FuncOp function, MeshOp mesh) : function(function), mesh(mesh) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator())) {
      if (auto reshard = dyn_cast<ReshardOp>(op))
        widen(reshard);
      else if (llvm::any_of(op.getResults(), [&](Value result) { return isPart(result); }))
        widen(&op);
    }
    function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                       function.front().getTerminator()->getOperandTypes()));
  }

private:
  Sharding shardingOf(Value value) { return *Sharding::of(value, mesh.getMesh()); }

  /// Whether a value is a part of a sum or product that would be rounded.
  bool isPart(Value value) {
    Sharding sharding = shardingOf(value);
    bool rounds =
        sharding.combine == graph::ReduceKind::sum || sharding.combine == graph::ReduceKind::prod;
    return rounds && !sharding.partial.empty() && widened(value.getType());
  }

  void widen(ReshardOp reshard);
  void widen(Operation *op);
  Value convert(OpBuilder &builder, Value value, RankedTensorType type);
  void narrowUses(Value value, RankedTensorType type);

  func::FuncOp function;
  MeshOp mesh;
};

} // namespace

/// A value in another type: a constant stays one, for rules look at it.
static Operation *createConversion(OpBuilder &builder, Value value, RankedTensorType type) {
  DenseFPElementsAttr constant;
  auto element = cast<FloatType>(type.getElementType());
  if (!matchPattern(value, m_Constant(&constant)))
    return graph::ConvertOp::create(builder, value.getLoc(), type, value);
  auto converted = constant.mapValues(element, [&](APFloat number) {
    bool losesInfo;
    number.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return number.bitcastToAPInt();
  });
  return graph::ConstantOp::create(builder, value.getLoc(), cast<ElementsAttr>(converted));
}

/// A conversion of a value that is no part of a sum, cut as that is.
Value FunctionWidener::convert(OpBuilder &builder, Value value, RankedTensorType type) {
  Sharding sharding = shardingOf(value);
  Operation *op = createConversion(builder, value, type);
  setFactorAxes(op, sharding.dims, mesh.getMesh());
  op->setAttr(attr::kShardings, builder.getArrayAttr(Attribute(sharding.toAttr(mesh))));
  return op->getResult(0);
}

/// Whoever reads the value gets it rounded.
void FunctionWidener::narrowUses(Value value, RankedTensorType type) {
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(value);
  Value narrow = convert(builder, value, type);
  value.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
}

void FunctionWidener::widen(ReshardOp reshard) {
  auto narrow = cast<RankedTensorType>(reshard.getType());
  auto type = cast<RankedTensorType>(reshard.getInput().getType());
  if (type == narrow)
    return;
  reshard.getResult().setType(type);
  if (shardingOf(reshard).partial.empty())
    narrowUses(reshard, narrow);
}

/// Whether an op may have the results that it has, of its operands.
static bool fits(Operation *op) {
  auto inferring = dyn_cast<InferTypeOpInterface>(op);
  SmallVector<Type> types;
  return inferring &&
         succeeded(inferring.inferReturnTypes(
             op->getContext(), std::nullopt, op->getOperands(), op->getDiscardableAttrDictionary(),
             op->getPropertiesStorage(), op->getRegions(), types)) &&
         inferring.isCompatibleReturnTypes(types, op->getResultTypes());
}

/// An op that can gives its sums before it rounds them; any other computes in their type.
void FunctionWidener::widen(Operation *op) {
  for (OpResult result : op->getResults())
    if (isPart(result))
      result.setType(widened(result.getType()));
  if (isCallSite(op) || fits(op))
    return;
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands())
    if (RankedTensorType wide = widened(operand.get().getType()))
      operand.set(convert(builder, operand.get(), wide));
  for (OpResult result : op->getResults()) {
    auto narrow = cast<RankedTensorType>(result.getType());
    if (RankedTensorType wide = widened(narrow)) {
      result.setType(wide);
      narrowUses(result, narrow);
    }
  }
}

namespace {
struct DistWidenSums : dist::impl::DistWidenSumsBase<DistWidenSums> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isSharded(function))
        FunctionWidener(function, mesh).run();
  }
};
} // namespace
