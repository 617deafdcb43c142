//===- Specialize.cpp - a copy of a function per stored sharding ----------===//
#include "dialects/dist/Transforms/CallSites.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/ShardingTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTSPECIALIZE
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// How a value is stored, and the name of the parameter.
struct Stored {
  Sharding sharding;
  Freedom freedom;
  std::string name;
};

/// "layers.0.w" and "layers.1.w" are both 'layers.*.w'.
std::string commonName(StringRef a, StringRef b) {
  SmallVector<StringRef> left(llvm::split(a, '.')), right(llvm::split(b, '.'));
  if (left.size() != right.size())
    return a.str();
  for (auto [l, r] : llvm::zip_equal(left, right))
    if (l != r)
      l = "*";
  return llvm::join(left, ".");
}

class Specializer {
public:
  Specializer(ModuleOp module, MeshOp mesh) : module(module), mesh(mesh), symbols(module) {}

  LogicalResult run();

private:
  /// Calls, loops and branches.
  using Calls = SmallVector<Operation *>;

  LogicalResult completeEntry(func::FuncOp function);
  void specialize(func::FuncOp function);
  void noteCalls(func::FuncOp function);
  void markArguments(func::FuncOp function, ArrayRef<Operation *> calls);
  std::optional<Stored> storedAs(Value value);
  std::optional<Stored> passedAs(OpOperand &operand);
  Attribute keyOf(Operation *call);

  ModuleOp module;
  MeshOp mesh;
  SymbolTable symbols;
  llvm::DenseMap<StringAttr, Calls> callsOf;
};

} // namespace

LogicalResult Specializer::run() {
  FailureOr<graph::FunctionGraph> functions = graph::FunctionGraph::build(module);
  if (failed(functions))
    return failure();
  for (func::FuncOp function : llvm::reverse(functions->getPostOrder())) {
    if (!isSharded(function))
      continue;
    if (!function.isPublic())
      specialize(function);
    else if (failed(completeEntry(function)))
      return failure();
    noteCalls(function);
  }
  return success();
}

/// Says of an entry's arguments and results what is left to be understood. A donated argument and
/// the result that takes over its memory are one place, and lie alike.
LogicalResult Specializer::completeEntry(func::FuncOp function) {
  auto whole = [&](Type type) {
    return Sharding::replicated(cast<RankedTensorType>(type).getRank()).toAttr(mesh);
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (!function.getArgAttr(i, attr::kSharding))
      function.setArgAttr(i, attr::kSharding, whole(function.getArgumentTypes()[i]));
    auto donated = function.getArgAttrOfType<IntegerAttr>(i, graph::attr::kDonate);
    if (!donated)
      continue;
    Attribute own = function.getArgAttr(i, attr::kSharding);
    Attribute taken = function.getResultAttr(donated.getInt(), attr::kSharding);
    if (taken && taken != own)
      return function.emitOpError()
             << "donates argument " << i << ", which is sharded as " << own << ", to result "
             << donated.getInt() << ", which is as " << taken;
    function.setResultAttr(donated.getInt(), attr::kSharding, own);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!function.getResultAttr(i, attr::kSharding))
      function.setResultAttr(i, attr::kSharding, whole(function.getResultTypes()[i]));
  return success();
}

/// A copy is open in the dimensions that are made of open ones.
static Freedom follow(const Freedom &freedom, ArrayRef<graph::DimFactors> from,
                      ArrayRef<graph::DimFactors> to) {
  Freedom result{{}, freedom.replicated};
  for (const graph::DimFactors &factors : to)
    result.open.push_back(llvm::any_of(llvm::zip_equal(from, freedom.open), [&](auto dim) {
      const auto &[shared, isOpen] = dim;
      return isOpen && llvm::any_of(factors, [&](unsigned factor) {
               return llvm::is_contained(shared, factor);
             });
    }));
  return result;
}

