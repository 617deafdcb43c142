//===- RandomFactors.cpp - ops cut at random ------------------------------===//
#include "test/dialects/dist/Transforms/RandomFactors.h"

#include <random>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;
using dist::Axes;
using dist::Sharding;

namespace {
class Cutter {
public:
  Cutter(ModuleOp module, dist::MeshOp meshOp, uint64_t seed)
      : module(module), meshOp(meshOp), mesh(meshOp.getMesh()), random(seed * 104729 + 5) {}

  void run() {
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function->hasAttr(graph::attr::kHost))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      cutSignature(function);
    for (func::FuncOp function : functions)
      for (Operation &op : llvm::make_early_inc_range(function.front()))
        cut(&op);
  }

private:
  bool chance(double probability) { return double(random() >> 11) * 0x1p-53 < probability; }
  SmallVector<unsigned> shuffledAxes() {
    SmallVector<unsigned> axes = llvm::to_vector(llvm::seq<unsigned>(0, mesh.getSizes().size()));
    std::shuffle(axes.begin(), axes.end(), random);
    return axes;
  }

  /// Parts may be uneven, and there may be more of them than elements.
  Sharding randomSharding(Type type, bool mayBePartial) {
    int64_t rank = cast<RankedTensorType>(type).getRank();
    Sharding sharding = Sharding::replicated(rank);
    bool isFloat = isa<FloatType>(cast<RankedTensorType>(type).getElementType());
    for (unsigned axis : shuffledAxes()) {
      if (mayBePartial && isFloat && chance(0.2))
        sharding.partial.push_back(axis);
      else if (rank > 0 && chance(0.6))
        sharding.dims[random() % uint64_t(rank)].push_back(axis);
    }
    llvm::sort(sharding.partial);
    return sharding;
  }

  /// Results may be partial where all are made by a reshard of one that is, so hardly ever:
  /// arguments and results here are not.
  void cutSignature(func::FuncOp function) {
    for (auto [number, type] : llvm::enumerate(function.getArgumentTypes()))
      function.setArgAttr(number, dist::attr::kSharding,
                          randomSharding(type, false).toAttr(meshOp));
    for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
      function.setResultAttr(number, dist::attr::kSharding,
                             randomSharding(type, false).toAttr(meshOp));
  }

  void cut(Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        reshard(op, i, fromAttr(callee.getArgAttr(i, dist::attr::kSharding)));
      SmallVector<Attribute> shardings;
      for (unsigned i = 0; i < op->getNumResults(); ++i)
        shardings.push_back(callee.getResultAttr(i, dist::attr::kSharding));
      op->setAttr(dist::attr::kShardings, ArrayAttr::get(op->getContext(), shardings));
    } else if (isa<func::ReturnOp>(op)) {
      auto function = cast<func::FuncOp>(op->getParentOp());
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        reshard(op, i, fromAttr(function.getResultAttr(i, dist::attr::kSharding)));
    } else {
      cutFactors(op);
    }
  }

  Sharding fromAttr(Attribute attribute) {
    return Sharding::fromAttr(cast<dist::ShardingAttr>(attribute), mesh);
  }
  Sharding shardingOf(Value value) { return *Sharding::of(value, mesh); }

  void reshard(Operation *op, unsigned operand, const Sharding &wanted) {
    Value value = op->getOperand(operand);
    if (shardingOf(value) == wanted)
      return;
    OpBuilder builder(op);
    op->setOperand(operand, dist::ReshardOp::create(builder, op->getLoc(), value.getType(), value,
                                                    wanted.toAttr(meshOp)));
  }

  void cutFactors(Operation *op) {
    auto sharded = dyn_cast<graph::ShardingRuleOp>(op);
    auto rule = sharded ? sharded.getShardingRule() : graph::ShardingRule::replicated(op);
    SmallVector<Axes> factorAxes(rule.factors.size());
    for (unsigned axis : shuffledAxes())
      if (!rule.factors.empty() && chance(0.8)) {
        unsigned factor = unsigned(random() % rule.factors.size());
        if (mayCut(rule, factorAxes, factor))
          factorAxes[factor].push_back(axis);
      }
    SmallVector<Sharding> operands;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back(dist::operandSharding(rule, i, factorAxes));
    Sharding carried = keepPartial(op, rule, factorAxes, operands);
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      reshard(op, i, operands[i]);
    SmallVector<Attribute> shardings;
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      Sharding result = dist::resultSharding(rule, i, factorAxes);
      llvm::append_range(result.partial, carried.partial);
      llvm::sort(result.partial);
      shardings.push_back(result.toAttr(meshOp));
    }
    op->setAttr(dist::attr::kShardings, ArrayAttr::get(op->getContext(), shardings));
    dist::setFactorAxes(op, factorAxes, mesh);
  }

  /// Only the first factor of a dimension that a device has more than one element of.
  bool mayCut(const graph::ShardingRule &rule, ArrayRef<Axes> factorAxes, unsigned factor) {
    if (rule.factors[factor].kind == graph::FactorKind::replicated)
      return false;
    auto local = [&](unsigned f) {
      return llvm::divideCeil(rule.factors[f].size, mesh.getSize(factorAxes[f]));
    };
    for (const auto *tensors : {&rule.operands, &rule.results})
      for (const auto &dims : *tensors)
        for (const graph::DimFactors &factors : dims)
          for (unsigned other : factors) {
            if (other == factor)
              break;
            if (llvm::is_contained(factors, factor) && local(other) > 1)
              return false;
          }
    return true;
  }

  /// Now and then operands stay partial, where the op is linear in them: `operands` get
  /// these axes, and what is returned are those of the results.
  Sharding keepPartial(Operation *op, const graph::ShardingRule &rule, ArrayRef<Axes> factorAxes,
                       MutableArrayRef<Sharding> operands) {
    Sharding none;
    if (rule.linearity == graph::Linearity::none || chance(0.2))
      return none;
    SmallVector<unsigned> linear;
    for (unsigned i = 0; i < operands.size(); ++i)
      if (rule.linear.empty() || rule.linear[i])
        linear.push_back(i);
    if (linear.empty())
      return none;
    if (rule.linearity == graph::Linearity::each)
      linear = {linear[random() % linear.size()]};
    Sharding first = shardingOf(op->getOperand(linear[0]));
    for (unsigned i : linear) {
      Sharding given = shardingOf(op->getOperand(i));
      if (given.partial != first.partial || given.combine != graph::ReduceKind::sum)
        return none;
    }
    for (unsigned axis : first.partial)
      if (llvm::any_of(factorAxes,
                       [&](const Axes &axes) { return llvm::is_contained(axes, axis); }))
        return none;
    for (unsigned i : linear)
      operands[i].partial = first.partial;
    none.partial = first.partial;
    return none;
  }

  ModuleOp module;
  dist::MeshOp meshOp;
  dist::MeshAttr mesh;
  std::mt19937_64 random;
};
} // namespace

void test::cutAtRandom(ModuleOp module, dist::MeshOp mesh, uint64_t seed) {
  Cutter(module, mesh, seed).run();
}
