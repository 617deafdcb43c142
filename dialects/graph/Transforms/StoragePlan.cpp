//===- StoragePlan.cpp ----------------------------------------------------===//
#include "dialects/graph/Transforms/StoragePlan.h"

#include "dialects/graph/Transforms/FusionCost.h"
#include "dialects/graph/Transforms/GemmForm.h"
#include "dialects/graph/Transforms/RowSpace.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// Limits of one kernel: what it reads, and its ops.
constexpr size_t kMaxLeaves = 16;
constexpr size_t kMaxOps = 96;
/// Constants up to this size are data where a kernel does not contain them.
constexpr double kMaxConstantBytes = 64;

FusionKind getKind(Operation *op) { return cast<FusibleOp>(op).getFusionKind(); }

bool isSplatConstant(Operation *op) {
  auto constant = dyn_cast<ConstantOp>(op);
  return constant && isa<DenseElementsAttr>(constant.getValue()) &&
         cast<DenseElementsAttr>(constant.getValue()).isSplat();
}

/// A reshape for a sum over chunks of rows: the kernel that makes the rows may
/// compute the sum as well, which a view would hide.
bool isInRowWalk(ReshapeOp reshape) {
  return keepsColumns(reshape) && !reshape->use_empty() &&
         llvm::all_of(reshape->getUsers(), isPartialColumnSum);
}

bool isScalar(Value value) { return getNumElements(value) == 1; }

double getBytes(Value value) { return getNumElements(value) * getElementBytes(value); }

/// The number of inputs that a kernel of this op may have. Scalars are computed
/// with few: a chain over all parameters (the gradient norm) would else be cut
/// into kernels that depend on the number of layers.
size_t getMaxLeaves(Operation *op) {
  if (getKind(op) == FusionKind::elementwise && getNumElements(op->getResult(0)) == 1)
    return std::max<size_t>(2, op->getNumOperands());
  return kMaxLeaves;
}
} // namespace

StoragePlan::StoragePlan(Block &block) {
  classify(block);
  countMessages(block);
  for (Operation &op : block) {
    if (!isFused(&op) || isSplatConstant(&op))
      continue;
    if (auto reshape = dyn_cast<ReshapeOp>(op);
        reshape && !getInlined(reshape->getOpOperand(0)) && !isInRowWalk(reshape)) {
      fused.erase(&op); // A view of what is stored anyway.
      continue;
    }
    Tree tree = buildTree(&op);
    if (getKind(&op) != FusionKind::opaque)
      limitTree(&op, tree);
    if (needsStorage(&op) || isCheaperStored(&op, tree) || isSmallerStored(&op, tree))
      stored.insert(&op);
    trees[&op] = std::move(tree);
  }
}

void StoragePlan::countMessages(Block &block) {
  int64_t messages = 0;
  for (Operation &op : block) {
    messages += keepsPlace(&op);
    if (messages > 0)
      messagesBefore[&op] = messages;
  }
}

/// Whether a reader behind a message would keep more in memory than the value: a sum over
/// micro-batches that is made at the end, for one, all its summands.
bool StoragePlan::isSmallerStored(Operation *op, const Tree &tree) const {
  if (messagesBefore.empty() || llvm::all_of(op->getUsers(), [&](Operation *user) {
        return getMessagesBefore(user) == getMessagesBefore(op);
      }))
    return false;
  double read = 0;
  for (Value leaf : tree.leaves)
    read += getBytes(leaf);
  return read > getBytes(op->getResult(0));
}

/// Which ops kernels compute, readers before what they read.
void StoragePlan::classify(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    auto fusible = dyn_cast<FusibleOp>(op);
    if (!fusible || getGemmForm(&op))
      continue;
    if (auto reshape = dyn_cast<ReshapeOp>(op); reshape && !isInRowWalk(reshape)) {
      // Inside a kernel only on the way from a computed to a computed value.
      Operation *producer = reshape.getOperand().getDefiningOp();
      bool computed = producer && isa<FusibleOp>(producer) && !getGemmForm(producer) &&
                      getKind(producer) != FusionKind::reduction &&
                      getKind(producer) != FusionKind::opaque;
      if (!computed || !(isSplit(reshape) || keepsColumns(reshape)) ||
          llvm::any_of(op.getUses(), [&](OpOperand &use) { return readsMemory(use); }))
        continue;
    }
    if (isa<ConstantOp>(op)) {
      if (!isSplatConstant(&op))
        continue;
      // A large splat that is needed in memory is filled by a kernel.
      bool needed = llvm::any_of(op.getUses(), [&](OpOperand &use) { return readsMemory(use); });
      if (needed && getBytes(op.getResult(0)) > kMaxConstantBytes)
        stored.insert(&op);
    }
    fused.insert(&op);
  }
}

