//===- SinkSums.cpp - --graph-sink-sums -----------------------------------===//
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/Transforms/CarriedSums.h"
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "dialects/graph/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHSINKSUMS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

/// Whether a value is memory that a sum may be made in: whoever adds to it is its only reader.
static bool isAccumulator(Value value, const DenseSet<Operation *> &sums) {
  if (!value.hasOneUse())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return bool(function.getArgAttr(argument.getArgNumber(), attr::kDonate));
  }
  return isa<func::CallOp, LoopOp>(value.getDefiningOp()) || sums.contains(value.getDefiningOp());
}

static bool isBefore(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->isBeforeInBlock(op);
}

static Value otherOperand(AddOp add, Value operand) {
  return add.getLhs() == operand ? add.getRhs() : add.getLhs();
}

/// Only what is computed there is worth it: another op, as a collective, has its result in memory.
static bool isComputed(Value value) {
  return isa_and_nonnull<FusibleOp, func::CallOp, LoopOp>(value.getDefiningOp());
}

namespace {
using Calls = SmallVector<func::CallOp>;

/// What a caller makes of one result: it adds it to something, perhaps as a wider type.
struct Reading {
  Value value; ///< the result, or what it is widened to
  AddOp add;   ///< null: a sum of zero begins
};

/// A result that callers add up.
struct Summand {
  unsigned result;
  Type type;                     ///< of the sum
  SmallVector<Reading> readings; ///< by call; of one that was changed, nothing is left
};

/// Moves additions from the callers of one function into it.
class SumSinker {
public:
  SumSinker(func::FuncOp function, ArrayRef<func::CallOp> calls)
      : function(function), body(function.getBody().front()), calls(calls) {}

  void run() {
    for (unsigned result = 0; result < function.getNumResults(); ++result)
      if (std::optional<Summand> found = findSummand(result))
        summands.push_back(std::move(*found));
    if (summands.empty())
      return;
    changeFunction();
    for (auto [number, call] : llvm::enumerate(calls))
      changeCall(call, number);
  }

private:
  std::optional<Summand> findSummand(unsigned result) const {
    Value made = body.getTerminator()->getOperand(result);
    auto type = cast<RankedTensorType>(made.getType());
    if (type.getRank() == 0 || !isa<FloatType>(type.getElementType()) || !made.hasOneUse() ||
        !isComputed(made))
      return std::nullopt;
    Summand summand{
        result, read(func::CallOp(calls.front()).getResult(result)).value.getType(), {}};
    DenseMap<Operation *, func::CallOp> lastOf; // Of two that one addition reads.
    for (func::CallOp call : calls) {
      Reading reading = read(call.getResult(result));
      if (reading.add) {
        func::CallOp &last = lastOf.try_emplace(reading.add, call).first->second;
        if (last->isBeforeInBlock(call))
          last = call;
      }
      summand.readings.push_back(reading);
    }
    DenseSet<Operation *> sums; // Calls give them when all is done.
    for (auto [add, call] : lastOf)
      sums.insert(add);
    for (const Reading &reading : summand.readings)
      sums.insert(reading.value.getDefiningOp());
    size_t starts = 0;
    for (auto [call, reading] : llvm::zip_equal(calls, summand.readings)) {
      if (reading.value.getType() != summand.type)
        return std::nullopt;
      if (reading.add && !isSumBehind(call, reading, lastOf, sums))
        reading.add = nullptr;
      starts += !reading.add;
    }
    // A sum that begins costs as much as an addition that is saved.
    return 2 * starts <= calls.size() ? std::optional(summand) : std::nullopt;
  }

  static Reading read(Value result) {
    if (!result.hasOneUse())
      return {result, nullptr};
    Operation *user = *result.user_begin();
    if (auto convert = dyn_cast<ConvertOp>(user); convert && convert->hasOneUse())
      if (auto add = dyn_cast<AddOp>(*convert->user_begin()))
        return {convert, add};
    return {result, dyn_cast<AddOp>(user)};
  }

  /// Whether the call could have been given what its result is added to.
  static bool isSumBehind(func::CallOp call, const Reading &reading,
                          const DenseMap<Operation *, func::CallOp> &lastOf,
                          const DenseSet<Operation *> &sums) {
    Value before = otherOperand(reading.add, reading.value);
    return lastOf.lookup(reading.add) == call && isBefore(before, call) &&
           isAccumulator(before, sums);
  }

