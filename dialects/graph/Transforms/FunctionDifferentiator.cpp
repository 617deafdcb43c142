//===- FunctionDifferentiator.cpp - the reverse sweep ---------------------===//
//
// The split of the joint program is in SplitJoint.cpp.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Transforms/FunctionDifferentiator.h"
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/IR/Pieces.h"

using namespace mlir;
using namespace minigptc::graph;

FunctionDifferentiator::FunctionDifferentiator(Differentiator &parent, func::FuncOp function,
                                               const DerivativeKey &key, Operation *origin)
    : parent(parent), key(key), origin(origin), joint(function.clone()),
      body(joint->getBody().front()), numArguments(function.getNumArguments()),
      numResults(function.getNumResults()), builder(function.getContext()),
      neededArguments(function.getNumArguments()), derivative(std::make_unique<Derivative>()) {
  // The copies are functions of their own: nothing that entries carry stays.
  joint->setPrivate();
  joint->getOperation()->removeAttr(attr::kEntry);
  joint->removeArgAttrsAttr();
  joint->removeResAttrsAttr();
}

FailureOr<std::unique_ptr<Derivative>> FunctionDifferentiator::run() {
  decomposeActiveOps();
  if (failed(sweep()))
    return failure();
  derivative->live = key.live;
  derivative->gradients.assign(numArguments, -1);
  for (BlockArgument argument : body.getArguments().take_front(numArguments)) {
    Value gradient = cotangentOf.lookup(argument);
    if (!gradient || !key.wanted[argument.getArgNumber()])
      continue;
    derivative->gradients[argument.getArgNumber()] = roots.size();
    roots.push_back(gradient);
  }
  if (roots.empty())
    return std::move(derivative);
  planBackward();
  buildBackward();
  buildForward(); // last: it takes the joint program apart
  return std::move(derivative);
}

bool FunctionDifferentiator::isArgument(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getArgNumber() < numArguments;
}

/// The values of a range whose bit is set.
static SmallVector<Value> pick(ValueRange values, const BitVector &bits) {
  SmallVector<Value> picked;
  for (unsigned i : bits.set_bits())
    picked.push_back(values[i]);
  return picked;
}

/// A decomposition may hold composites again, hence the loop.
void FunctionDifferentiator::decomposeActiveOps() {
  for (bool changed = true; changed;) {
    changed = false;
    ValueSet depending = parent.dependence.dependingOn(pick(body.getArguments(), key.wanted), body);
    ValueSet influencing =
        parent.dependence.influencing(pick(body.getTerminator()->getOperands(), key.live), body);
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      auto decomposable = dyn_cast<DecomposableOp>(op);
      bool isActive = llvm::any_of(op.getResults(), [&](Value result) {
        return depending.contains(result) && influencing.contains(result);
      });
      if (!isActive || !decomposable || isa<DifferentiableOp>(op))
        continue;
      builder.setInsertionPoint(&op);
      op.replaceAllUsesWith(decomposable.decompose(builder));
      op.erase();
      changed = true;
    }
  }
}

LogicalResult FunctionDifferentiator::sweep() {
  for (Operation &op : body.without_terminator()) {
    forwardOps.push_back(&op);
    forwardSet.insert(&op);
  }
  varied = parent.dependence.dependingOn(pick(body.getArguments(), key.wanted), body);
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);
  for (unsigned result : key.live.set_bits()) {
    Value returned = terminator->getOperand(result);
    Value cotangent = body.addArgument(returned.getType(), terminator->getLoc());
    accumulate(returned, cotangent, terminator->getLoc());
  }
  for (Operation *&op : llvm::reverse(forwardOps))
    if (failed(differentiateOp(op)))
      return failure();
  return success();
}

/// Contributions are added in the order of the sweep: from the last use of a
/// value to the first, and by operand number within an op.
void FunctionDifferentiator::accumulate(Value value, Value cotangent, Location loc) {
  auto [it, isNew] = cotangentOf.try_emplace(value, cotangent);
  if (!isNew)
    it->second = AddOp::create(builder, loc, it->second, cotangent);
}