/// Whether a use reads memory, whatever the plan for the value. Ops of kind
/// opaque compute nothing on the way, but know splats.
bool StoragePlan::readsMemory(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (!isFused(user) || isa<WholeKernelOp>(user))
    return true;
  if (getKind(user) != FusionKind::opaque)
    return false;
  Operation *producer = use.get().getDefiningOp();
  return !producer || !isSplatConstant(producer) || getNumElements(use.get()) == 1;
}

bool StoragePlan::needsStorage(Operation *op) const {
  FusionKind kind = getKind(op);
  return kind == FusionKind::reduction || kind == FusionKind::opaque ||
         llvm::any_of(op->getUses(), [&](OpOperand &use) { return readsMemory(use); });
}

Operation *StoragePlan::getInlined(OpOperand &use) const {
  Operation *producer = use.get().getDefiningOp();
  if (!producer || !isFused(producer) || readsMemory(use))
    return nullptr;
  return isSplatConstant(producer) || !isStored(producer) ? producer : nullptr;
}

double StoragePlan::Tree::getCost() const {
  double cost = 0;
  for (Operation *op : ops)
    cost += getElementCost(op);
  return cost;
}

StoragePlan::Tree StoragePlan::buildTree(Operation *op) const {
  Tree tree;
  for (OpOperand &use : op->getOpOperands()) {
    Operation *producer = getInlined(use);
    if (!producer) {
      tree.leaves.insert(use.get());
      continue;
    }
    auto found = trees.find(producer);
    if (found == trees.end())
      continue; // A constant.
    tree.leaves.insert(found->second.leaves.begin(), found->second.leaves.end());
    tree.ops.insert(found->second.ops.begin(), found->second.ops.end());
  }
  tree.ops.insert(op);
  return tree;
}

/// Stores operands, the largest tree first, until the kernel is small enough.
void StoragePlan::limitTree(Operation *op, Tree &tree) {
  while (tree.leaves.size() > getMaxLeaves(op) || tree.ops.size() > kMaxOps) {
    Operation *largest = nullptr;
    for (OpOperand &use : op->getOpOperands()) {
      Operation *producer = getInlined(use);
      auto found = producer ? trees.find(producer) : trees.end();
      if (found == trees.end() || found->second.leaves.empty())
        continue;
      if (!largest || found->second.ops.size() > trees[largest].ops.size())
        largest = producer;
    }
    if (!largest)
      return;
    stored.insert(largest);
    tree = buildTree(op);
  }
}

bool StoragePlan::isCheaperStored(Operation *op, const Tree &tree) const {
  Value result = op->getResult(0);
  double elements = getNumElements(result), width = getElementBytes(result), reading = 0,
         cost = tree.getCost();
  for (Value leaf : tree.leaves) // A small operand is read from memory once.
    reading += getElementBytes(leaf) * std::min(1.0, getNumElements(leaf) / elements);

  // What depends on scalars only is computed once by each item of its readers.
  double perItem = elements == 1 && llvm::all_of(tree.leaves, isScalar) ? 1024 : 16;
  double computing = 0, stores = cost + reading + width + kLaunchCost / elements;
  SmallPtrSet<Operation *, 4> seen;
  for (OpOperand &use : op->getUses()) {
    if (!seen.insert(use.getOwner()).second)
      continue;
    double evaluations = getEvaluations(use);
    // Repeated computation sits outside of the inner loop as a rule.
    double repeated = evaluations > 1 ? std::max(1.0, evaluations / perItem) : evaluations;
    computing += repeated * (cost + reading);
    stores += repeated * width;
  }
  return computing > stores;
}
