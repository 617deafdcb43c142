//===- Differentiator.cpp - forward and backward functions ----------------===//
#include "dialects/graph/Transforms/Differentiator.h"
#include "dialects/graph/IR/Pieces.h"
#include "dialects/graph/Transforms/FunctionDifferentiator.h"
#include "dialects/graph/Transforms/FusionCost.h"

using namespace mlir;
using namespace minigptc::graph;

Differentiator::Differentiator(ModuleOp module, double recomputePrice)
    : dependence([this](Operation *op) { return lookupAll(op); }), recomputePrice(recomputePrice) {
  for (auto function : module.getOps<func::FuncOp>())
    functions[function.getSymNameAttr()] = function;
}

func::FuncOp Differentiator::lookup(Operation *op) const {
  if (auto call = dyn_cast<func::CallOp>(op))
    return lookup(call.getCalleeAttr().getAttr());
  if (auto loop = dyn_cast<LoopOp>(op))
    return lookup(loop.getLoopBody().getAttr());
  auto mapped = dyn_cast<MappedCallOp>(op);
  return mapped ? lookup(mapped.getMappedCallee().getAttr()) : func::FuncOp();
}

SmallVector<func::FuncOp, 2> Differentiator::lookupAll(Operation *op) const {
  if (auto cond = dyn_cast<CondOp>(op))
    return {lookup(cond.getOnTrueAttr().getAttr()), lookup(cond.getOnFalseAttr().getAttr())};
  if (auto loop = dyn_cast<WhileOp>(op))
    return {lookup(loop.getBodyAttr().getAttr())};
  if (func::FuncOp callee = lookup(op))
    return {callee};
  return {};
}

DerivativeKey Differentiator::makeKey(func::FuncOp function, const BitVector &wanted,
                                      const BitVector &live, std::optional<RematPolicy> inherited) {
  DerivativeKey key{BitVector(wanted.size()), BitVector(live.size()), inherited};
  ArrayRef<BitVector> summary = dependence.ofResults(function);
  for (unsigned result : live.set_bits()) {
    BitVector reached = summary[result];
    reached &= wanted;
    key.wanted |= reached;
    key.live[result] = reached.any();
  }
  if (auto own = function->getAttrOfType<RematPolicyAttr>(attr::kRemat))
    key.policy = own.getValue();
  return key;
}

FailureOr<const Derivative *>
Differentiator::differentiate(func::FuncOp function, const BitVector &wanted, const BitVector &live,
                              std::optional<RematPolicy> inherited, Operation *origin) {
  if (function.isDeclaration() || !function.getBody().hasOneBlock()) {
    InFlightDiagnostic error =
        function.emitError("a function of one block is needed to differentiate ")
        << function.getSymName();
    error.attachNote(origin->getLoc()) << "needed for the gradient asked for here";
    return error;
  }
  DerivativeKey key = makeKey(function, wanted, live, inherited);
  for (const Entry &entry : derivatives[function])
    if (entry.first == key)
      return entry.second.get();
  auto derivative = FunctionDifferentiator(*this, function, key, origin).run();
  if (failed(derivative))
    return failure();
  Derivative &made = **derivative;
  if (made.exists()) {
    insert(made.forward, function, Phase::forward);
    insert(made.backward, function, Phase::backward);
    originals[made.forward] = function;
  }
  derivatives[function].emplace_back(key, std::move(*derivative));
  return &made;
}

func::CallOp Differentiator::callForward(OpBuilder &builder, Location loc,
                                         const Derivative &derivative, ValueRange arguments) {
  return func::CallOp::create(builder, loc, derivative.forward, arguments);
}

SmallVector<Value> Differentiator::callBackward(OpBuilder &builder, Location loc,
                                                const Derivative &derivative, ValueRange arguments,
                                                ValueRange forwardResults,
                                                ArrayRef<Value> cotangents) {
  SmallVector<Value> operands;
  for (Residual residual : derivative.residuals)
    operands.push_back(residual.source == Residual::Source::argument
                           ? arguments[residual.number]
                           : forwardResults[residual.number]);
  for (unsigned result : derivative.live.set_bits())
    operands.push_back(cotangents[result]);
  auto call = func::CallOp::create(builder, loc, derivative.backward, operands);
  return llvm::map_to_vector(derivative.gradients, [&](int number) {
    return number < 0 ? Value() : Value(call.getResult(number));
  });
}

