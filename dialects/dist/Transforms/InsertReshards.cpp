//===- InsertReshards.cpp - a reshard wherever value and use differ -------===//
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/ReshardReason.h"
#include "dialects/dist/Transforms/ShardingTable.h"
#include "dialects/dist/Transforms/WantedShardings.h"

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
  FunctionReshards(func::FuncOp function, MeshOp mesh, const WantedShardings &shardings)
      : function(function), mesh(mesh), shardings(shardings) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      for (auto [operand, sharding] : llvm::zip_equal(op.getOpOperands(), shardings.of(&op)))
        if (sharding)
          operand.set(reshard(operand, *sharding));
      if (auto constraint = dyn_cast<ConstraintOp>(op)) {
        constraint.replaceAllUsesWith(constraint.getInput());
        constraint.erase();
      }
    }
  }

private:
  Value reshard(OpOperand &use, const Sharding &wanted);

  func::FuncOp function;
  MeshOp mesh;
  const WantedShardings &shardings;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> made;
};

} // namespace

Value FunctionReshards::reshard(OpOperand &use, const Sharding &wanted) {
  Value value = use.get();
  std::optional<Sharding> has = Sharding::of(value, mesh.getMesh());
  if (!has || *has == wanted)
    return value;
  Value &known = made[{value, wanted.toAttr(mesh)}];
  if (known && !isGatheredAnew(value, *has, wanted, mesh.getMesh()))
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
    WantedShardings shardings(getOperation(), mesh.getMesh());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isSharded(function))
        FunctionReshards(function, mesh, shardings).run();
  }
};
} // namespace
