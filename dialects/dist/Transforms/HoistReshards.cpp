//===- HoistReshards.cpp - --dist-hoist-reshards --------------------------===//
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/ShardingTable.h"
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallSet.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTHOISTRESHARDS
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

/// Axes over which devices have different examples: they cut what entries are given beside state.
static llvm::SmallSet<unsigned, 4> findDataAxes(ModuleOp module, MeshAttr mesh) {
  llvm::SmallSet<unsigned, 4> found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(graph::attr::kEntry) || !isSharded(function))
      continue;
    for (BlockArgument argument : function.getArguments()) {
      if (function.getArgAttr(argument.getArgNumber(), attr::kStored))
        continue;
      Sharding sharding = *Sharding::of(argument, mesh);
      for (const Axes &axes : sharding.dims)
        found.insert(axes.begin(), axes.end());
    }
  }
  return found;
}

namespace {
/// Ops of one block that run a function, in order: a loop, or two and more calls.
using Sites = SmallVector<Operation *>;

/// The sites of a function, if there are no others and it runs more than once.
Sites findSites(func::FuncOp function, const graph::FunctionGraph::Uses &uses) {
  if (uses.calls.empty() && uses.others.size() == 1) {
    auto loop = dyn_cast<graph::ScanOp>(uses.others.front());
    return loop && loop.getCount() > 1 ? Sites{loop} : Sites{};
  }
  Sites sites(uses.calls.begin(), uses.calls.end());
  bool isRepeated = uses.others.empty() && sites.size() > 1 && llvm::all_of(sites, [&](auto *site) {
                      return site->getBlock() == sites.front()->getBlock();
                    });
  return isRepeated ? sites : Sites{};
}

/// Whether two ops of the same operands compute the same, for whatever reason.
bool isSame(Operation *a, Operation *b) {
  auto attributes = [](Operation *op) {
    NamedAttrList list(op->getDiscardableAttrDictionary());
    list.erase(attr::kOrigins);
    return list.getDictionary(op->getContext());
  };
  return a->getName() == b->getName() && a->getResultTypes() == b->getResultTypes() &&
         a->getPropertiesAsAttribute() == b->getPropertiesAsAttribute() &&
         attributes(a) == attributes(b);
}

/// Moves reshards of stored parameters from one function to before its sites.
class Hoister {
public:
  Hoister(func::FuncOp function, Sites sites, MeshAttr mesh,
          const llvm::SmallSet<unsigned, 4> &dataAxes, DenseSet<Operation *> &hoisted)
      : function(function), sites(std::move(sites)), mesh(mesh), dataAxes(dataAxes),
        hoisted(hoisted) {}

  void run() {
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), attr::kStored))
        room += localBytes(argument);
    for (auto reshard : llvm::make_early_inc_range(function.front().getOps<ReshardOp>()))
      if (isInvariant(reshard.getInput()) && movesStored(reshard))
        hoist(reshard);
  }