LogicalResult FunctionDifferentiator::differentiateOp(Operation *&op) {
  SmallVector<Value> cotangents;
  SmallVector<bool> wanted;
  bool isReached = false, isVaried = false;
  for (Value result : op->getResults()) {
    cotangents.push_back(varied.contains(result) ? cotangentOf.lookup(result) : Value());
    isReached |= bool(cotangents.back());
  }
  for (Value operand : op->getOperands()) {
    wanted.push_back(varied.contains(operand));
    isVaried |= wanted.back();
  }
  if (!isReached || !isVaried)
    return success();

  SmallVector<Value> gradients(op->getNumOperands());
  LogicalResult result =
      isa<func::CallOp>(op)   ? differentiateCall(op, cotangents, wanted, gradients)
      : isa<MappedCallOp>(op) ? differentiateMapped(op, cotangents, wanted, gradients)
      : isa<LoopOp>(op)       ? differentiateLoop(op, cotangents, wanted, gradients)
      : isa<CondOp>(op)       ? differentiateCond(op, cotangents, wanted, gradients)
                              : buildVjp(op, cotangents, wanted, gradients);
  if (failed(result))
    return failure();
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (gradient && wanted[i])
      accumulate(op->getOperand(i), gradient, op->getLoc());
  return success();
}

LogicalResult FunctionDifferentiator::buildVjp(Operation *op, ArrayRef<Value> cotangents,
                                               ArrayRef<bool> wanted,
                                               MutableArrayRef<Value> gradients) {
  // Whoever finds the error, it names the gradient too.
  ScopedDiagnosticHandler notes(op->getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostic.attachNote(origin->getLoc()) << "needed for the gradient asked for here";
    return failure(); // The next handler reports it.
  });
  auto differentiable = dyn_cast<DifferentiableOp>(op);
  if (!differentiable)
    return op->emitError() << "'" << op->getName() << "' has no derivative";
  return differentiable.buildVjp(builder, cotangents, wanted, gradients);
}

FailureOr<const Derivative *>
FunctionDifferentiator::differentiateCallee(func::FuncOp callee, ArrayRef<Value> cotangents,
                                            ArrayRef<bool> wanted) {
  BitVector wantedArguments(wanted.size()), live(cotangents.size());
  for (auto [i, isWanted] : llvm::enumerate(wanted))
    wantedArguments[i] = isWanted;
  for (auto [i, cotangent] : llvm::enumerate(cotangents))
    live[i] = bool(cotangent);
  return differentiateCallee(callee, wantedArguments, live);
}

FailureOr<const Derivative *> FunctionDifferentiator::differentiateCallee(func::FuncOp callee,
                                                                          const BitVector &wanted,
                                                                          const BitVector &live) {
  // A callee that is computed again as a whole decides for itself.
  bool inherits = key.policy && *key.policy != RematPolicy::nothing;
  return parent.differentiate(callee, wanted, live, inherits ? key.policy : std::nullopt, origin);
}

/// A call of the forward function in place of the function's.
void FunctionDifferentiator::replaceForward(Operation *&op, Operation *forward) {
  op->replaceAllUsesWith(forward->getResults().take_front(op->getNumResults()));
  forwardSet.erase(op);
  op->erase();
  op = forward;
  forwardSet.insert(op);
}

LogicalResult FunctionDifferentiator::differentiateCall(Operation *&op, ArrayRef<Value> cotangents,
                                                        ArrayRef<bool> wanted,
                                                        SmallVectorImpl<Value> &gradients) {
  auto inner = differentiateCallee(parent.lookup(op), cotangents, wanted);
  if (failed(inner))
    return failure();
  if (!(*inner)->exists())
    return success();
  OpBuilder forwardBuilder(op);
  auto forward = parent.callForward(forwardBuilder, op->getLoc(), **inner, op->getOperands());
  markPiece(forward, op);
  replaceForward(op, forward);
  gradients = parent.callBackward(builder, forward.getLoc(), **inner, forward.getOperands(),
                                  forward.getResults(), cotangents);
  for (Value gradient : gradients)
    if (gradient)
      markPiece(gradient.getDefiningOp(), forward, /*backward=*/true);
  return success();
}

