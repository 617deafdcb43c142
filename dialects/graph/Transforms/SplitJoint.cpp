//===- SplitJoint.cpp - the joint program becomes two functions -----------===//
#include "dialects/graph/Transforms/FunctionDifferentiator.h"
#include "dialects/graph/Transforms/Residuals.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace minigptc::graph;

/// The backward ops that the gradients are computed from.
void FunctionDifferentiator::collectBackwardOps() {
  SmallVector<Value> worklist(roots);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (op && !isForward(op) && backwardOps.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  }
}

/// Decides what is saved, and what has to be computed again from that.
void FunctionDifferentiator::planBackward() {
  collectBackwardOps();
  ValueSet read;
  auto demand = [&](Value value) {
    if (isArgument(value))
      neededArguments.set(cast<BlockArgument>(value).getArgNumber());
    else if (isForward(value.getDefiningOp()))
      read.insert(value);
  };
  llvm::for_each(roots, demand);
  for (Operation *op : backwardOps)
    llvm::for_each(op->getOperands(), demand);

  auto results = body.getTerminator()->getOperands();
  ValueSet returned(results.begin(), results.end());
  auto isProduct = [&](Operation *op) { return parent.isProduct(op); };
  auto getCost = [&](Operation *op) { return parent.getCost(op); };
  auto giveUp = [&](Value value) {
    parent.recomputed.push_back({value.getType(), value.getLoc()});
  };
  SmallVector<Value> candidates = chooseResiduals(
      {forwardOps, read, key.policy, isProduct, returned, parent.recomputePrice, getCost, giveUp});
  ValueSet chosen(candidates.begin(), candidates.end());
  for (Operation *op : llvm::reverse(forwardOps)) {
    bool isRepeated = llvm::any_of(op->getResults(), [&](Value result) {
      return read.contains(result) && !chosen.contains(result);
    });
    if (isRepeated)
      llvm::for_each(op->getOperands(), demand);
  }
  for (Value candidate : candidates)
    if (read.contains(candidate))
      saved.insert(candidate);
}

/// Copies what computes a forward value, as far as it is not there.
void FunctionDifferentiator::emitForwardOps(Value value, OpBuilder &backward, IRMapping &map) {
  SmallVector<Operation *> stack;
  auto push = [&](Value needed) {
    if (!map.contains(needed) && isForward(needed.getDefiningOp()))
      stack.push_back(needed.getDefiningOp());
  };
  push(value);
  while (!stack.empty()) {
    Operation *op = stack.back();
    size_t before = stack.size();
    llvm::for_each(op->getOperands(), push);
    if (stack.size() != before)
      continue;
    stack.pop_back();
    SmallVector<std::pair<Value, Value>> there;
    for (Value result : op->getResults())
      if (map.contains(result))
        there.push_back({result, map.lookup(result)});
    if (there.size() == op->getNumResults())
      continue; // on the stack twice
    parent.silence(backward.clone(*op, map));
    for (auto [result, copy] : there)
      map.map(result, copy);
  }
}

/// Recomputed ops stand right before the first op that reads them, so that
/// little is alive at a time.
void FunctionDifferentiator::buildBackward() {
  SmallVector<Value> inputs;
  for (unsigned argument : neededArguments.set_bits()) {
    derivative->residuals.push_back({Residual::Source::argument, argument});
    inputs.push_back(body.getArgument(argument));
  }
  llvm::append_range(inputs, saved);
  llvm::append_range(inputs, body.getArguments().drop_front(numArguments));

  Location loc = joint->getLoc();
  auto type = FunctionType::get(joint->getContext(), ValueRange(inputs).getTypes(),
                                ValueRange(roots).getTypes());
  auto function = func::FuncOp::create(loc, joint->getSymName(), type);
  function.setPrivate();
  if (Attribute policy = joint->getOperation()->getAttr(attr::kRemat))
    function->setAttr(attr::kRemat, policy);
  Block *block = function.addEntryBlock();
  OpBuilder backward = OpBuilder::atBlockEnd(block);
  IRMapping map;
  for (auto [input, argument] : llvm::zip(inputs, block->getArguments())) {
    argument.setLoc(input.getLoc());
    map.map(input, argument);
  }
  auto lookup = [&](Value value) {
    emitForwardOps(value, backward, map);
    return map.lookup(value);
  };
  for (Operation &op : body.without_terminator()) {
    if (!backwardOps.contains(&op))
      continue;
    llvm::for_each(op.getOperands(), lookup);
    backward.clone(op, map);
  }
  func::ReturnOp::create(backward, loc, llvm::map_to_vector(roots, lookup));
  derivative->backward = function;
}

/// What is left of the joint program without the backward ops.
void FunctionDifferentiator::buildForward() {
  Operation *terminator = body.getTerminator();
  auto eraseIf = [&](function_ref<bool(Operation *)> goes) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (&op != terminator && goes(&op))
        op.erase();
  };
  eraseIf([&](Operation *op) { return !isForward(op); });
  body.eraseArguments(numArguments, body.getNumArguments() - numArguments);

  SmallVector<Value> results(terminator->getOperands());
  for (Value value : saved) {
    unsigned number = llvm::find(results, value) - results.begin();
    derivative->residuals.push_back({Residual::Source::forwardResult, number});
    if (number == results.size())
      results.push_back(value);
  }
  terminator->setOperands(results);
  joint->setType(FunctionType::get(joint->getContext(), joint->getArgumentTypes(),
                                   ValueRange(results).getTypes()));
  // Graph functions have no side effects but for prints, so calls go like other ops.
  eraseIf([&](Operation *op) {
    return op->use_empty() && (isMemoryEffectFree(op) || isa<func::CallOp>(op)) &&
           !parent.prints(op);
  });
  for (Operation &op : llvm::make_early_inc_range(body))
    parent.dropUnusedSaves(&op);
  derivative->forward = joint.release();
}
