//===- InferIndexBounds.cpp - --graph-infer-index-bounds ------------------===//
//
// One walk over each function, last op to first, callees before callers: what must
// hold of a value's elements is known when the op that defines them comes, and goes
// on to its operands if it only moves elements.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "dialects/graph/Transforms/Passes.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHINFERINDEXBOUNDS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// What must hold of a part of a value.
struct Check {
  int64_t bound;
  std::optional<int64_t> ignored;
  IndexBox part;
  bool operator==(const Check &) const = default;
};
using Checks = SmallVector<Check, 1>;

class Inference {
public:
  explicit Inference(const FunctionGraph &functions) : functions(functions) {}

  void run(func::FuncOp function) {
    if (function.isDeclaration())
      return;
    for (Block &block : function.getBody())
      for (Operation &op : llvm::reverse(block))
        visit(&op);
    if (function->hasAttr(attr::kEntry))
      annotate(function);
  }

private:
  void visit(Operation *op) {
    if (auto indexing = dyn_cast<IndexingOp>(op))
      for (const IndexDomain &domain : indexing.getIndexDomains())
        demand(op->getOperand(domain.operand), domain);
    if (auto call = dyn_cast<func::CallOp>(op))
      demandOfCallee(call.getCalleeAttr(), call.getOperands());
    if (auto vjp = dyn_cast<VjpOp>(op))
      demandOfCallee(vjp.getCalleeAttr(), vjp.getInputs());
    if (auto mapped = dyn_cast<MappedCallOp>(op))
      demandOfParts(mapped.getMappedCallee(), op, [](unsigned) { return true; });
    if (auto loop = dyn_cast<LoopOp>(op))
      demandOfParts(loop.getLoopBody(), op, [&](unsigned i) { return loop.isCutOperand(i); });
    if (auto move = dyn_cast<ElementMoveOp>(op))
      for (const Check &check : checks.lookup(op->getResult(0)))
        for (OpOperand &operand : op->getOpOperands())
          if (std::optional<IndexBox> part =
                  move.getSourceBox(operand.getOperandNumber(), check.part))
            demand(operand.get(), {check.bound, check.ignored, *std::move(part)});
  }

  void demand(Value value, const IndexDomain &domain) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getNumElements() > 0 && domain.bound > 0)
      demand(value, {domain.bound, domain.ignored, IndexBox::whole(type.getShape())});
  }
  void demand(Value value, Check check) {
    Checks &known = checks[value];
    if (!llvm::is_contained(known, check))
      known.push_back(std::move(check));
  }
  void demandOfCallee(FlatSymbolRefAttr name, ValueRange operands) {
    func::FuncOp callee = functions.lookup(name.getAttr());
    if (!callee || callee.isDeclaration())
      return;
    for (auto [argument, operand] : llvm::zip(callee.getArguments(), operands))
      for (const Check &check : Checks(checks.lookup(argument)))
        demand(operand, check);
  }

  /// What is asked of all elements of every part, a device's or a call's, is asked of all elements.
  void demandOfParts(FlatSymbolRefAttr name, Operation *call, function_ref<bool(unsigned)> isPart) {
    func::FuncOp callee = functions.lookup(name.getAttr());
    if (!callee || callee.isDeclaration())
      return;
    for (auto [i, argument, operand] :
         llvm::enumerate(callee.getArguments(), call->getOperands()))
      for (const Check &check : Checks(checks.lookup(argument)))
        if (!isPart(i))
          demand(operand, check);
        else if (check.part.isWhole(cast<RankedTensorType>(argument.getType()).getShape()))
          demand(operand, IndexDomain{0, check.bound, check.ignored});
  }

  void annotate(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (auto found = checks.find(argument); found != checks.end())
        annotate(function, argument, found->second);
  }

  /// The least bound of the whole argument is its `graph.index_bound`; what that does not
  /// say is a check of its own.
  static void annotate(func::FuncOp function, BlockArgument argument, const Checks &found) {
    unsigned number = argument.getArgNumber();
    if (function.getArgAttr(number, attr::kIndexBound) ||
        function.getArgAttr(number, attr::kIndexChecks))
      return; // The program says itself what it may hold.
    ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
    int64_t bound = 0;
    for (const Check &check : found)
      if (check.part.isWhole(shape) && !check.ignored)
        bound = bound ? std::min(bound, check.bound) : check.bound;
    Builder builder(function.getContext());
    if (bound)
      function.setArgAttr(number, attr::kIndexBound, builder.getI64IntegerAttr(bound));
    SmallVector<Attribute> more;
    for (const Check &check : found)
      if (!bound || check.bound < bound)
        more.push_back(toAttribute(builder, check, shape));
    if (!more.empty())
      function.setArgAttr(number, attr::kIndexChecks, builder.getArrayAttr(more));
  }

  static Attribute toAttribute(Builder &builder, const Check &check, ArrayRef<int64_t> shape) {
    bool whole = check.part.isWhole(shape);
    auto part = [&](ArrayRef<int64_t> sizes) {
      return whole ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(sizes);
    };
    return IndexCheckAttr::get(builder.getContext(), check.bound, check.ignored,
                               part(check.part.start), part(check.part.limit),
                               part(check.part.strides));
  }

  const FunctionGraph &functions;
  DenseMap<Value, Checks> checks;
};

struct InferIndexBounds : minigptc::graph::impl::GraphInferIndexBoundsBase<InferIndexBounds> {
  void runOnOperation() override {
    FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    Inference inference(*functions);
    for (func::FuncOp function : functions->getPostOrder())
      inference.run(function);
  }
};

} // namespace
