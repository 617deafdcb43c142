//===- FusionPlan.cpp -----------------------------------------------------===//
#include "dialects/graph/Transforms/FusionPlan.h"

#include "dialects/graph/Transforms/FusionCost.h"
#include "dialects/graph/Transforms/RowSpace.h"
#include "dialects/graph/Transforms/StoragePlan.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// Limits of a merged kernel: buffers, ops.
constexpr size_t kMaxBuffers = 24, kMaxOps = 160;
/// Kernels that only share an input are merged if they are that near in the
/// program: farther ones would keep values alive.
constexpr int64_t kMaxSiblingDistance = 64;
/// A search for a path that visits so many kernels gives up: no merging.
constexpr size_t kMaxVisited = 512;
/// A row (or a chunk of rows that are added up) is the work of one thread: fewer
/// are walked only if there are few elements in all.
constexpr int64_t kMinRows = 16, kMaxSerialElements = 16384;
/// Rows of fewer elements are no work for vectors: kernels over all elements are faster.
constexpr int64_t kMinColumns = 16;
/// Values of a kernel that makes scalars only. A chain of sums over all parameters
/// (the gradient norm) would else be cut into kernels that depend on the number of layers.
constexpr size_t kMaxScalars = 2;

/// A kernel while groups are merged.
struct Kernel {
  SmallVector<Operation *> roots; // stored ops, in program order
  SmallVector<Operation *> body;  // in program order, with the roots
  llvm::SmallSetVector<Value, 8> inputs;
  /// Inputs that every reader in the body reads at its own index, or row.
  DenseSet<Value> aligned;
  RowSpace space; // of the largest result
  bool mergeable = false;
  size_t node = 0; // in the order of kernels and other ops
};

class Merger {
public:
  Merger(Block &block, const StoragePlan &storage) : storage(storage) {
    for (Operation &op : block) {
      positions[&op] = int64_t(ops.size());
      ops.push_back(&op);
    }
    for (size_t node = 0; node < ops.size(); ++node) {
      order.push_back(node);
      places.push_back(node);
      if (storage.isStored(ops[node])) {
        kernelOf[ops[node]] = kernels.size();
        kernels.push_back(makeKernel({ops[node]}));
        kernels.back().node = node;
      }
    }
  }

  void run() {
    for (size_t i = 0, e = kernels.size(); i < e; ++i) {
      if (kernels[i].mergeable)
        for (size_t candidate : getCandidates(i))
          tryMerge(candidate, i);
    }
  }

  /// Remarks, at the reader, on what goes from one kernel to another in memory.
  void explain() {
    for (auto [into, kernel] : llvm::enumerate(kernels))
      for (Value input : kernel.inputs) {
        auto found = input.getDefiningOp() ? kernelOf.find(input.getDefiningOp()) : kernelOf.end();
        Kernel merged;
        if (found == kernelOf.end() || found->second == into)
          continue;
        if (const char *obstacle = findObstacle(found->second, into, merged))
          kernel.roots.back()
                  ->emitRemark("reads a value of another kernel from memory: ")
                  .append(obstacle)
                  .attachNote(input.getLoc())
              << "made here";
      }
  }

  std::vector<FusionGroup> takeGroups() {
    std::vector<FusionGroup> groups;
    for (Kernel &kernel : kernels) {
      if (kernel.roots.empty())
        continue;
      FusionGroup group;
      group.results = getResults(kernel);
      group.inputs.assign(kernel.inputs.begin(), kernel.inputs.end());
      group.body = std::move(kernel.body);
      if (!group.results.empty())
        groups.push_back(std::move(group));
    }
    return groups;
  }

private:
  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  static FusionKind kindOf(Operation *op) { return cast<FusibleOp>(op).getFusionKind(); }

  Kernel makeKernel(SmallVector<Operation *> roots) {
    Kernel kernel;
    llvm::sort(roots, [&](Operation *a, Operation *b) { return positions[a] < positions[b]; });
    kernel.roots = roots;
    SetVector<Operation *> body(roots.begin(), roots.end());
    for (size_t i = 0; i < body.size(); ++i)
      for (OpOperand &use : body[i]->getOpOperands())
        if (Operation *producer = storage.getInlined(use))
          body.insert(producer);
    kernel.body = body.takeVector();
    llvm::sort(kernel.body,
               [&](Operation *a, Operation *b) { return positions[a] < positions[b]; });
    collectInputs(kernel);
    return kernel;
  }

