//===- Schedule.cpp - --graph-schedule ------------------------------------===//
#include "dialects/graph/Transforms/Passes.h"

#include <set>

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHSCHEDULE
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

/// What a call may add to the bytes alive for being made earlier.
static constexpr int64_t kGatheredBytes = 16384;

namespace {
/// A value's memory: bytes that live from the op that makes it to its last
/// reader. Views are part of what they show.
struct Buffer {
  int64_t bytes = 0;
  SmallVector<unsigned> readers; // numbers of ops, each once, ascending
};

/// The ops of a block (without its terminator), by number, and what they need.
class Problem {
public:
  explicit Problem(Block &block) {
    for (Operation &op : block.without_terminator())
      numbers[&op] = ops.size(), ops.push_back(&op);
    reads.resize(ops.size());
    makes.resize(ops.size());
    dependents.resize(ops.size());
    missing.resize(ops.size());
    DenseMap<Value, unsigned> bufferOf;
    std::optional<unsigned> lastPrint;
    for (auto [number, op] : llvm::enumerate(ops)) {
      addReads(number, op, bufferOf, prints(op) ? lastPrint : std::nullopt);
      if (prints(op))
        lastPrint = number;
      addResults(number, op, bufferOf);
    }
    // What is returned is the caller's memory and stays.
    for (Value operand : block.getTerminator()->getOperands())
      if (auto found = bufferOf.find(operand); found != bufferOf.end())
        buffers[found->second].bytes = 0;
  }

  size_t size() const { return ops.size(); }

  int64_t getAllocated(unsigned op) const {
    int64_t bytes = 0;
    for (unsigned buffer : makes[op])
      bytes += buffers[buffer].bytes;
    return bytes;
  }

  std::vector<Operation *> ops;
  std::vector<Buffer> buffers;
  std::vector<SmallVector<unsigned>> reads, makes; // buffers, per op
  std::vector<SmallVector<unsigned>> dependents;   // ops, per op
  std::vector<unsigned> missing;                   // ops that must come before

private:
  /// `after`: another op that comes before it.
  void addReads(unsigned number, Operation *op, DenseMap<Value, unsigned> &bufferOf,
                std::optional<unsigned> after) {
    llvm::SmallSetVector<unsigned, 4> read, before;
    if (after)
      before.insert(*after);
    for (Value operand : op->getOperands()) {
      if (Operation *producer = operand.getDefiningOp())
        before.insert(numbers[producer]);
      if (auto found = bufferOf.find(operand); found != bufferOf.end() && !isa<ReshapeOp>(op))
        read.insert(found->second);
    }
    for (unsigned producer : before)
      dependents[producer].push_back(number);
    missing[number] = before.size();
    for (unsigned buffer : read)
      buffers[buffer].readers.push_back(number);
    reads[number].assign(read.begin(), read.end());
  }

  void addResults(unsigned number, Operation *op, DenseMap<Value, unsigned> &bufferOf) {
    if (isa<ConstantOp>(op))
      return;
    if (isa<ReshapeOp>(op)) {
      if (auto found = bufferOf.find(op->getOperand(0)); found != bufferOf.end()) {
        unsigned buffer = found->second;
        bufferOf[op->getResult(0)] = buffer;
      }
      return;
    }
    for (Value result : op->getResults()) {
      bufferOf[result] = buffers.size();
      makes[number].push_back(buffers.size());
      buffers.push_back({int64_t(minigptc::graph::detail::bytesOf(result.getType())), {}});
    }
  }

  DenseMap<Operation *, unsigned> numbers;
};

/// The bytes alive while an order runs, and how many readers each buffer still has.
class Liveness {
public:
  explicit Liveness(const Problem &problem) : problem(problem) {
    for (const Buffer &buffer : problem.buffers)
      remaining.push_back(buffer.readers.size());
  }

  /// What running an op next would add to the bytes alive.
  int64_t getGrowth(unsigned op) const {
    int64_t growth = problem.getAllocated(op);
    for (unsigned buffer : problem.reads[op])
      if (remaining[buffer] == 1)
        growth -= problem.buffers[buffer].bytes;
    return growth;
  }