LogicalResult FunctionDifferentiator::differentiateMapped(Operation *&op,
                                                          ArrayRef<Value> cotangents,
                                                          ArrayRef<bool> wanted,
                                                          SmallVectorImpl<Value> &gradients) {
  func::FuncOp callee = parent.lookup(op);
  auto inner = differentiateCallee(callee, cotangents, wanted);
  if (failed(inner))
    return failure();
  if (!(*inner)->exists())
    return success();
  const Derivative &made = parent.withDimensions(callee, **inner);
  auto call = cast<MappedCallOp>(op);
  CallMaps maps{SmallVector<Attribute>(call.getOperandMaps().getValue()),
                SmallVector<Attribute>(call.getResultMaps().getValue())};
  OpBuilder forwardBuilder(op);
  replaceForward(op, parent.callForward(forwardBuilder, call, made, maps));
  gradients = parent.callBackward(builder, cast<MappedCallOp>(op), made, maps, op->getResults(),
                                  cotangents);
  return success();
}

/// What is carried is wanted where a call makes it from what is wanted, and has a cotangent where
/// a call makes what has one from it.
LogicalResult FunctionDifferentiator::differentiateLoop(Operation *&op, ArrayRef<Value> cotangents,
                                                        ArrayRef<bool> wanted,
                                                        SmallVectorImpl<Value> &gradients) {
  auto loop = cast<ScanOp>(op);
  func::FuncOp body = parent.lookup(op);
  LoopShape shape(loop);
  BitVector wantedArguments(shape.numArguments), live(shape.numResults);
  for (auto [i, isWanted] : llvm::enumerate(wanted))
    wantedArguments[i] = isWanted;
  for (auto [i, cotangent] : llvm::enumerate(cotangents))
    live[i] = bool(cotangent);
  ArrayRef<BitVector> depends = parent.dependence.ofResults(body);
  for (unsigned round = 0; round < shape.numCarried; ++round)
    for (unsigned i = 0; i < shape.numCarried; ++i) {
      if (depends[i].anyCommon(wantedArguments))
        wantedArguments.set(shape.numConstants + i);
      for (unsigned result : live.set_bits())
        if (depends[result][shape.numConstants + i])
          live.set(i);
    }
  auto inner = differentiateCallee(body, wantedArguments, live);
  if (failed(inner))
    return failure();
  if (!(*inner)->exists())
    return success();
  OpBuilder forwardBuilder(op);
  ScanOp forward = parent.callForward(forwardBuilder, loop, **inner);
  replaceForward(op, forward);
  gradients = parent.callBackward(builder, forward, shape, **inner, cotangents);
  return success();
}

LogicalResult FunctionDifferentiator::differentiateCond(Operation *&op, ArrayRef<Value> cotangents,
                                                        ArrayRef<bool> wanted,
                                                        SmallVectorImpl<Value> &gradients) {
  SmallVector<const Derivative *> made;
  for (func::FuncOp callee : parent.lookupAll(op)) {
    auto inner = differentiateCallee(callee, cotangents, wanted.drop_front()); // the predicate
    if (failed(inner))
      return failure();
    made.push_back(*inner);
  }
  if (!made[0]->exists() && !made[1]->exists())
    return success();
  const BranchDerivative &derivative =
      parent.branchDerivative(cast<CondOp>(op), *made[0], *made[1]);
  OpBuilder forwardBuilder(op);
  CondOp forward = parent.callForward(forwardBuilder, cast<CondOp>(op), derivative);
  replaceForward(op, forward);
  gradients = parent.callBackward(builder, forward, derivative, cotangents);
  return success();
}