void Differentiator::insert(func::FuncOp function, func::FuncOp original, Phase phase,
                            StringRef what) {
  setPhase(function, phase);
  insert(function, original, (what + (phase == Phase::forward ? ".fwd" : ".bwd")).str());
}

void Differentiator::insert(func::FuncOp function, func::FuncOp original, StringRef suffix) {
  std::string base = (original.getSymName() + suffix).str(), unique = base;
  auto toAttr = [&] { return StringAttr::get(function.getContext(), unique); };
  for (unsigned n = 1; functions.contains(toAttr()); ++n)
    unique = base + "." + std::to_string(n);
  function.setSymNameAttr(toAttr());
  functions[toAttr()] = function;
  func::FuncOp &after = lastOf.try_emplace(original, original).first->second;
  after->getBlock()->getOperations().insertAfter(after->getIterator(), function);
  after = function;
}

void Differentiator::dropUnusedSaves(Operation *call) {
  SmallVector<func::FuncOp, 2> plain;
  for (func::FuncOp callee : lookupAll(call))
    if (func::FuncOp original = originals.lookup(callee))
      plain.push_back(original);
  if (plain.empty() || plain.size() != lookupAll(call).size())
    return;
  unsigned kept = plain[0].getNumResults();
  if (!llvm::all_of(call->getResults().drop_front(kept),
                    [](Value saved) { return saved.use_empty(); }))
    return;
  Operation *without = callWithoutSaves(call, plain);
  markPiece(without, call);
  for (auto [before, after] : llvm::zip(call->getResults().take_front(kept), without->getResults()))
    before.replaceAllUsesWith(after);
  call->erase();
}

Operation *Differentiator::callWithoutSaves(Operation *call, ArrayRef<func::FuncOp> plain) {
  OpBuilder builder(call);
  func::FuncOp original = plain[0];
  unsigned kept = original.getNumResults();
  TypeRange types = call->getResults().take_front(kept).getTypes();
  if (auto mapped = dyn_cast<MappedCallOp>(call))
    return mapped.callMapped(builder, original, call->getOperands(),
                             mapped.getOperandMaps().getValue(),
                             mapped.getResultMaps().getValue().take_front(kept));
  if (auto loop = dyn_cast<ScanOp>(call))
    return ScanOp::create(builder, loop.getLoc(), types, original.getSymName(), loop.getConstants(),
                          loop.getCarried(), loop.getCut(), loop.getCount(), loop.getReverse());
  if (auto cond = dyn_cast<CondOp>(call))
    return CondOp::create(builder, cond.getLoc(), types, cond.getPredicate(), original.getSymName(),
                          func::FuncOp(plain[1]).getSymName(), cond.getInputs());
  return func::CallOp::create(builder, call->getLoc(), original, call->getOperands());
}

bool Differentiator::isProduct(Operation *op) {
  SmallVector<func::FuncOp, 2> callees = lookupAll(op);
  if (callees.empty()) {
    auto cost = dyn_cast<CostOp>(op);
    return cost && cost.getMatmulFlops() > 0;
  }
  return llvm::any_of(callees, [&](func::FuncOp callee) { return multipliesMatrices(callee); });
}

bool Differentiator::multipliesMatrices(func::FuncOp callee) {
  if (auto it = multiplies.find(callee); it != multiplies.end())
    return it->second;
  bool result = callee
                    .walk([&](Operation *inner) {
                      return isProduct(inner) ? WalkResult::interrupt() : WalkResult::advance();
                    })
                    .wasInterrupted();
  return multiplies[callee] = result;
}

double Differentiator::getCost(Operation *op) {
  SmallVector<func::FuncOp, 2> callees = lookupAll(op);
  if (callees.empty())
    return getOpCost(op);
  auto loop = dyn_cast<LoopOp>(op);
  double times = loop ? double(loop.getTripCount()) : 1, cost = 0;
  for (func::FuncOp callee : callees)
    cost = std::max(cost, getCost(callee));
  return times * cost;
}

double Differentiator::getCost(func::FuncOp callee) {
  if (auto it = costs.find(callee); it != costs.end())
    return it->second;
  double cost = 0;
  for (Operation &inner : callee.getBody().front().without_terminator())
    cost += getCost(&inner);
  return costs[callee] = cost;
}
