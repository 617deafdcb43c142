//===- ShardingTable.h - what propagation knows -----------------*- C++ -*-===//
//
// Beside the IR: for every op with factors the axes that cut them, for every argument and
// result of a function its sharding, and for each axis who decided it. The sharding of any
// other value follows.
//
//   FailureOr<ShardingTable> table = ShardingTable::build(module, mesh);
//   OpEntry *entry = table->lookup(op);            // null: a call, a return, a constraint
//   if (canCut(*entry, factor, axis, false, mesh)) entry->cut(factor, axis, decision);
//   table->shardingOf(value);
//
// What a value of several places has in common is a slot: an argument or result of a function,
// of which all calls have one sharding, a pinned value. Valid until ops are added or erased.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_SHARDINGTABLE_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_SHARDINGTABLE_H

#include "dialects/dist/Transforms/CallSites.h"
#include "dialects/dist/Transforms/OpSharding.h"
#include "dialects/dist/Transforms/ReshardPlan.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <deque>

namespace minigptc::dist {

/// Who may decide, strongest first; see docs/design/sharding.md.
enum class ClaimClass : uint8_t { follower, input, parameter, constraint, state, storage };

/// A clause for people: "an input is cut".
llvm::StringRef describe(ClaimClass claimClass);

/// The annotation from which a decision came.
struct Annotation {
  std::string text;    ///< "'batch.x' P('data', None)"
  bool uneven = false; ///< it asks for parts of unequal size
};

struct Decision {
  ClaimClass claimClass;
  const Annotation *annotation = nullptr;
};

/// An op that is no call, return or constraint. The axes of a `dist.manual` are decided from
/// the start.
struct OpEntry : OpSharding {
  mlir::Operation *op;
  /// Per axis: the factor that it cuts and who says so.
  llvm::SmallVector<std::optional<unsigned>, 2> factorOf;
  llvm::SmallVector<Decision, 2> decisions;

  void cut(unsigned factor, unsigned axis, Decision decision);
  void uncut(unsigned axis);
  bool isDecided(unsigned axis) const {
    return factorOf[axis] || llvm::is_contained(carried, axis);
  }

  static OpEntry of(mlir::Operation *op, MeshAttr mesh);
};

/// The factor of a dimension that one more axis may cut, if any.
std::optional<unsigned> factorAt(const OpEntry &entry, llvm::ArrayRef<graph::DimFactors> tensor,
                                 unsigned dim, MeshAttr mesh);
/// Whether an axis that cuts nothing of the op yet may cut a factor.
bool canCut(const OpEntry &entry, unsigned factor, unsigned axis, bool uneven, MeshAttr mesh);

/// An argument or result of a function (and of its relatives), or a pinned value.
struct Slot {
  std::string name; ///< for people
  mlir::RankedTensorType type;
  Sharding sharding;
  /// Which dimensions may be cut by more axes than the user says.
  Freedom freedom;
  /// The user's word, or how a parameter is stored.
  bool fixed = false;
  /// An argument that holds a parameter.
  bool stored = false;
  bool isArgument = false;
  /// What a loop carries from one call to the next: argument and result of its body.
  bool isCarried = false;
  /// A part of what a loop cuts or stacks: the whole is cut alike, but never along dimension 0.
  bool isPart = false;
  /// The value is pinned by it.
  ConstraintOp constraint;
  Annotation annotation = {};
  llvm::SmallVector<std::optional<Decision>, 2> decisions; ///< per axis: who added it
  /// What comes in (operands of calls, what is returned, what is pinned), and what it is inside
  /// or behind (the argument, results of calls, the pinned value).
  llvm::SmallVector<mlir::Value> sources, values;

  /// Whether it is the annotation that has an axis, if any.
  bool isAnnotated(unsigned axis) const { return fixed && !decisions[axis]; }
};

struct FunctionEntry {
  mlir::func::FuncOp function;
  mlir::func::ReturnOp terminator;
  /// A donated or carried argument and the result that takes its place are one slot. Relatives
  /// (functions that one op calls) share those of their arguments, and of results of equal types.
  std::vector<Slot *> arguments, results;
};

class ShardingTable {
public:
  static llvm::FailureOr<ShardingTable> build(mlir::ModuleOp module, MeshOp mesh);