private:
  Sharding shardingOf(Value value) const { return *Sharding::of(value, mesh); }
  int64_t localBytes(Value value) const {
    auto type = cast<RankedTensorType>(value.getType());
    return int64_t(graph::detail::bytesOf(shardingOf(value).localType(type, mesh)));
  }

  /// Whether an argument is the same in all calls. (The first of these is given it, so it is there
  /// before them all.)
  bool isInvariant(BlockArgument argument) const {
    unsigned number = argument.getArgNumber();
    if (auto loop = dyn_cast<graph::ScanOp>(sites.front()))
      return number < loop.getConstants().size();
    return llvm::all_equal(
        llvm::map_range(sites, [&](Operation *site) { return site->getOperand(number); }));
  }

  /// Whether a value is made of one such argument, without calls.
  bool isInvariant(Value value) const {
    while (Operation *op = value.getDefiningOp()) {
      if (op->getNumOperands() != 1 || op->getNumResults() != 1 || !isMemoryEffectFree(op))
        return false;
      value = op->getOperand(0);
    }
    return isInvariant(cast<BlockArgument>(value));
  }

  /// Whether it is about a parameter, and devices with the same examples send it to each other.
  bool movesStored(ReshardOp reshard) const {
    Sharding from = shardingOf(reshard.getInput()), to = shardingOf(reshard);
    bool sends = false;
    for (unsigned axis = 0; axis < mesh.getNames().size(); ++axis) {
      if (from.dimOf(axis) == to.dimOf(axis))
        continue;
      if (dataAxes.contains(axis))
        return false;
      sends |= from.dimOf(axis).has_value();
    }
    return sends && isCopyOfStored(reshard.getInput(), mesh);
  }

  void hoist(ReshardOp reshard) {
    BlockArgument &known = arguments[{reshard.getInput(), reshard.getSharding()}];
    if (!known) {
      int64_t bytes = findBefore(reshard) ? 0 : localBytes(reshard);
      if (bytes > room)
        return;
      room -= bytes;
      known = pass(copyBefore(reshard.getResult()), reshard);
    }
    reshard.replaceAllUsesWith(Value(known));
    hoisted.erase(reshard);
    reshard.erase();
  }

  /// The same value in the block of the sites, if it is one that calls get, or any function has
  /// asked for it before.
  Value findBefore(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op)
      return sites.front()->getOperand(cast<BlockArgument>(value).getArgNumber());
    if (Value operand = findBefore(op->getOperand(0)))
      for (Operation *user : operand.getUsers())
        if (hoisted.contains(user) && isSame(user, op))
          return user->getResult(0);
    return {};
  }

  /// ... or a copy of what makes it, right behind what it is made of.
  Value copyBefore(Value value) {
    if (Value known = findBefore(value))
      return known;
    Operation *op = value.getDefiningOp();
    Value operand = copyBefore(op->getOperand(0));
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfterValue(operand);
    IRMapping map;
    map.map(op->getOperand(0), operand);
    Operation *copy = builder.clone(*op, map);
    hoisted.insert(copy);
    return copy->getResult(0);
  }

  /// A further argument of the function, the same in all calls.
  BlockArgument pass(Value value, ReshardOp like) {
    auto loop = dyn_cast<graph::ScanOp>(sites.front());
    unsigned number = loop ? loop.getConstants().size() : function.getNumArguments();
    Builder builder(function.getContext());
    NamedAttribute sharding(builder.getStringAttr(attr::kSharding), like.getSharding());
    (void)function.insertArgument(number, value.getType(), builder.getDictionaryAttr(sharding),
                                  like.getLoc());
    if (loop)
      loop.getConstantsMutable().append(value);
    else
      for (Operation *site : sites)
        site->insertOperands(site->getNumOperands(), value);
    return function.getArgument(number);
  }

  func::FuncOp function;
  Sites sites;
  MeshAttr mesh;
  const llvm::SmallSet<unsigned, 4> &dataAxes;
  DenseSet<Operation *> &hoisted; ///< by any function
  int64_t room = 0;               ///< bytes
  DenseMap<std::pair<Value, Attribute>, BlockArgument> arguments;
};

struct DistHoistReshards : dist::impl::DistHoistReshardsBase<DistHoistReshards> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    auto functions = graph::FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    auto dataAxes = findDataAxes(getOperation(), mesh.getMesh());
    DenseSet<Operation *> hoisted;
    // Callees first: what comes out of one goes on out of its caller.
    for (func::FuncOp function : functions->getPostOrder()) {
      if (!graph::isPrivateWithBody(function) || !isSharded(function))
        continue;
      if (Sites sites = findSites(function, functions->getUses(function)); !sites.empty())
        Hoister(function, std::move(sites), mesh.getMesh(), dataAxes, hoisted).run();
    }
  }
};
} // namespace
