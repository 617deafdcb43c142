//===- CollectCollectives.cpp - the collectives of an entry ---------------===//
#include "compiler/explain/CollectCollectives.h"
#include "compiler/explain/Flights.h"
#include "compiler/explain/Places.h"
#include "compiler/explain/Roles.h"
#include "dialects/dist/IR/Sharding.h"
#include "dialects/graph/IR/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace minigptc;

namespace {

const char *nameOf(Phase phase) {
  return phase == Phase::forward ? "forward" : phase == Phase::backward ? "backward" : "update";
}

/// Whether an op calls a backward function, or is a loop that does, as that over micro-batches.
bool goesBack(Operation &op, const SymbolTable &symbols) {
  auto call = dyn_cast<func::CallOp>(op);
  auto loop = dyn_cast<graph::LoopOp>(op);
  if (!call && !loop)
    return false;
  auto callee =
      symbols.lookup<func::FuncOp>(call ? call.getCallee() : loop.getLoopBody().getValue());
  if (!callee)
    return false;
  return phaseOf(callee) == Phase::backward ||
         (loop && llvm::any_of(callee.getOps(),
                               [&](Operation &inner) { return goesBack(inner, symbols); }));
}

/// In a function that calls forward and backward functions, the step itself: what comes
/// before the first backward call is forward, what comes after the last is the update.
struct BackwardPart {
  BackwardPart(func::FuncOp function, const SymbolTable &symbols) {
    for (Operation &op : function.getOps())
      if (goesBack(op, symbols)) {
        first = exists ? first : &op;
        last = &op;
        exists = !phaseOf(function);
      }
  }
  Phase phaseAt(Operation *op) const {
    if (op->getBlock() != first->getBlock())
      return Phase::update;
    return op->isBeforeInBlock(first)  ? Phase::forward
           : op->isBeforeInBlock(last) ? Phase::backward
                                       : Phase::update;
  }
  Operation *first = nullptr, *last = nullptr;
  bool exists = false;
};

/// Counts how often each collective runs, by its phase.
class Walker {
public:
  explicit Walker(SymbolTable &symbols) : symbols(symbols) {}
  using Counts = llvm::MapVector<std::pair<Operation *, Phase>, int64_t>;

  Counts run(StringRef entry) {
    walk(entry, Phase::update, 1);
    return std::move(counts);
  }

private:
  /// A function that runs `times` more, for a caller of that phase. Callees are few and their
  /// calls many: a function is gone through once for each of its calls, which stays linear in
  /// the program for blocks that call no blocks.
  void walk(StringRef name, Phase caller, int64_t times) {
    auto function = symbols.lookup<func::FuncOp>(name);
    if (!function)
      return;
    Phase phase = phaseOf(function).value_or(caller);
    BackwardPart backward(function, symbols);
    function.walk([&](Operation *op) {
      if (backward.exists)
        phase = backward.phaseAt(op);
      if (auto collective = dyn_cast<dist::CollectiveOp>(op))
        counts[{op, backward.exists ? backward.phaseAt(reasonOf(collective)) : phase}] += times;
      else if (isa<dist::SendOp>(op))
        counts[{op, phaseOfMessage(op)}] += times;
      else if (auto call = dyn_cast<func::CallOp>(op))
        walk(call.getCallee(), phase, times);
      else if (auto loop = dyn_cast<graph::LoopOp>(op))
        walk(loop.getLoopBody().getValue(), phase, times * loop.getTripCount());
    });
  }

  /// What is gathered serves those who wait for it, and may start in the phase before.
  static Operation *reasonOf(dist::CollectiveOp op) {
    dist::WaitOp wait = dist::findWait(op);
    bool gathers = graph::detail::bytesOf(op->getResultTypes()) >
                   graph::detail::bytesOf(op->getOperandTypes());
    return wait && gathers ? wait.getOperation() : op.getOperation();
  }

  /// Activations and their gradients come from a task; a weight that two stages use, and numbers,
  /// do not.
  Phase phaseOfMessage(Operation *op) const {
    auto task = op->getOperand(0).getDefiningOp<func::CallOp>();
    return task ? phaseOf(symbols.lookup<func::FuncOp>(task.getCallee())).value_or(Phase::update)
                : Phase::update;
  }

