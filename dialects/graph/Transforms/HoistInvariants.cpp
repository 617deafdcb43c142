//===- HoistInvariants.cpp - --graph-hoist-invariants ---------------------===//
#include "dialects/graph/Transforms/Passes.h"
#include "dialects/graph/Transforms/SimplifyLoops.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHHOISTINVARIANTS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

/// Whether an op only says where elements are, or that they are all one number: kernels that read
/// its result compute it on the way.
static bool isFree(Operation *op) {
  auto fusible = dyn_cast<FusibleOp>(op);
  return fusible && (fusible.getFusionKind() == FusionKind::data_movement ||
                     fusible.getFusionKind() == FusionKind::broadcast);
}

namespace {
/// One body and the scans that call it.
class Hoister {
public:
  Hoister(func::FuncOp body, ArrayRef<Operation *> loops, const FunctionGraph &functions)
      : body(body), block(body.getBody().front()), loops(loops), functions(functions),
        numConstants(cast<ScanOp>(loops.front()).getConstants().size()) {}

  void run() {
    findInvariant();
    keepWorthwhile();
    if (hoisted.empty())
      return;
    for (Operation *loop : loops)
      computeBefore(cast<ScanOp>(loop));
    for (auto [number, value] : llvm::enumerate(hoisted.getArrayRef())) {
      (void)body.insertArgument(numConstants + number, value.getType(), {}, value.getLoc());
      Value(value).replaceAllUsesWith(body.getArgument(numConstants + number));
    }
    eraseDeadOps(block, functions);
  }

private:
  bool isInvariant(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getArgNumber() < numConstants;
    return invariant.contains(value.getDefiningOp());
  }

  void findInvariant() {
    for (Operation &op : block.without_terminator())
      if (functions.isPure(&op) &&
          llvm::all_of(op.getOperands(), [&](Value operand) { return isInvariant(operand); }))
        invariant.insert(&op);
  }

  /// From the end: of what stays in the body, the operands may be worth it.
  void keepWorthwhile() {
    for (Operation &op : llvm::reverse(block.without_terminator())) {
      if (!invariant.contains(&op))
        continue;
      SmallVector<Value> needed;
      for (Value result : op.getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return !invariant.contains(user); }))
          needed.push_back(result);
      if (needed.empty())
        continue; // For others that are hoisted, or for nobody.
      if (isWorthwhile(&op, needed))
        hoisted.insert_range(needed);
      else
        invariant.remove(&op);
    }
  }

  /// Something is computed, of an argument, and takes no more memory than what it is made of.
  bool isWorthwhile(Operation *op, ArrayRef<Value> needed) const {
    llvm::SetVector<Operation *> ops = opsBehind(op);
    llvm::SetVector<Value> arguments;
    for (Operation *before : ops)
      for (Value operand : before->getOperands())
        if (isa<BlockArgument>(operand))
          arguments.insert(operand);
    return minigptc::graph::detail::bytesOf(ValueRange(needed).getTypes()) <=
               minigptc::graph::detail::bytesOf(ValueRange(arguments.getArrayRef()).getTypes()) &&
           !llvm::all_of(ops, isFree);
  }

  /// An op, and all that it is computed by, in no order.
  static llvm::SetVector<Operation *> opsBehind(Operation *op) {
    llvm::SetVector<Operation *> ops;
    ops.insert(op);
    for (size_t next = 0; next < ops.size(); ++next)
      for (Value operand : ops[next]->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          ops.insert(producer);
    return ops;
  }

  void computeBefore(ScanOp loop) {
    llvm::SetVector<Operation *> needed;
    for (Value value : hoisted)
      needed.insert_range(opsBehind(value.getDefiningOp()));
    OpBuilder builder(loop);
    IRMapping map;
    for (auto [number, value] : llvm::enumerate(loop.getConstants()))
      map.map(body.getArgument(number), value);
    for (Operation &op : block.without_terminator())
      if (needed.contains(&op))
        builder.clone(op, map);
    for (Value value : hoisted)
      loop.getConstantsMutable().append(map.lookup(value));
  }

  func::FuncOp body;
  Block &block;
  ArrayRef<Operation *> loops;
  const FunctionGraph &functions;
  unsigned numConstants;
  llvm::SetVector<Operation *> invariant;
  llvm::SetVector<Value> hoisted;
};

struct HoistInvariants : minigptc::graph::impl::GraphHoistInvariantsBase<HoistInvariants> {
  void runOnOperation() override {
    FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    // Callees first: what comes out of a loop may come out of the one around it.
    for (func::FuncOp function : functions->getPostOrder())
      if (isBodyOfScans(function, *functions))
        Hoister(function, functions->getUses(function).others, *functions).run();
  }
};
} // namespace
