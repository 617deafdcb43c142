//===- Flights.cpp - what goes on beside a collective ---------------------===//
#include "compiler/explain/Flights.h"
#include "dialects/graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace minigptc;

static constexpr char kKernel[] = "kernel", kProduct[] = "product";

/// What a plan calls an op; empty: nothing is computed there.
static StringRef nameOf(Operation *op, SymbolTable &symbols) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    Operation *callee = symbols.lookup(call.getCallee());
    return callee && callee->hasAttr(graph::attr::kKernel) ? StringRef(kKernel) : call.getCallee();
  }
  if (auto loop = dyn_cast<graph::LoopOp>(op))
    return loop.getLoopBody().getValue();
  auto cost = dyn_cast<graph::CostOp>(op);
  return cost && cost.getMatmulFlops() > 0 ? StringRef(kProduct) : StringRef();
}

/// "a product", "3 kernels", "transformer_block.bwd", "2 x block".
static std::string counted(StringRef name, int64_t count) {
  bool isKind = name == kKernel || name == kProduct;
  if (count == 1)
    return (isKind ? "a " : "") + name.str();
  return std::to_string(count) + (isKind ? " " + name.str() + "s" : " x " + name.str());
}

Flight minigptc::findFlight(dist::CollectiveOp op, SymbolTable &symbols, MatmulFlops &flops) {
  Flight flight;
  dist::WaitOp wait = dist::findWait(op);
  for (Operation *last = op->getPrevNode(); last && flight.behind.empty();
       last = last->getPrevNode())
    if (StringRef name = nameOf(last, symbols); !name.empty())
      flight.behind = counted(name, 1);
  for (Operation *next = wait ? wait.getOperation() : op.getOperation();
       next && flight.before.empty(); next = next->getNextNode())
    if (StringRef name = nameOf(next, symbols); !name.empty())
      flight.before = counted(name, 1);
  if (!wait)
    return flight;
  llvm::MapVector<StringRef, int64_t> beside;
  for (Operation *next = op->getNextNode(); next != wait; next = next->getNextNode()) {
    flight.flops += flops.ofOp(next);
    if (StringRef name = nameOf(next, symbols); !name.empty())
      ++beside[name];
  }
  for (auto [name, count] : beside)
    flight.beside.push_back(counted(name, count));
  return flight;
}
