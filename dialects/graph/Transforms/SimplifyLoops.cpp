//===- SimplifyLoops.cpp --------------------------------------------------===//
#include "dialects/graph/Transforms/SimplifyLoops.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// One body and the scans that call it.
class LoopSimplifier {
public:
  LoopSimplifier(func::FuncOp body, ArrayRef<ScanOp> loops, const FunctionGraph &functions)
      : body(body), block(body.getBody().front()), loops(loops), functions(functions),
        numConstants(ScanOp(loops[0]).getConstants().size()),
        numCarried(ScanOp(loops[0]).getCarried().size()) {}

  bool run() {
    findFixed();
    findNeeded();
    if (fixed.none() && neededArguments.all() && neededResults.all())
      return false;
    for (ScanOp loop : loops)
      rewrite(loop);
    rewriteBody();
    return true;
  }

private:
  bool isCarried(unsigned argument) const {
    return argument >= numConstants && argument < numConstants + numCarried;
  }
  BlockArgument carriedArgument(unsigned number) const {
    return block.getArgument(numConstants + number);
  }

  /// What is carried and comes out as it went in.
  void findFixed() {
    fixed.resize(numCarried);
    for (unsigned i = 0; i < numCarried; ++i)
      fixed[i] = block.getTerminator()->getOperand(i) == carriedArgument(i);
  }

  /// A carried result is needed if its argument is.
  void findNeeded() {
    Operation *terminator = block.getTerminator();
    neededResults.resize(terminator->getNumOperands());
    neededArguments.resize(block.getNumArguments());
    for (ScanOp loop : loops)
      for (OpResult result : loop->getResults())
        if (!result.use_empty())
          neededResults.set(result.getResultNumber());
    DenseSet<Operation *> visited;
    SmallVector<Value> worklist;
    for (unsigned result : neededResults.set_bits())
      worklist.push_back(terminator->getOperand(result));
    for (Operation &op : block.without_terminator())
      if (!functions.isPure(&op))
        llvm::append_range(worklist, op.getOperands());
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (Operation *op = value.getDefiningOp()) {
        if (visited.insert(op).second)
          llvm::append_range(worklist, op->getOperands());
        continue;
      }
      unsigned argument = cast<BlockArgument>(value).getArgNumber();
      neededArguments.set(argument);
      unsigned result = argument - numConstants;
      if (isCarried(argument) && !neededResults[result]) {
        neededResults.set(result);
        worklist.push_back(terminator->getOperand(result));
      }
    }
    for (unsigned i = 0; i < numCarried; ++i)
      neededArguments[numConstants + i] = neededResults[i];
  }

  /// Whether a carried value stays one.
  bool staysCarried(unsigned number) const { return neededResults[number] && !fixed[number]; }

  void rewrite(ScanOp loop) {
    SmallVector<Value> constants, carried, cut, kept;
    SmallVector<Type> types;
    for (auto [i, value] : llvm::enumerate(loop.getConstants()))
      if (neededArguments[i])
        constants.push_back(value);
    for (auto [i, value] : llvm::enumerate(loop.getCarried())) {
      if (fixed[i])
        loop.getResult(i).replaceAllUsesWith(value);
      if (staysCarried(i))
        carried.push_back(value);
      else if (neededArguments[numConstants + i])
        constants.push_back(value);
    }
    for (auto [i, value] : llvm::enumerate(loop.getCut()))
      if (neededArguments[numConstants + numCarried + i])
        cut.push_back(value);
    for (OpResult result : loop->getResults()) {
      unsigned i = result.getResultNumber();
      if (i < numCarried ? staysCarried(i) : neededResults[i]) {
        kept.push_back(result);
        types.push_back(result.getType());
      }
    }
    OpBuilder builder(loop);
    auto other = ScanOp::create(builder, loop.getLoc(), types, loop.getCallee(), constants, carried,
                                cut, loop.getCount(), loop.getReverse());
    other->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    for (auto [before, after] : llvm::zip_equal(kept, other.getResults()))
      before.replaceAllUsesWith(after);
    loop.erase();
  }

  void rewriteBody() {
    BitVector goingResults(neededResults.size());
    for (unsigned i = 0; i < neededResults.size(); ++i)
      goingResults[i] = i < numCarried ? !staysCarried(i) : !neededResults[i];
    block.getTerminator()->eraseOperands(goingResults);
    eraseDeadOps(block, functions);
    BitVector goingArguments(neededArguments);
    goingArguments.flip();
    unsigned constants = numConstants, staying = 0;
    for (unsigned i = 0; i < numCarried; ++i) {
      staying += staysCarried(i);
      if (!fixed[i] || !neededResults[i])
        continue;
      BlockArgument argument = block.getArgument(constants + i);
      BlockArgument constant =
          block.insertArgument(constants++, argument.getType(), argument.getLoc());
      block.getArgument(constants + i).replaceAllUsesWith(constant);
      goingArguments.resize(goingArguments.size() + 1);
      for (unsigned j = goingArguments.size() - 1; j >= constants; --j)
        goingArguments[j] = goingArguments[j - 1];
      goingArguments.reset(constants - 1);
      goingArguments.set(constants + i);
    }
    unsigned firstCarried = 0;
    for (unsigned i = 0; i < constants; ++i)
      firstCarried += !goingArguments[i];
    block.eraseArguments(goingArguments);
    Builder builder(body.getContext());
    body.removeArgAttrsAttr();
    body.removeResAttrsAttr();
    body.setType(builder.getFunctionType(block.getArgumentTypes(),
                                         block.getTerminator()->getOperandTypes()));
    for (unsigned i = 0; i < staying; ++i)
      body.setArgAttr(firstCarried + i, attr::kDonate, builder.getI64IntegerAttr(i));
  }

  func::FuncOp body;
  Block &block;
  ArrayRef<ScanOp> loops;
  const FunctionGraph &functions;
  unsigned numConstants, numCarried;
  BitVector fixed, neededResults, neededArguments;
};

} // namespace

bool minigptc::graph::isBodyOfScans(func::FuncOp function, const FunctionGraph &functions) {
  const FunctionGraph::Uses &uses = functions.getUses(function);
  return isPrivateWithBody(function) && uses.calls.empty() && !uses.others.empty() &&
         llvm::all_of(uses.others, llvm::IsaPred<ScanOp>);
}

/// Callers first: all scans of a body are known, and none of them dead, when its turn comes.
bool minigptc::graph::simplifyLoops(const FunctionGraph &functions) {
  bool changed = false;
  DenseSet<Operation *> bodies;
  for (func::FuncOp function : functions.getPostOrder())
    if (isBodyOfScans(function, functions))
      bodies.insert(function);
  DenseMap<Operation *, SmallVector<ScanOp>> loopsOf;
  for (func::FuncOp function : llvm::reverse(functions.getPostOrder())) {
    if (auto loops = loopsOf.find(function); loops != loopsOf.end())
      changed |= LoopSimplifier(function, loops->second, functions).run();
    function.walk([&](ScanOp loop) {
      if (func::FuncOp body = functions.lookup(loop.getCalleeAttr().getAttr());
          bodies.contains(body))
        loopsOf[body].push_back(loop);
    });
  }
  return changed;
}
