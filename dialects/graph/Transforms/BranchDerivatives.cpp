//===- BranchDerivatives.cpp - derivatives of branches --------------------===//
//
// A branch is differentiated by two, with its predicate: one calls the functions' forward
// functions, the other their backward functions. What a function saves goes into slots, which the
// other function uses, too, where types agree, and else fills with zeros.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Transforms/Differentiator.h"
#include "dialects/graph/Transforms/FunctionWriter.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// Of one of the two functions.
struct Side {
  func::FuncOp function;
  const Derivative *derivative;
  SmallVector<int> slotOf; ///< per residual, or -1: an argument or a result of the function

  bool isSaved(Residual residual) {
    return residual.source == Residual::Source::forwardResult &&
           residual.number >= function.getNumResults();
  }
};

/// The number of `value` in a list, to which it is added if need be.
unsigned numberIn(SmallVectorImpl<unsigned> &list, unsigned value) {
  unsigned number = llvm::find(list, value) - list.begin();
  if (number == list.size())
    list.push_back(value);
  return number;
}

/// Makes the functions of both branches.
class BranchWriter {
public:
  BranchWriter(Side onTrue, Side onFalse, BranchDerivative &made)
      : sides{std::move(onTrue), std::move(onFalse)}, made(made) {}

  void write() {
    for (Side &side : sides)
      plan(side);
    for (unsigned i : {0, 1}) {
      made.forward[i] = writeForward(sides[i]);
      made.backward[i] = writeBackward(sides[i]);
    }
  }

private:
  void plan(Side &side) {
    if (!side.derivative->exists())
      return;
    SmallVector<bool> taken(made.slots.size(), false);
    for (Residual residual : side.derivative->residuals) {
      side.slotOf.push_back(-1);
      if (residual.source == Residual::Source::argument) {
        numberIn(made.arguments, residual.number);
      } else if (!side.isSaved(residual)) {
        numberIn(made.results, residual.number);
      } else {
        Type type = func::FuncOp(side.derivative->forward).getResultTypes()[residual.number];
        unsigned slot = 0;
        while (slot < made.slots.size() && (taken[slot] || made.slots[slot] != type))
          ++slot;
        if (slot == made.slots.size()) {
          made.slots.push_back(type);
          taken.push_back(false);
        }
        taken[slot] = true;
        side.slotOf.back() = int(slot);
      }
    }
    for (unsigned result : side.derivative->live.set_bits())
      numberIn(made.live, result);
    for (auto [argument, gradient] : llvm::enumerate(side.derivative->gradients))
      if (gradient >= 0)
        numberIn(made.gradients, argument);
  }

  Value zeros(FunctionWriter &f, Type type) { return f.b.splat(cast<RankedTensorType>(type), 0); }

  func::FuncOp writeForward(Side &side) {
    FunctionWriter f(side.function.getLoc(), side.function.getContext());
    SmallVector<Value> arguments;
    for (Type type : side.function.getArgumentTypes())
      arguments.push_back(f.addArgument(type));
    bool exists = side.derivative->exists();
    auto called = f.call(exists ? side.derivative->forward : side.function, arguments);
    SmallVector<Value> results(called.take_front(side.function.getNumResults()));
    SmallVector<Value> slots(made.slots.size());
    for (auto [slot, residual] : llvm::zip(side.slotOf, side.derivative->residuals))
      if (slot >= 0)
        slots[slot] = called[residual.number];
    for (auto [slot, type] : llvm::zip(slots, made.slots))
      results.push_back(slot ? slot : zeros(f, type));
    return f.finish(results);
  }