  SymbolTable &symbols;
  Counts counts;
};

/// "f32[8,16]" or, of several, that of the largest and how many more there are.
std::string describeOperands(Operation *op, unsigned largest) {
  std::string text = graph::describe(op->getOperand(largest).getType());
  if (unsigned others = op->getNumOperands() - 1)
    text += " + " + std::to_string(others) + " more";
  return text;
}

template <typename Get>
std::string joined(ArrayRef<dist::OriginAttr> origins, unsigned first, Get get) {
  std::vector<std::string> parts;
  auto add = [&](dist::OriginAttr origin) {
    std::string part = get(origin).str();
    if (!part.empty() && !llvm::is_contained(parts, part))
      parts.push_back(part);
  };
  if (first < origins.size())
    add(origins[first]);
  for (dist::OriginAttr origin : origins)
    add(origin);
  return llvm::join(parts, "; ");
}

ExplainedCollective describeMessage(dist::SendOp op, Phase phase, int64_t times) {
  ExplainedCollective result;
  result.kind = "send_recv";
  result.axes = {dist::kStageAxis.str()};
  result.phase = nameOf(phase);
  result.count = times;
  result.bytes = double(graph::detail::bytesOf(op->getOperandTypes())) * double(times);
  result.tensor = describeOperands(op, 0);
  result.at = userPlaces(op->getLoc());
  result.why = "stage " + std::to_string(op.getTo()) +
               (phase == Phase::forward    ? " goes on with it"
                : phase == Phase::backward ? " goes back with it"
                                           : " needs it");
  return result;
}

ExplainedCollective describe(Operation *op, Phase phase, int64_t times, dist::MeshAttr mesh) {
  if (auto send = dyn_cast<dist::SendOp>(op))
    return describeMessage(send, phase, times);
  auto collective = cast<dist::CollectiveOp>(op);
  dist::Axes axes = dist::toAxes(collective.getAxes(), mesh);
  ExplainedCollective result;
  result.kind = op->getName().stripDialect().str();
  for (auto axis : collective.getAxes().getAsRange<StringAttr>())
    result.axes.push_back(axis.str());
  result.phase = nameOf(phase);
  result.count = times;
  unsigned largest = 0;
  double most = -1;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    double bytes = collective.getBytesSent(i, mesh.getSize(axes));
    result.bytes += bytes * double(times);
    if (bytes > most)
      most = bytes, largest = i;
  }
  result.tensor = describeOperands(op, largest);
  result.at = userPlaces(op->getLoc());
  SmallVector<dist::OriginAttr> origins;
  if (auto list = op->getAttrOfType<ArrayAttr>(dist::attr::kOrigins))
    for (Attribute origin : list)
      if (auto known = dyn_cast<dist::OriginAttr>(origin))
        origins.push_back(known);
  result.why = joined(origins, largest, [](dist::OriginAttr o) { return o.getWhy(); });
  result.annotation =
      joined(origins, largest, [](dist::OriginAttr o) { return o.getAnnotation(); });
  result.instead = joined(origins, largest, [](dist::OriginAttr o) { return o.getInstead(); });
  return result;
}

} // namespace

std::vector<ExplainedCollective> minigptc::collectCollectives(ModuleOp module, StringRef entry) {
  dist::MeshOp mesh = dist::findMesh(module);
  if (!mesh)
    return {};
  using Key = std::tuple<std::string, std::vector<std::string>, std::string, std::string,
                         std::vector<std::string>, std::string, Flight>;
  std::map<Key, size_t> known;
  SymbolTable symbols(module);
  MatmulFlops flops(module);
  bool overlaps = module->hasAttr(dist::attr::kOverlap);
  std::vector<ExplainedCollective> result;
  for (auto &[use, times] : Walker(symbols).run(entry)) {
    ExplainedCollective one = describe(use.first, use.second, times, mesh.getMesh());
    if (one.bytes == 0)
      continue;
    Flight flight;
    if (overlaps && isa<dist::CollectiveOp>(use.first))
      flight = findFlight(cast<dist::CollectiveOp>(use.first), symbols, flops);
    auto [found, isNew] = known.try_emplace(
        Key{one.kind, one.axes, one.phase, one.tensor, one.at, one.annotation, flight},
        result.size());
    if (isNew) {
      one.beside = flight.beside;
      one.besideFlops = flight.flops;
      one.behind = flight.behind;
      one.before = flight.before;
      result.push_back(std::move(one));
      continue;
    }
    result[found->second].count += one.count;
    result[found->second].bytes += one.bytes;
  }
  llvm::stable_sort(result, [](const auto &a, const auto &b) { return a.bytes > b.bytes; });
  return result;
}
