//===- Residuals.cpp - what is saved for the backward pass ----------------===//
#include "dialects/graph/Transforms/Residuals.h"
#include "dialects/graph/Transforms/RecomputePrice.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// Longest computation, in ops, that is repeated for one value by default.
constexpr size_t kMaxRepeatedOps = 32;

std::optional<FusionKind> getKind(Operation *op) {
  if (auto fusible = dyn_cast<FusibleOp>(op))
    return fusible.getFusionKind();
  return std::nullopt;
}

bool isCheap(Operation *op) {
  std::optional<FusionKind> kind = getKind(op);
  return kind && op->getNumResults() == 1 &&
         (*kind == FusionKind::elementwise || *kind == FusionKind::broadcast ||
          *kind == FusionKind::data_movement);
}

/// The default policy.
class CheapestResiduals {
public:
  explicit CheapestResiduals(const ResidualRequest &request) : request(request) {}

  void choose(llvm::SetVector<Value> &saved) {
    forEachRead([&](Value value, Operation *op) {
      if (!isCheap(op))
        save(value, saved);
    });
    // Values saved early on make later ones cheap.
    forEachRead([&](Value value, Operation *op) {
      if (!available.contains(value))
        decide(value, op, saved);
    });
  }

private:
  using ValueSetVector = llvm::SetVector<Value>;

  void forEachRead(function_ref<void(Value, Operation *)> visit) {
    for (Operation *op : request.forwardOps)
      for (Value result : op->getResults())
        if (request.read.contains(result))
          visit(result, op);
  }

  void save(Value value, ValueSetVector &saved) {
    saved.insert(value);
    available.insert(value);
  }

  bool isAvailable(Value value) const {
    return isa<BlockArgument>(value) || available.contains(value);
  }

  /// Repeats the cheap ops that lead to the value, if what they start from is
  /// there, or takes fewer bytes. Moved data is repeated at equal bytes too:
  /// the source may serve others.
  void decide(Value value, Operation *op, ValueSetVector &saved) {
    llvm::SetVector<Operation *> repeated;
    ValueSetVector sources;
    repeated.insert(op);
    for (size_t next = 0; next < repeated.size(); ++next)
      for (Value operand : repeated[next]->getOperands()) {
        if (isAvailable(operand))
          continue;
        Operation *producer = operand.getDefiningOp();
        if (isCheap(producer))
          repeated.insert(producer);
        else
          sources.insert(operand);
      }
    double sourceBytes = 0, bytes = minigptc::graph::detail::bytesOf(value.getType());
    for (Value source : sources)
      sourceBytes += minigptc::graph::detail::bytesOf(source.getType());
    bool pays = sources.empty() || sourceBytes < bytes ||
                (sourceBytes == bytes && getKind(op) != FusionKind::elementwise);
    if (!pays || repeated.size() > kMaxRepeatedOps)
      return save(value, saved);
    for (Value source : sources)
      save(source, saved);
    for (Operation *cheap : repeated)
      available.insert(cheap->getResult(0));
  }

  const ResidualRequest &request;
  /// Saved values, and those that are computed again anyway.
  DenseSet<Value> available;
};

/// `dots`: walks back from what is read to the nearest products.
void chooseProducts(const ResidualRequest &request, llvm::SetVector<Value> &saved) {
  DenseSet<Value> needed = request.read;
  for (Operation *op : llvm::reverse(request.forwardOps)) {
    auto isNeeded = [&](Value result) { return needed.contains(result); };
    if (llvm::none_of(op->getResults(), isNeeded))
      continue;
    if (request.isProduct(op))
      llvm::for_each(llvm::make_filter_range(op->getResults(), isNeeded),
                     [&](Value result) { saved.insert(result); });
    else
      needed.insert(op->operand_begin(), op->operand_end());
  }
}

} // namespace

SmallVector<Value> minigptc::graph::chooseResiduals(const ResidualRequest &request) {
  llvm::SetVector<Value> saved;
  if (!request.policy) {
    CheapestResiduals(request).choose(saved);
    giveUpSaved(request, saved);
  } else if (*request.policy == RematPolicy::dots) {
    chooseProducts(request, saved);
  } else if (*request.policy == RematPolicy::everything) {
    saved.insert(request.read.begin(), request.read.end());
  }

  SmallVector<Value> inOrder;
  for (Operation *op : request.forwardOps)
    for (Value result : op->getResults())
      if (saved.contains(result) && op->getNumOperands() != 0)
        inOrder.push_back(result);
  return inOrder;
}