std::optional<Stored> Specializer::storedAs(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    unsigned number = argument.getArgNumber();
    auto sharding = function.getArgAttrOfType<ShardingAttr>(number, attr::kSharding);
    auto name = function.getArgAttrOfType<StringAttr>(number, attr::kStored);
    if (!sharding || !name)
      return std::nullopt;
    return Stored{Sharding::fromAttr(sharding, mesh.getMesh()),
                  Freedom::fromAttr(sharding, mesh.getMesh()), shortName(name)};
  }
  if (isCallSite(value.getDefiningOp()) || isa<ConstraintOp>(value.getDefiningOp()))
    return std::nullopt;
  OpEntry entry = OpEntry::of(value.getDefiningOp(), mesh.getMesh());
  std::optional<unsigned> followed = followedOperand(entry);
  std::optional<Stored> stored =
      followed ? storedAs(entry.op->getOperand(*followed)) : std::nullopt;
  if (!stored)
    return std::nullopt;
  for (unsigned axis = 0; axis < mesh.getMesh().getNames().size(); ++axis) {
    std::optional<unsigned> dim = stored->sharding.dimOf(axis);
    auto factor =
        dim ? factorAt(entry, entry.rule.operands[*followed], *dim, mesh.getMesh()) : std::nullopt;
    if (factor && canCut(entry, *factor, axis, /*uneven=*/true, mesh.getMesh()))
      entry.cut(*factor, axis, {});
  }
  stored->sharding = entry.ofResult(0);
  stored->freedom = follow(stored->freedom, entry.rule.operands[*followed], entry.rule.results[0]);
  return stored;
}

/// How what a call passes is stored in the function: parts that a loop cuts lie whole along
/// dimension 0.
std::optional<Stored> Specializer::passedAs(OpOperand &operand) {
  std::optional<Stored> stored = storedAs(operand.get());
  if (stored && isCutOperand(operand.getOwner(), operand.getOperandNumber())) {
    stored->sharding.dims[0].clear();
    stored->freedom.open[0] = false;
  }
  return stored;
}

/// Calls with equal keys may share a function.
Attribute Specializer::keyOf(Operation *call) {
  MLIRContext *context = module.getContext();
  SmallVector<Attribute> key;
  for (OpOperand &operand : call->getOpOperands()) {
    std::optional<Stored> stored = passedAs(operand);
    key.push_back(stored ? Attribute(stored->sharding.toAttr(mesh, stored->freedom))
                         : UnitAttr::get(context));
  }
  auto caller = call->getParentOfType<func::FuncOp>();
  for (Value result : call->getResults()) {
    Attribute wanted = UnitAttr::get(context);
    for (OpOperand &use : result.getUses())
      if (isa<func::ReturnOp>(use.getOwner()))
        if (Attribute sharding = caller.getResultAttr(use.getOperandNumber(), attr::kSharding))
          wanted = sharding;
    key.push_back(wanted);
  }
  return ArrayAttr::get(context, key);
}

void Specializer::noteCalls(func::FuncOp function) {
  for (Operation &op : function.front())
    for (const CalledFunction &callee : getCalledFunctions(&op)) {
      Calls &calls = callsOf[callee.name.getAttr()];
      if (calls.empty() || calls.back() != &op) // A branch may call one function on both sides.
        calls.push_back(&op);
    }
}

void Specializer::markArguments(func::FuncOp function, ArrayRef<Operation *> calls) {
  auto operandOf = [](Operation *call, unsigned argument) -> OpOperand & {
    return call->getOpOperand(getCalledFunctions(call).front().firstOperand + argument);
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::optional<Stored> stored = passedAs(operandOf(calls.front(), i));
    if (!stored)
      continue;
    for (Operation *call : calls.drop_front())
      stored->name = commonName(stored->name, passedAs(operandOf(call, i))->name);
    function.setArgAttr(i, attr::kSharding, stored->sharding.toAttr(mesh, stored->freedom));
    function.setArgAttr(i, attr::kStored, StringAttr::get(module.getContext(), stored->name));
  }
}

void Specializer::specialize(func::FuncOp function) {
  llvm::MapVector<Attribute, Calls> groups;
  for (Operation *call : callsOf.lookup(function.getSymNameAttr()))
    groups[keyOf(call)].push_back(call);
  SmallVector<func::FuncOp> copies;
  for (size_t i = 1; i < groups.size(); ++i)
    copies.push_back(function.clone());
  func::FuncOp last = function;
  for (auto [number, group] : llvm::enumerate(groups)) {
    func::FuncOp target = number ? copies[number - 1] : function;
    if (number) {
      symbols.insert(target, std::next(Block::iterator(last)));
      for (Operation *call : group.second)
        replaceCallee(call, function.getSymNameAttr(), target.getSymNameAttr());
      noteCalls(target);
      last = target;
    }
    markArguments(target, group.second);
  }
}

namespace {
struct DistSpecialize : dist::impl::DistSpecializeBase<DistSpecialize> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (mesh && failed(Specializer(getOperation(), mesh).run()))
      signalPassFailure();
  }
};
} // namespace
