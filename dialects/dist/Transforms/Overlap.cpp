//===- Overlap.cpp - --dist-overlap ---------------------------------------===//
#include "dialects/dist/IR/Messages.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/Waiting.h"

#include "llvm/ADT/MapVector.h"

#include <set>

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTOVERLAP
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
/// Ready ops that are looked at for one that memory allows.
constexpr size_t kCandidates = 32;

int64_t bytesOf(Value value) { return int64_t(graph::detail::bytesOf(value.getType())); }
int64_t bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += bytesOf(value);
  return bytes;
}

/// An op of the block, by number, and where it is in the order that is being made.
struct Node {
  Operation *op = nullptr;
  bool isCollective = false, gathers = false, scatters = false;
  SmallVector<unsigned> dependents; ///< each once
  unsigned missing = 0;             ///< ops before it that are not placed yet
  unsigned last = 0;                ///< the last op before it, in the old order
  unsigned urgency = ~0u;           ///< `last` of the first collective that needs it
  bool isPlaced = false;            ///< a collective: it is started
  bool flies = false;               ///< started, and not waited for
  unsigned start = 0;               ///< of a collective: its number among those
};

/// The ops of a block, in an order in which collectives are beside compute.
class Overlapper {
public:
  explicit Overlapper(Block &block) : terminator(block.getTerminator()) {
    for (Operation &op : block.without_terminator())
      addNode(&op);
    for (Operation &op : block.without_terminator())
      addEdges(numbers[&op]);
    for (Node &node : llvm::reverse(nodes))
      for (unsigned dependent : node.dependents)
        node.urgency =
            std::min(node.urgency, nodes[dependent].isCollective ? nodes[dependent].last
                                                                 : nodes[dependent].urgency);
    for (Value value : terminator->getOperands())
      if (auto found = bufferOf.find(value); found != bufferOf.end())
        buffers[found->second].bytes = 0; // It is the caller's, and stays.
    limit = findPeak();
  }

  void run() {
    for (unsigned number = 0; number < nodes.size(); ++number)
      if (nodes[number].missing == 0)
        makeReady(number);
    while (numPlaced < nodes.size()) {
      if (startOne() || placeOne() || landForOne())
        continue;
      place(*starts.begin()); // A gather that another one's user needs besides.
    }
    while (!flying.empty())
      land(flying.front());
    joinNeighbours();
  }

private:
  /// A value's memory, which lives up to its last reader; views are part of what they show.
  struct Buffer {
    int64_t bytes = 0;
    unsigned readers = 0;
  };

  void addNode(Operation *op) {
    Node &node = nodes.emplace_back();
    node.op = op;
    numbers[op] = nodes.size() - 1;
    if (CollectiveOp collective = getWaitingCollective(op)) {
      int64_t before = bytesOf(op->getOperands()), after = bytesOf(op->getResults());
      node.isCollective = true;
      node.gathers = after > before;
      node.scatters = after < before;
    }
  }

  void addEdges(unsigned number) {
    Operation *op = nodes[number].op;
    llvm::SmallSetVector<unsigned, 4> before, read;
    for (Value operand : op->getOperands()) {
      if (Operation *producer = operand.getDefiningOp())
        before.insert(numbers[producer]);
      if (auto found = bufferOf.find(operand); found != bufferOf.end())
        read.insert(found->second);
    }
    // Messages keep their order, and the work between them its place: a stage that waits for one
    // before it has done what it was to do meanwhile keeps no schedule.
    if (lastMessage && !nodes[number].isCollective)
      before.insert(*lastMessage);
    if (isMessage(op)) {
      for (unsigned other = lastMessage ? *lastMessage + 1 : 0; other < number; ++other)
        if (!nodes[other].isCollective)
          before.insert(other);
      lastMessage = number;
    }
    if (graph::prints(op)) {
      if (lastPrint)
        before.insert(*lastPrint);
      lastPrint = number;
    }
    for (unsigned producer : before)
      nodes[producer].dependents.push_back(number);
    nodes[number].missing = before.size();
    if (!before.empty())
      nodes[number].last = *llvm::max_element(before);
    makes.emplace_back();
    reads.emplace_back();
    if (isView(op) && !read.empty()) {
      for (Value result : op->getResults()) {
        unsigned shown = read.front();
        bufferOf[result] = shown;
      }
      return;
    }
    reads.back().assign(read.begin(), read.end());
    for (unsigned buffer : read)
      ++buffers[buffer].readers;
    if (op->hasTrait<OpTrait::ConstantLike>())
      return;
    for (Value result : op->getResults()) {
      bufferOf[result] = buffers.size();
      makes.back().push_back(buffers.size());
      buffers.push_back({bytesOf(result), 0});
    }
  }