  /// Gives the buffers of which one reader is left.
  SmallVector<unsigned> run(unsigned op) {
    peak = std::max(peak, live + problem.getAllocated(op));
    live += getGrowth(op);
    for (unsigned buffer : problem.makes[op]) // Nobody reads it.
      if (remaining[buffer] == 0)
        live -= problem.buffers[buffer].bytes;
    SmallVector<unsigned> lastReader;
    for (unsigned buffer : problem.reads[op])
      if (--remaining[buffer] == 1)
        lastReader.push_back(buffer);
    return lastReader;
  }

  int64_t getPeak() const { return peak; }

private:
  const Problem &problem;
  std::vector<size_t> remaining;
  int64_t live = 0, peak = 0;
};

/// The greedy order; `peak` gets its bytes.
std::vector<unsigned> schedule(const Problem &problem, int64_t &peak) {
  Liveness liveness(problem);
  std::vector<unsigned> missing = problem.missing, order;
  std::vector<int64_t> growth(problem.size());
  std::vector<bool> done(problem.size());
  std::set<std::pair<int64_t, unsigned>> ready;
  auto makeReady = [&](unsigned op) {
    growth[op] = liveness.getGrowth(op);
    ready.emplace(growth[op], op);
  };
  for (unsigned op = 0; op < problem.size(); ++op)
    if (missing[op] == 0)
      makeReady(op);
  while (!ready.empty()) {
    unsigned op = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(op);
    done[op] = true;
    for (unsigned buffer : liveness.run(op)) {
      // Its last reader now frees it: that may bring the reader forward.
      for (unsigned reader : problem.buffers[buffer].readers)
        if (!done[reader] && ready.erase({growth[reader], reader}))
          makeReady(reader);
    }
    for (unsigned dependent : problem.dependents[op])
      if (--missing[dependent] == 0)
        makeReady(dependent);
  }
  peak = liveness.getPeak();
  return order;
}

/// Small results of equal calls are made together, so that they do not take turns in one
/// piece of memory, and one launch can make them (see --exec-group-launches).
void gatherCalls(Block &block) {
  // Places in the block: of the op that stays, and behind it. (The block's own order would be
  // numbered anew after each move.)
  DenseMap<Operation *, std::pair<int64_t, int64_t>> places;
  for (Operation &op : block)
    places.try_emplace(&op, int64_t(places.size()), 0);
  DenseMap<Attribute, Operation *> last;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    auto call = dyn_cast<func::CallOp>(op);
    if (!call || prints(call))
      continue;
    Operation *&before = last[call.getCalleeAttr()];
    int64_t bytes = 0;
    for (Type type : call.getResultTypes())
      bytes += int64_t(minigptc::graph::detail::bytesOf(type));
    bool isThere = before && llvm::all_of(call.getOperands(), [&](Value operand) {
                     Operation *producer = operand.getDefiningOp();
                     return !producer || places.lookup(producer) < places.lookup(before);
                   });
    if (isThere && bytes <= kGatheredBytes) {
      call->moveAfter(before);
      auto [stays, behind] = places.lookup(before);
      places[call] = {stays, behind + 1};
    }
    before = call;
  }
}

struct Schedule : minigptc::graph::impl::GraphScheduleBase<Schedule> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr(attr::kKernel) || function->hasAttr(attr::kHost))
      return;
    Block &block = function.getBody().front();
    if (llvm::any_of(block.without_terminator(), [](Operation &op) { return isMessage(&op); }))
      return; // Messages, and what is between them, stand in an order of their own.
    Problem problem(block);
    Liveness asWritten(problem);
    for (unsigned op = 0; op < problem.size(); ++op)
      asWritten.run(op);
    int64_t peak = 0;
    std::vector<unsigned> order = schedule(problem, peak);
    if (peak < asWritten.getPeak())
      for (unsigned op : order)
        problem.ops[op]->moveBefore(block.getTerminator());
    gatherCalls(block);
  }
};
} // namespace
