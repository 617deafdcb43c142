//===- InsertReshards.cpp - a reshard wherever value and use differ -------===//
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/ReshardReason.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTINSERTRESHARDS
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// The reshards of one function.
class FunctionReshards {
public:
  FunctionReshards(func::FuncOp function, MeshOp mesh, SymbolTable &symbols)
      : function(function), mesh(mesh), symbols(symbols) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      if (auto constraint = dyn_cast<ConstraintOp>(op)) {
        constraint->getOpOperand(0).set(reshard(constraint->getOpOperand(0), wantedBy(constraint)));
        constraint.replaceAllUsesWith(constraint.getInput());
        constraint.erase();
        continue;
      }
      SmallVector<std::optional<Sharding>> wanted = wantedOperands(&op);
      for (auto [operand, sharding] : llvm::zip_equal(op.getOpOperands(), wanted))
        if (sharding)
          operand.set(reshard(operand, *sharding));
    }
  }

private:
  Sharding wantedBy(ConstraintOp constraint) {
    return Sharding::fromAttr(constraint.getSharding(), mesh.getMesh());
  }
  SmallVector<std::optional<Sharding>> wantedOperands(Operation *op);
  Value reshard(OpOperand &use, const Sharding &wanted);

  func::FuncOp function;
  MeshOp mesh;
  SymbolTable &symbols;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> made;
};

} // namespace

static std::optional<Sharding> fromAttr(Attribute attribute, MeshAttr mesh) {
  if (auto sharding = dyn_cast_or_null<ShardingAttr>(attribute))
    return Sharding::fromAttr(sharding, mesh);
  return std::nullopt;
}

/// As the op's factors say, with the sums that it carries on; of a call or a return what
/// the function says.
SmallVector<std::optional<Sharding>> FunctionReshards::wantedOperands(Operation *op) {
  SmallVector<std::optional<Sharding>> wanted(op->getNumOperands());
  func::FuncOp callee;
  if (auto call = dyn_cast<func::CallOp>(op))
    callee = symbols.lookup<func::FuncOp>(call.getCallee());
  for (unsigned i = 0; i < wanted.size(); ++i) {
    if (callee)
      wanted[i] = fromAttr(callee.getArgAttr(i, attr::kSharding), mesh.getMesh());
    else if (isa<func::ReturnOp>(op))
      wanted[i] = fromAttr(function.getResultAttr(i, attr::kSharding), mesh.getMesh());
  }
  if (callee || isa<func::ReturnOp>(op) || op->getNumResults() == 0)
    return wanted;
  auto ruled = dyn_cast<graph::ShardingRuleOp>(op);
  graph::ShardingRule rule =
      ruled ? ruled.getShardingRule() : graph::ShardingRule::replicated(op);
  SmallVector<Axes> factorAxes = getFactorAxes(op, rule, mesh.getMesh());
  Axes carried;
  for (unsigned axis : Sharding::of(op->getResult(0), mesh.getMesh())->partial)
    if (!llvm::is_contained(resultSharding(rule, 0, factorAxes).partial, axis))
      carried.push_back(axis);
  for (unsigned i = 0; i < wanted.size(); ++i) {
    wanted[i] = operandSharding(rule, i, factorAxes);
    if (rule.linear.empty() || rule.linear[i])
      llvm::append_range(wanted[i]->partial, carried);
  }
  return wanted;
}

Value FunctionReshards::reshard(OpOperand &use, const Sharding &wanted) {
  Value value = use.get();
  std::optional<Sharding> has = Sharding::of(value, mesh.getMesh());
  if (!has || *has == wanted)
    return value;
  Value &known = made[{value, wanted.toAttr(mesh)}];
  if (known)
    return known;
  OpBuilder builder(use.getOwner());
  auto op = ReshardOp::create(builder, value.getLoc(), value, wanted.toAttr(mesh));
  op->setAttr(attr::kShardings, builder.getArrayAttr(Attribute(wanted.toAttr(mesh))));
  op->setAttr(attr::kOrigins, builder.getArrayAttr(Attribute(reasonOf(use, *has, wanted, mesh))));
  return known = op;
}

namespace {
struct DistInsertReshards : dist::impl::DistInsertReshardsBase<DistInsertReshards> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(graph::attr::kHost))
        FunctionReshards(function, mesh, symbols).run();
  }
};
} // namespace