  static bool isView(Operation *op) {
    auto instruction = dyn_cast<graph::InstructionOp>(op);
    return instruction && instruction.getInstructionKind() == graph::InstructionKind::view;
  }

  // Bytes alive, as if a gather were done at its wait and any other collective at its start: so
  // an order may have no more than the one before, but for what is on its way.

  int64_t allocated(unsigned number) const {
    int64_t bytes = 0;
    for (unsigned buffer : makes[number])
      bytes += buffers[buffer].bytes;
    return bytes;
  }
  void make(unsigned number, int64_t &live) const {
    for (unsigned buffer : makes[number])
      live += buffers[buffer].bytes;
  }
  void read(unsigned number, std::vector<unsigned> &readers, int64_t &live) const {
    for (unsigned buffer : reads[number])
      if (--readers[buffer] == 0)
        live -= buffers[buffer].bytes;
    for (unsigned buffer : makes[number]) // Nobody reads it.
      if (buffers[buffer].readers == 0)
        live -= buffers[buffer].bytes;
  }

  std::vector<unsigned> countReaders() const {
    std::vector<unsigned> readers;
    for (const Buffer &buffer : buffers)
      readers.push_back(buffer.readers);
    return readers;
  }

  int64_t findPeak() {
    remaining = countReaders();
    std::vector<unsigned> readers = remaining;
    int64_t alive = 0, peak = 0;
    for (unsigned number = 0; number < nodes.size(); ++number) {
      make(number, alive);
      peak = std::max(peak, alive);
      read(number, readers, alive);
    }
    return peak;
  }

  void makeReady(unsigned number) {
    if (nodes[number].isCollective)
      starts.insert(number);
    else if (blockerOf(number))
      blocked.insert(number);
    else
      ready.insert({nodes[number].urgency, number});
  }

  /// The collective on its way that an op waits for and that was started last, or none.
  const Node *blockerOf(unsigned number) const {
    const Node *last = nullptr;
    for (Value operand : nodes[number].op->getOperands()) {
      auto found = landing.find(operand.getDefiningOp());
      if (found != landing.end() && (!last || nodes[found->second].start > last->start))
        last = &nodes[found->second];
    }
    return last;
  }

  /// Starts the first collective that can. Of gathers one at a time is ahead of what needs it.
  bool startOne() {
    for (unsigned number : starts) {
      Node &node = nodes[number];
      if ((node.gathers && gathersAhead > 0) || blockerOf(number))
        continue;
      if (node.scatters)
        landScatters();
      place(number);
      return true;
    }
    return false;
  }

  /// What they take is whole.
  void landScatters() {
    for (unsigned number : SmallVector<unsigned>(flying))
      if (nodes[number].scatters)
        land(number);
  }

  /// Places an op that waits for nothing: first those that the next collective needs, so that the
  /// others go beside it. Out of its turn it needs no more memory than there was before.
  bool placeOne() {
    while (turn < nodes.size() && nodes[turn].isPlaced)
      ++turn;
    size_t seen = 0;
    for (auto [urgency, number] : ready) {
      if (++seen > kCandidates)
        break;
      if (number != turn && live + allocated(number) > limit)
        continue;
      place(number);
      return true;
    }
    if (turn == nodes.size() || !ready.contains({nodes[turn].urgency, turn}))
      return false;
    place(turn);
    return true;
  }