  MeshAttr getMesh() const { return mesh; }
  unsigned getNumAxes() const { return mesh.getNames().size(); }
  /// Callees first, but for functions of the host.
  llvm::ArrayRef<FunctionEntry *> getFunctions() const { return order; }
  /// In the order of the program, callees first.
  std::deque<OpEntry> &getOps() { return ops; }
  /// Arguments, then results, then pinned values of each function.
  std::deque<Slot> &getSlots() { return slots; }

  OpEntry *lookup(mlir::Operation *op) const { return opOf.lookup(op); }
  /// The slot that gives a value its sharding: it is an argument, a call's result, pinned.
  Slot *slotOf(mlir::Value value) const { return slotOfValue.lookup(value); }
  /// The slot into which a use puts a value: it is a call's operand, returned, pinned.
  Slot *slotOf(mlir::OpOperand &use) const;

  /// As decided so far.
  Sharding shardingOf(mlir::Value value) const;
  /// What it costs to have a value otherwise, as the partitioner will do it.
  double reshardCost(mlir::RankedTensorType type, const Sharding &from, const Sharding &to) const;

  /// The slot of a stored parameter of which a value is a copy in another type or shape.
  const Slot *storedSlot(mlir::Value value) const;
  bool canCut(const Slot &slot, unsigned dim, unsigned axis, bool uneven) const;

private:
  void findRelatives();
  void addFunction(mlir::func::FuncOp function);
  void addSignature(FunctionEntry &entry);
  Slot &addArgument(FunctionEntry &entry, unsigned number, llvm::ArrayRef<CallSite> sites,
                    Slot *shared);
  Slot &addResult(FunctionEntry &entry, unsigned number, llvm::ArrayRef<CallSite> sites,
                  Slot *shared);
  void addPredicates(mlir::Operation *site);
  void addConstraint(ConstraintOp constraint);
  Slot &addSlot(mlir::RankedTensorType type, ShardingAttr annotation, const llvm::Twine &name);
  void addValue(Slot &slot, mlir::Value value);

  MeshAttr mesh;
  graph::FunctionGraph graph;
  std::deque<OpEntry> ops;
  std::deque<Slot> slots;
  std::deque<FunctionEntry> functions;
  llvm::SmallVector<FunctionEntry *> order;
  llvm::DenseMap<mlir::Operation *, OpEntry *> opOf;
  llvm::DenseMap<mlir::Operation *, FunctionEntry *> functionOf;
  llvm::DenseMap<mlir::Value, Slot *> slotOfValue;
  llvm::DenseMap<mlir::Operation *, Slot *> predicateOf;
  /// Functions that one op calls; those of each that have their entry already, by the leader.
  llvm::EquivalenceClasses<mlir::Operation *> relatives;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<FunctionEntry *, 2>> known;
  std::unique_ptr<ReshardPlanner> planner;
};

/// "state.params.layers.0.w" is "layers.0.w".
std::string shortName(llvm::StringRef path);
/// What an argument or result is called: by its name, or its number.
std::string describe(mlir::func::FuncOp function, unsigned number, bool isResult);
/// Whether an op is a matrix product, or has some.
bool isProduct(mlir::Operation *op);
/// The one large operand of an op that makes it in another type or shape, if it is such an op.
std::optional<unsigned> followedOperand(const OpEntry &entry);
/// Whether a value is a stored argument of its function, or its copy in another type or shape.
bool isCopyOfStored(mlir::Value value, MeshAttr mesh);
/// Whether each use of a value that wants it so gets a reshard of its own: what is gathered of
/// a stored tensor is not kept from one use to the next, which may be in the backward pass.
/// Buckets make one of those that stand together.
bool isGatheredAnew(mlir::Value value, const Sharding &from, const Sharding &to, MeshAttr mesh);
/// "P('data', None, ('x', 'y'))", as PartitionSpec::toString.
std::string toSpec(const Sharding &sharding, MeshAttr mesh);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_SHARDINGTABLE_H