  void collectInputs(Kernel &kernel) {
    std::optional<RowSpace> space = getSpace(kernel.roots);
    kernel.space = space.value_or(RowSpace());
    RowAlignment alignment(kernel.body, kernel.roots, kernel.space);
    DenseSet<Operation *> inBody(kernel.body.begin(), kernel.body.end());
    for (Operation *op : kernel.body)
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !inBody.contains(operand.getDefiningOp())) {
          kernel.inputs.insert(operand);
          if (alignment.isAligned(operand))
            kernel.aligned.insert(operand);
        }
    kernel.mergeable =
        space && alignment.areRootsAligned() && (isMap(kernel.roots) || alignment.isRowKernel());
  }

  /// Whether all results have one shape, and no other need be walked for them.
  static bool isMap(ArrayRef<Operation *> roots) {
    Value first = roots.front()->getResult(0);
    return llvm::all_of(roots, [&](Operation *root) {
      return kindOf(root) != FusionKind::reduction && shapeOf(root->getResult(0)) == shapeOf(first);
    });
  }

  /// The space that a kernel with these results walks, if there is one for all
  /// of them.
  static std::optional<RowSpace> getSpace(ArrayRef<Operation *> roots) {
    Value largest;
    std::optional<RowSpace> reduced;
    int64_t chunks = 0; // of rows that are added up
    for (Operation *root : roots) {
      Value result = root->getResult(0);
      if (kindOf(root) == FusionKind::opaque || root->getNumResults() != 1)
        return std::nullopt;
      if (!largest || getNumElements(result) > getNumElements(largest))
        largest = result;
      if (kindOf(root) != FusionKind::reduction)
        continue;
      std::optional<RowSpace> space = getReducedSpace(root);
      if (!space || (reduced && *reduced != *space))
        return std::nullopt;
      reduced = space;
      if (!isPartialColumnSum(root))
        continue;
      if (chunks != 0 && chunks != shapeOf(result)[0])
        return std::nullopt;
      chunks = shapeOf(result)[0];
    }
    RowSpace space = reduced ? *reduced : getRowSpace(largest);
    if (space.rows * space.columns <= 1 && roots.size() > 1)
      return std::nullopt;
    bool isSerial = (chunks ? chunks : space.rows) < kMinRows &&
                    space.rows * space.columns > kMaxSerialElements;
    bool isNarrow = space.columns < kMinColumns && roots.size() > 1 &&
                    space.rows * space.columns > kMaxSerialElements;
    bool isScalarChain = getNumElements(largest) == 1 && roots.size() > kMaxScalars;
    if (!isMap(roots) && (isSerial || isNarrow || isScalarChain))
      return std::nullopt;
    return space;
  }

  /// Earlier kernels that feed this one, or read what it reads, at the same index.
  SmallVector<size_t> getCandidates(size_t index) {
    llvm::SmallSetVector<size_t, 8> candidates;
    int64_t position = positions[kernels[index].roots.front()];
    for (Value input : kernels[index].inputs) {
      if (!kernels[index].aligned.contains(input))
        continue;
      if (Operation *producer = input.getDefiningOp())
        if (auto found = kernelOf.find(producer); found != kernelOf.end())
          candidates.insert(found->second);
      size_t looked = 0;
      for (Operation *reader : input.getUsers()) {
        if (++looked > 32)
          break;
        for (Operation *root : getNearRoots(reader, position))
          candidates.insert(kernelOf[root]);
      }
    }
    candidates.remove(index);
    SmallVector<size_t> sorted(candidates.begin(), candidates.end());
    llvm::sort(sorted);
    return sorted;
  }

  /// Stored values near a position into which a reader is computed.
  SmallVector<Operation *> getNearRoots(Operation *reader, int64_t position) {
    SmallVector<Operation *> roots;
    llvm::SmallSetVector<Operation *, 8> worklist;
    worklist.insert(reader);
    for (size_t i = 0; i < worklist.size() && i < 16; ++i) {
      Operation *op = worklist[i];
      auto found = positions.find(op);
      if (found == positions.end() || found->second > position ||
          found->second + kMaxSiblingDistance < position)
        continue;
      if (kernelOf.contains(op)) {
        roots.push_back(op);
        continue;
      }
      if (storage.isFused(op))
        worklist.insert(op->user_begin(), op->user_end());
    }
    return roots;
  }

  void tryMerge(size_t from, size_t into) {
    if (from == into || kernels[from].roots.empty())
      return;
    Kernel merged;
    if (findObstacle(from, into, merged))
      return;
    joinNodes(kernels[from].node, kernels[into].node);
    merged.node = kernels[into].node;
    kernels[into] = std::move(merged);
    kernels[from] = Kernel();
    for (Operation *root : kernels[into].roots)
      kernelOf[root] = into;
  }

  /// Why two kernels are not merged, or null and `merged`.
  const char *findObstacle(size_t from, size_t into, Kernel &merged) {
    if (!kernels[from].mergeable || !kernels[into].mergeable)
      return "one of the two does not walk rows";
    // What is sent, received or printed between two ops keeps its place.
    if (storage.getMessagesBefore(kernels[from].roots.front()) !=
        storage.getMessagesBefore(kernels[into].roots.front()))
      return "a message is sent or received, or a call prints, between them";
    SmallVector<Operation *> roots(kernels[from].roots);
    llvm::append_range(roots, kernels[into].roots);
    merged = makeKernel(roots);
    if (!merged.mergeable)
      return "they walk other rows, or one needs the other's at other places than its own";
    if (merged.body.size() > kMaxOps)
      return "the kernel would have too many ops";
    if (merged.inputs.size() + getResults(merged).size() > kMaxBuffers)
      return "the kernel would have too many buffers";
    if (!isProfitable(from, into, merged))
      return "they share nothing large";
    if (hasOuterPath(from, into) || hasOuterPath(into, from))
      return "something between them, no part of either, needs the one and is needed by the other";
    return nullptr;
  }

  /// Merging must save a read: of a result of one, or of a large input of both.
  bool isProfitable(size_t from, size_t into, const Kernel &merged) {
    for (Operation *root : kernels[from].roots)
      if (kernels[into].inputs.contains(root->getResult(0)))
        return true;
    double size = double(merged.space.rows * merged.space.columns);
    return llvm::any_of(merged.aligned, [&](Value input) {
      return kernels[from].inputs.contains(input) && kernels[into].inputs.contains(input) &&
             getNumElements(input) >= size;
    });
  }

  /// Whether something that a node reads comes from another node that `test` holds for.
  bool anyNeeded(size_t node, llvm::function_ref<bool(size_t)> test) const {
    auto comesFrom = [&](Value input) {
      Operation *producer = input.getDefiningOp();
      if (!producer)
        return false;
      auto kernel = kernelOf.find(producer);
      return test(kernel != kernelOf.end() ? kernels[kernel->second].node
                                           : size_t(positions.lookup(producer)));
    };
    auto kernel = kernelOf.find(ops[node]);
    return kernel != kernelOf.end() ? llvm::any_of(kernels[kernel->second].inputs, comesFrom)
                                    : llvm::any_of(ops[node]->getOperands(), comesFrom);
  }

  /// Whether `to` depends on `from` by way of anything else: of something behind `from` in the
  /// order of nodes.
  bool hasOuterPath(size_t from, size_t to) const {
    size_t source = kernels[from].node, target = kernels[to].node;
    DenseSet<size_t> visited;
    SmallVector<size_t> worklist{target};
    while (!worklist.empty()) {
      if (visited.size() > kMaxVisited)
        return true;
      size_t node = worklist.pop_back_val();
      if (anyNeeded(node, [&](size_t needed) {
            if (needed == source)
              return node != target;
            if (places[needed] > places[source] && visited.insert(needed).second)
              worklist.push_back(needed);
            return false;
          }))
        return true;
    }
    return false;
  }

  /// Two nodes without an outer path become one, the second. Of what stands between them that
  /// goes behind it which needs the first of the two, and the rest comes before it.
  void joinNodes(size_t from, size_t into) {
    auto [first, last] = std::minmax({places[from], places[into]});
    DenseSet<size_t> behind{order[first]};
    SmallVector<size_t> sorted, needing;
    for (size_t place = first + 1; place < last; ++place) {
      size_t node = order[place];
      bool needs = anyNeeded(node, [&](size_t needed) { return behind.contains(needed); });
      if (needs)
        behind.insert(node);
      (needs ? needing : sorted).push_back(node);
    }
    sorted.push_back(into);
    llvm::append_range(sorted, needing);
    sorted.push_back(from); // A place of nothing, but of ops that nobody asks for.
    for (auto [place, node] : llvm::enumerate(sorted)) {
      order[first + place] = node;
      places[node] = first + place;
    }
  }

  /// Values of the kernel that something outside of it reads.
  SmallVector<Value> getResults(const Kernel &kernel) {
    DenseSet<Operation *> inBody(kernel.body.begin(), kernel.body.end());
    // An op that another kernel computes as well, reads from memory there.
    DenseSet<Operation *> shared;
    for (Operation *op : llvm::reverse(kernel.body))
      if (!storage.isStored(op) && llvm::any_of(op->getUsers(), [&](Operation *user) {
            return !inBody.contains(user) || shared.contains(user);
          }))
        shared.insert(op);
    SmallVector<Value> results;
    for (Operation *root : kernel.roots)
      for (Value result : root->getResults())
        if (root->getNumResults() > 1 || llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !inBody.contains(user) || shared.contains(user);
            }))
          results.push_back(result);
    return results;
  }

  const StoragePlan &storage;
  std::vector<Operation *> ops; // of the block
  DenseMap<Operation *, int64_t> positions;
  /// Kernels and other ops, by the number of an op of theirs, so that each comes after what it
  /// needs; and where in there they are. The first op of a kernel may stand before one that the
  /// kernel needs for another of its ops: positions do not say what can depend on what.
  std::vector<size_t> order, places;
  std::vector<Kernel> kernels; // a merged one has no roots
  DenseMap<Operation *, size_t> kernelOf;
};
} // namespace

std::vector<FusionGroup> minigptc::graph::planFusions(Block &block, bool explain) {
  StoragePlan storage(block);
  Merger merger(block, storage);
  merger.run();
  if (explain)
    merger.explain();
  return merger.takeGroups();
}