  /// Waits for what the first op needs, as collectives were started: the first comes first.
  bool landForOne() {
    std::optional<std::pair<unsigned, unsigned>> first; // start, number
    for (const auto *list : {&blocked, &starts})
      for (unsigned number : *list)
        if (const Node *blocker = blockerOf(number))
          if (std::pair key(blocker->start, number); !first || key < *first)
            first = key;
    // A gather goes first that is needed before all that is blocked: waiting would not start it.
    bool isNeeded = !starts.empty() && !blockerOf(*starts.begin()) &&
                    (blocked.empty() || *starts.begin() < *blocked.begin());
    if (!first || isNeeded)
      return false;
    Operation *op = nodes[first->second].op;
    SmallVector<unsigned> awaited;
    for (Value operand : op->getOperands())
      if (auto found = landing.find(operand.getDefiningOp());
          found != landing.end() && !llvm::is_contained(awaited, found->second))
        awaited.push_back(found->second);
    llvm::sort(awaited, [&](unsigned a, unsigned b) { return nodes[a].start < nodes[b].start; });
    for (unsigned number : awaited)
      land(number);
    return true;
  }

  void place(unsigned number) {
    Node &node = nodes[number];
    node.isPlaced = true;
    ++numPlaced;
    if (node.isCollective)
      starts.erase(number);
    else
      ready.erase({node.urgency, number});
    node.op->moveBefore(terminator);
    if (node.isCollective) {
      node.op->setAttr(attr::kStarted, UnitAttr::get(node.op->getContext()));
      node.flies = true;
      node.start = numStarts++;
      landing[node.op] = number;
      flying.push_back(number);
      gathersAhead += node.gathers;
    }
    if (!node.gathers)
      make(number, live);
    read(number, remaining, live);
    for (unsigned dependent : node.dependents)
      if (--nodes[dependent].missing == 0)
        makeReady(dependent);
  }

  void land(unsigned number) {
    Node &node = nodes[number];
    node.flies = false;
    landing.erase(node.op);
    llvm::erase(flying, number);
    if (node.gathers) {
      --gathersAhead;
      make(number, live);
    }
    OpBuilder builder(terminator);
    auto wait = WaitOp::create(builder, node.op->getLoc(), node.op->getResults());
    for (auto [result, landed] : llvm::zip(node.op->getResults(), wait.getResults()))
      result.replaceAllUsesExcept(landed, wait);
    waits.push_back(wait);
    for (unsigned dependent : node.dependents)
      if (blocked.erase(dependent))
        makeReady(dependent);
  }

  /// Where nothing is between a start and its wait, the collective is done at once.
  void joinNeighbours() {
    for (WaitOp wait : waits) {
      Operation *start = wait.getInputs()[0].getDefiningOp();
      Operation *next = start->getNextNode();
      while (next != wait && (isView(next) || next->hasTrait<OpTrait::ConstantLike>()))
        next = next->getNextNode();
      if (next != wait)
        continue;
      start->removeAttr(attr::kStarted);
      wait.replaceAllUsesWith(start->getResults());
      wait.erase();
    }
  }

  Operation *terminator;
  std::vector<Node> nodes;
  DenseMap<Operation *, unsigned> numbers;
  std::vector<Buffer> buffers;
  std::vector<SmallVector<unsigned>> makes, reads; ///< buffers, per node
  DenseMap<Value, unsigned> bufferOf;
  std::optional<unsigned> lastMessage, lastPrint;

  /// What comes after nothing that is not placed: ops, ops that need what is on its way, and
  /// collectives.
  std::set<std::pair<unsigned, unsigned>> ready; ///< by urgency
  std::set<unsigned> blocked, starts;
  SmallVector<unsigned> flying;            ///< in the order of their starts
  DenseMap<Operation *, unsigned> landing; ///< those, by op
  std::vector<unsigned> remaining;         ///< readers, per buffer
  SmallVector<WaitOp> waits;
  int64_t live = 0, limit = 0;
  size_t numPlaced = 0;
  unsigned turn = 0, numStarts = 0, gathersAhead = 0;
};

struct Overlap : minigptc::dist::impl::DistOverlapBase<Overlap> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto module = function->getParentOfType<ModuleOp>();
    if (!module || !module->hasAttr(attr::kOverlap) || !runsOnDevices(function) ||
        function->hasAttr(graph::attr::kKernel))
      return;
    Block &block = function.getBody().front();
    bool has = llvm::any_of(block, [](Operation &op) { return bool(getWaitingCollective(&op)); });
    bool done = llvm::any_of(block, [](Operation &op) { return isa<WaitOp>(op); });
    if (has && !done)
      Overlapper(block).run();
  }
};
} // namespace
