//===- RecomputePrice.cpp -------------------------------------------------===//
#include "dialects/graph/Transforms/RecomputePrice.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {
class Pricing {
public:
  Pricing(const ResidualRequest &request, llvm::SetVector<Value> &saved)
      : request(request), saved(saved) {
    for (Value value : request.read)
      if (!saved.contains(value))
        repeated.insert_range(getRepetition(value.getDefiningOp()));
  }

  /// What costs little goes first: it makes other things dearer. Of what costs the
  /// same, the later is held up to half dearer, so that a plan can do without a part.
  void run() {
    double step = 0.5 / double(request.forwardOps.size());
    for (double share : {1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0})
      for (auto [i, op] : llvm::enumerate(request.forwardOps))
        consider(op, share * request.price / (1 + step * double(i)));
  }

private:
  using OpSet = llvm::SetVector<Operation *>;

  /// The ops that must run again if the results of `op` are not there: as far back
  /// as to saved values, arguments, and what runs again anyway.
  OpSet getRepetition(Operation *op) const {
    OpSet ops;
    if (!repeated.contains(op))
      ops.insert(op);
    for (size_t next = 0; next < ops.size(); ++next)
      for (Value operand : ops[next]->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (producer && !saved.contains(operand) && !repeated.contains(producer))
          ops.insert(producer);
      }
    return ops;
  }

  void consider(Operation *op, double price) {
    SmallVector<Value> results;
    double bytes = 0;
    for (Value result : op->getResults())
      if (saved.contains(result) && !request.returned.contains(result)) {
        results.push_back(result);
        bytes += minigptc::graph::detail::bytesOf(result.getType());
      }
    if (results.empty() || op->getNumOperands() == 0)
      return;
    for (Value result : results)
      saved.remove(result);
    OpSet ops = getRepetition(op);
    double cost = 0;
    for (Operation *repeatedOp : ops)
      cost += request.getCost(repeatedOp);
    if (cost > price * bytes) {
      saved.insert_range(results);
      return;
    }
    repeated.insert_range(ops);
    llvm::for_each(results, request.giveUp);
  }

  const ResidualRequest &request;
  llvm::SetVector<Value> &saved;
  DenseSet<Operation *> repeated;
};
} // namespace

void minigptc::graph::giveUpSaved(const ResidualRequest &request, llvm::SetVector<Value> &saved) {
  if (request.price > 0)
    Pricing(request, saved).run();
}