  void changeFunction() {
    Operation *terminator = body.getTerminator();
    SmallVector<Type> results(function.getResultTypes());
    for (const Summand &summand : summands) {
      OpOperand &returned = terminator->getOpOperand(summand.result);
      Value made = returned.get();
      Location loc = locationOf(made, summand);
      unsigned number = function.getNumArguments();
      OpBuilder builder(function.getContext());
      NamedAttribute donate(builder.getStringAttr(attr::kDonate),
                            builder.getI64IntegerAttr(summand.result));
      (void)function.insertArgument(number, summand.type, builder.getDictionaryAttr(donate), loc);
      builder.setInsertionPointAfter(made.getDefiningOp());
      if (made.getType() != summand.type)
        made = ConvertOp::create(builder, loc, summand.type, made);
      returned.set(AddOp::create(builder, loc, function.getArgument(number), made));
      results[summand.result] = summand.type;
    }
    function.setType(
        FunctionType::get(function.getContext(), function.getArgumentTypes(), results));
  }

  /// That of what is added, and of where it was.
  static Location locationOf(Value made, const Summand &summand) {
    for (const Reading &reading : summand.readings)
      if (AddOp add = reading.add)
        return FusedLoc::get(made.getContext(), {made.getLoc(), add.getLoc()});
    return made.getLoc();
  }

  void changeCall(func::CallOp call, size_t number) {
    OpBuilder builder(call);
    SmallVector<Value> operands(call.getOperands()), values(call.getResults());
    for (const Summand &summand : summands) {
      const Reading &reading = summand.readings[number];
      auto type = cast<RankedTensorType>(summand.type);
      AddOp add = reading.add;
      operands.push_back(add ? otherOperand(add, reading.value)
                             : GraphBuilder(builder, call.getLoc()).splat(type, 0));
      values[summand.result] = add ? add.getResult() : reading.value;
    }
    auto changed = func::CallOp::create(builder, call.getLoc(), function, operands);
    changed->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    for (auto [before, after] : llvm::zip_equal(values, changed.getResults()))
      before.replaceAllUsesWith(after);
    for (const Summand &summand : summands)
      for (Operation *op = values[summand.result].getDefiningOp(); op != call.getOperation();) {
        Value summed = isa<AddOp>(op) ? summand.readings[number].value : op->getOperand(0);
        op->erase();
        op = summed.getDefiningOp();
      }
    call.erase();
  }

  func::FuncOp function;
  Block &body;
  ArrayRef<func::CallOp> calls;
  SmallVector<Summand> summands;
};

/// A loop whose sum begins with zero begins with what is added to it.
void sinkIntoLoops(func::FuncOp function, const FunctionGraph &functions) {
  for (auto add : llvm::make_early_inc_range(function.getBody().front().getOps<AddOp>()))
    for (Value sum : {add.getRhs(), add.getLhs()}) {
      auto loop = sum.getDefiningOp<LoopOp>();
      if (!loop || !sum.hasOneUse())
        continue;
      unsigned result = cast<OpResult>(sum).getResultNumber();
      std::optional<unsigned> carried = loop.getCarriedOperand(result);
      Value before = otherOperand(add, sum);
      func::FuncOp body = functions.lookup(loop.getLoopBody().getAttr());
      if (!carried || !matchPattern(loop->getOperand(*carried), m_AnyZeroFloat()) ||
          !isAccumulator(before, {}) || !isBefore(before, loop) ||
          !getAddend(body.getArgument(*carried),
                     body.getBody().front().getTerminator()->getOperand(result)))
        continue;
      loop->setOperand(*carried, before);
      add.replaceAllUsesWith(sum);
      add.erase();
      break;
    }
}

struct SinkSums : minigptc::graph::impl::GraphSinkSumsBase<SinkSums> {
  void runOnOperation() override {
    FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    // Callers first: a sum goes down as far as it can. Calls are replaced, and looked up anew.
    DenseMap<Operation *, Calls> callsOf;
    for (func::FuncOp function : llvm::reverse(functions->getPostOrder())) {
      if (function.isExternal() || function->hasAttr(attr::kHost))
        continue;
      if (const Calls &calls = callsOf[function];
          !calls.empty() && functions->hasFreeSignature(function))
        SumSinker(function, calls).run();
      sinkIntoLoops(function, *functions);
      function.walk([&](func::CallOp call) {
        if (func::FuncOp callee = functions->getCallee(call))
          callsOf[callee].push_back(call);
      });
    }
  }
};
} // namespace