  /// Called with arguments, results, slots and cotangents.
  func::FuncOp writeBackward(Side &side) {
    FunctionWriter f(side.function.getLoc(), side.function.getContext());
    SmallVector<Value> arguments, results, slots, cotangents;
    for (unsigned number : made.arguments)
      arguments.push_back(f.addArgument(side.function.getArgumentTypes()[number]));
    for (unsigned number : made.results)
      results.push_back(f.addArgument(side.function.getResultTypes()[number]));
    for (Type type : made.slots)
      slots.push_back(f.addArgument(type));
    for (unsigned number : made.live)
      cotangents.push_back(f.addArgument(side.function.getResultTypes()[number]));
    SmallVector<Value> gradients(made.gradients.size());
    if (side.derivative->exists()) {
      SmallVector<Value> operands;
      for (auto [slot, residual] : llvm::zip(side.slotOf, side.derivative->residuals))
        operands.push_back(slot >= 0 ? slots[slot]
                           : residual.source == Residual::Source::argument
                               ? arguments[numberIn(made.arguments, residual.number)]
                               : results[numberIn(made.results, residual.number)]);
      for (unsigned number : side.derivative->live.set_bits())
        operands.push_back(cotangents[numberIn(made.live, number)]);
      auto called = f.call(side.derivative->backward, operands);
      for (auto [value, argument] : llvm::zip(gradients, made.gradients))
        if (int number = side.derivative->gradients[argument]; number >= 0)
          value = called[number];
    }
    for (auto [value, argument] : llvm::zip(gradients, made.gradients))
      if (!value)
        value = zeros(f, side.function.getArgumentTypes()[argument]);
    return f.finish(gradients);
  }

  Side sides[2];
  BranchDerivative &made;
};

} // namespace

const BranchDerivative &Differentiator::branchDerivative(CondOp op, const Derivative &onTrue,
                                                         const Derivative &onFalse) {
  std::unique_ptr<BranchDerivative> &made = branches[{&onTrue, &onFalse}];
  if (made)
    return *made;
  made = std::make_unique<BranchDerivative>();
  func::FuncOp functions[] = {lookup(op.getOnTrueAttr().getAttr()),
                              lookup(op.getOnFalseAttr().getAttr())};
  BranchWriter({functions[0], &onTrue, {}}, {functions[1], &onFalse, {}}, *made).write();
  for (unsigned i : {0, 1}) {
    insert(made->forward[i], functions[i], Phase::forward, ".cond");
    insert(made->backward[i], functions[i], Phase::backward, ".cond");
    originals[made->forward[i]] = functions[i];
  }
  return *made;
}

CondOp Differentiator::callForward(OpBuilder &builder, CondOp op,
                                   const BranchDerivative &derivative) {
  func::FuncOp onTrue = derivative.forward[0], onFalse = derivative.forward[1];
  return CondOp::create(builder, op.getLoc(), onTrue.getResultTypes(), op.getPredicate(),
                        onTrue.getSymName(), onFalse.getSymName(), op.getInputs());
}

SmallVector<Value> Differentiator::callBackward(OpBuilder &builder, CondOp forward,
                                                const BranchDerivative &derivative,
                                                ArrayRef<Value> cotangents) {
  GraphBuilder b(builder, forward.getLoc());
  SmallVector<Value> operands;
  for (unsigned number : derivative.arguments)
    operands.push_back(forward.getInputs()[number]);
  for (unsigned number : derivative.results)
    operands.push_back(forward.getResult(number));
  llvm::append_range(operands, forward.getResults().take_back(derivative.slots.size()));
  for (unsigned number : derivative.live)
    operands.push_back(cotangents[number] ? cotangents[number]
                                          : b.zerosLike(forward.getResult(number)));
  func::FuncOp onTrue = derivative.backward[0], onFalse = derivative.backward[1];
  auto op =
      CondOp::create(builder, forward.getLoc(), onTrue.getResultTypes(), forward.getPredicate(),
                     onTrue.getSymName(), onFalse.getSymName(), operands);
  SmallVector<Value> gradients(forward->getNumOperands()); // The predicate's is none.
  for (auto [argument, result] : llvm::zip_equal(derivative.gradients, op.getResults()))
    gradients[argument + 1] = result;
  return gradients;
}
