//===- Bucket.cpp - collectives that can go together do -------------------===//
#include "dialects/dist/IR/Messages.h"
#include "dialects/dist/Transforms/CallSites.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/Waiting.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <limits>
#include <map>

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTBUCKET
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

/// Of the largest tensor's bytes, what a bucket has at least to be started on its own.
static constexpr double kSmallestBucket = 1.0 / 8;

namespace {
/// What calls have to do with communication.
class Communication {
public:
  explicit Communication(ModuleOp module) : symbols(module) {
    for (auto function : module.getOps<func::FuncOp>()) {
      DenseMap<Operation *, unsigned> calls;
      function.walk([&](func::CallOp call) {
        Operation *callee = symbols.lookup(call.getCallee());
        if (++calls[callee] > 1)
          repeated.insert(callee);
      });
    }
  }

  /// Whether devices wait for each other in an op.
  bool isIn(Operation *op) {
    return getWaitingCollective(op) ||
           llvm::any_of(getCalledFunctions(op), [&](const CalledFunction &callee) {
             return isInFunction(symbols.lookup(callee.name.getValue()));
           });
  }
  /// Whether some function calls this one again and again: it is a layer.
  bool isLayer(Operation *function) const { return repeated.contains(function); }

  bool isCallOfLayer(Operation *op) const {
    auto call = dyn_cast<func::CallOp>(op);
    return call && isLayer(symbols.lookup(call.getCallee()));
  }

private:
  bool isInFunction(Operation *function) {
    auto [place, isNew] = known.try_emplace(function, false);
    if (!isNew)
      return place->second;
    bool found =
        function
            ->walk([&](Operation *op) {
              return op != function && isIn(op) ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted();
    known[function] = found;
    return found;
  }

  SymbolTable symbols;
  DenseMap<Operation *, bool> known;
  DenseSet<Operation *> repeated;
};

/// How large a bucket may be.
///
/// What a gather makes lives from the bucket to its use, and what a reduce-scatter takes from
/// where it is made to the bucket: whole tensors, of which a device stores a part. In a layer
/// all of them may be one bucket, for a layer ends soon. Elsewhere (a model that is one long
/// function) a bucket may have twice the bytes of its largest whole tensor, which bounds what
/// is whole at a time, however long the function is: no more than two layers hold, if a layer
/// has two weights as large.
class BucketLimit {
public:
  BucketLimit(int64_t bytes, bool isLayer) : bytes(bytes), isLayer(isLayer) {}

  bool allows(ArrayRef<CollectiveOp> bucket) const {
    double sent = 0, whole = 0, largest = 0;
    DenseSet<Value> seen;
    for (CollectiveOp op : bucket)
      for (auto [input, output] : llvm::zip_equal(op->getOperands(), op->getResults())) {
        if (!seen.insert(input).second)
          continue; // Equal ones become one.
        double held = wholeBytes(input, output);
        sent += graph::detail::bytesOf(input.getType());
        whole += held;
        largest = std::max(largest, held);
      }
    return (bytes == 0 || sent <= double(bytes)) && (isLayer || whole <= 2 * largest);
  }

private:
  /// Of the larger side. What is only returned has memory anyway.
  static double wholeBytes(Value input, Value output) {
    double before = graph::detail::bytesOf(input.getType());
    double after = graph::detail::bytesOf(output.getType());
    bool isReturned = llvm::all_of(
        output.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
    if (before == after || (after > before && isReturned))
      return 0;
    return std::max(before, after);
  }

  int64_t bytes;
  bool isLayer;
};

/// Whether results are larger than operands, and so take memory that the operands do not.
bool gathers(CollectiveOp op) {
  return graph::detail::bytesOf(op->getResultTypes()) >
         graph::detail::bytesOf(op->getOperandTypes());
}

/// The collectives of one block.
class Bucketing {
public:
  Bucketing(Block &block, Communication &communication, BucketLimit limit, bool overlaps)
      : block(block), communication(communication), limit(limit), overlaps(overlaps) {}

  void run() {
    eraseDeadOps();
    scatterReductions();
    if (overlaps)
      placeReductions();
    else
      gatherReductions();
    merge(depths());
    merge(heights());
    while (mergeIndependent())
      ;
    keepApart();
  }

private:
  using Levels = DenseMap<Operation *, int64_t>;

  void eraseDeadOps() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// What is combined on all devices, only to be cut, is combined part by part.
  void scatterReductions() {
    for (auto slice : llvm::make_early_inc_range(block.getOps<AllSliceOp>())) {
      auto reduce = slice.getInputs()[0].getDefiningOp<AllReduceOp>();
      if (!reduce || slice.getNumOperands() != 1 || reduce.getNumOperands() != 1 ||
          !reduce.getOutputs()[0].hasOneUse() || !haveSameAxes(slice, reduce))
        continue;
      OpBuilder builder(slice);
      auto scatter = ReduceScatterOp::create(
          builder, reduce.getLoc(), slice.getResultTypes(), reduce.getInputs(),
          reduce.getMeshAttr(), slice.getAxes(), reduce.getCombineAttr(), slice.getDimsAttr());
      if (Attribute origins = reduce->getAttr(attr::kOrigins))
        scatter->setAttr(attr::kOrigins, origins);
      slice.replaceAllUsesWith(scatter);
      slice.erase();
      reduce.erase();
    }
  }
  static bool haveSameAxes(AllSliceOp slice, AllReduceOp reduce) {
    return slice.getAxes().size() == reduce.getAxes().size() &&
           llvm::all_of(slice.getAxes(),
                        [&](Attribute axis) { return llvm::is_contained(reduce.getAxes(), axis); });
  }

  /// How many waits lead to an op, on the longest way.
  Levels depths() {
    Levels levels;
    for (Operation &op : block) {
      int64_t &level = levels[&op] = 0, deepest = 0;
      for (Value operand : op.getOperands())
        if (Operation *from = operand.getDefiningOp())
          deepest = std::max(deepest, levels.lookup(from) + communication.isIn(from));
      level = deepest;
    }
    return levels;
  }

  /// How many waits follow an op.
  Levels heights() {
    Levels levels;
    for (Operation &op : llvm::reverse(block)) {
      int64_t highest = 0;
      for (Operation *user : op.getUsers())
        highest = std::max(highest, levels.lookup(user) + communication.isIn(user));
      levels[&op] = highest;
    }
    return levels;
  }

  /// With overlap, where a reduction goes: in the bucket of the layers that its operands come
  /// from. A few small ones are no bucket, and go with the next.
  void placeReductions() {
    DenseMap<Operation *, int64_t> layers; // on the longest way to an op, itself included
    llvm::MapVector<Attribute, std::map<int64_t, SmallVector<Operation *>>> reductions;
    for (Operation &op : block) {
      int64_t &count = layers[&op] = 0, most = 0;
      for (Value operand : op.getOperands())
        if (Operation *from = operand.getDefiningOp())
          most = std::max(most, layers.lookup(from));
      count = most + communication.isCallOfLayer(&op);
      if (CollectiveOp collective = getWaitingCollective(&op); collective && !gathers(collective))
        reductions[collective.getJoinKey()][most].push_back(&op);
    }
    for (auto &[key, byLayer] : reductions)
      placeReductions(byLayer);
  }
  void placeReductions(const std::map<int64_t, SmallVector<Operation *>> &byLayer) {
    double largest = 0, bytes = 0;
    for (auto &[layer, ops] : byLayer)
      for (Operation *op : ops)
        for (Type type : op->getOperandTypes())
          largest = std::max(largest, double(graph::detail::bytesOf(type)));
    int64_t bucket = 0;
    for (auto &[layer, ops] : byLayer) {
      for (Operation *op : ops) {
        places[op] = bucket;
        bytes += double(graph::detail::bytesOf(op->getOperandTypes()));
      }
      if (bytes < largest * kSmallestBucket)
        continue;
      ++bucket;
      bytes = 0;
    }
  }

  /// A reduction that may be between other messages than it is: behind `first` of them its operands
  /// are there, and behind `last` nobody has needed it yet.
  struct Movable {
    CollectiveOp op;
    int64_t first, last;
  };

  /// Between which messages reductions are is mostly chance: a norm is summed up gradient by
  /// gradient, and a part of it received in the middle. So those of one kind that can be between
  /// the same two go there, in as few places as can be. What takes other memory than it makes
  /// stays.
  void gatherReductions() {
    DenseMap<Operation *, int64_t> before; // How many messages an op has before it.
    SmallVector<Operation *> messages;
    for (Operation &op : block) {
      before[&op] = int64_t(messages.size());
      if (isMessage(&op))
        messages.push_back(&op);
    }
    llvm::MapVector<Attribute, SmallVector<Movable>> kinds;
    for (Operation &op : block)
      if (CollectiveOp collective = getWaitingCollective(&op); collective && isMovable(collective))
        kinds[collective.getJoinKey()].push_back(rangeOf(collective, before));
    for (auto &[key, reductions] : kinds)
      while (!messages.empty() && !reductions.empty()) {
        int64_t place = llvm::min_element(reductions, [](const Movable &a, const Movable &b) {
                          return a.last < b.last;
                        })->last;
        llvm::erase_if(reductions, [&](const Movable &reduction) {
          if (reduction.first > place)
            return false;
          if (int64_t now = before[reduction.op]; now > place)
            reduction.op->moveBefore(messages[place]);
          else if (now < place)
            reduction.op->moveAfter(messages[place - 1]);
          return true;
        });
      }
  }

  static Movable rangeOf(CollectiveOp op, DenseMap<Operation *, int64_t> &before) {
    Movable range{op, 0, std::numeric_limits<int64_t>::max()};
    for (Value operand : op->getOperands())
      if (Operation *from = operand.getDefiningOp())
        range.first = std::max(range.first, before[from] + isMessage(from));
    for (Operation *user : op->getUsers())
      range.last = std::min(range.last, before[op->getBlock()->findAncestorOpInBlock(*user)]);
    return range;
  }

  /// Another reduction that it reads, or that reads it, would move as well.
  static bool isMovable(CollectiveOp op) {
    auto isCollective = [](Operation *other) { return other && getWaitingCollective(other); };
    return graph::detail::bytesOf(op->getOperandTypes()) ==
               graph::detail::bytesOf(op->getResultTypes()) &&
           llvm::none_of(op->getUsers(), isCollective) &&
           llvm::none_of(op->getOperands(),
                         [&](Value operand) { return isCollective(operand.getDefiningOp()); });
  }

  /// Collectives that may become one, by what they must have in common, in their order.
  using Groups = llvm::MapVector<Attribute, SmallVector<CollectiveOp>>;

  Groups groupsBy(function_ref<int64_t(Operation *)> level) {
    Groups groups;
    Builder builder(block.getParentOp()->getContext());
    int64_t calls = 0, messages = 0; // Calls that print count as these.
    for (Operation &op : block) {
      messages += graph::keepsPlace(&op);
      calls += isCallSite(&op) && communication.isIn(&op);
      CollectiveOp collective = getWaitingCollective(&op);
      if (!collective)
        continue;
      // What is gathered is large, and is not kept over the work of others.
      int64_t place = gathers(collective) ? calls : places.lookup(&op);
      groups[builder.getArrayAttr({collective.getJoinKey(), builder.getIndexAttr(level(&op)),
                                   builder.getIndexAttr(place), builder.getIndexAttr(messages)})]
          .push_back(collective);
    }
    return groups;
  }

  /// Makes one op of the collectives of one kind and level, which cannot wait for each
  /// other. Since others have other levels, no circle comes of it.
  void merge(const Levels &levels) {
    SmallVector<SmallVector<CollectiveOp>> buckets;
    for (auto &[key, group] : groupsBy([&](Operation *op) { return levels.lookup(op); })) {
      SmallVector<CollectiveOp> bucket;
      for (CollectiveOp op : group) {
        bucket.push_back(op);
        if (bucket.size() == 1 || limit.allows(bucket))
          continue;
        bucket.pop_back();
        buckets.push_back(std::exchange(bucket, {op}));
      }
      buckets.push_back(bucket);
    }
    sort(buckets);
    for (ArrayRef<CollectiveOp> bucket : buckets)
      join(bucket);
  }

  /// Joins the first collective that has one of its kind before it, for which it does not
  /// wait. Few are left for this.
  bool mergeIndependent() {
    for (auto &[key, group] : groupsBy([](Operation *) { return 0; }))
      for (auto [first, second] : llvm::zip(group, llvm::drop_begin(group))) {
        SmallVector<CollectiveOp> bucket{first, second};
        if (!limit.allows(bucket) || leadsTo(first, second))
          continue;
        sort(bucket);
        join(bucket);
        return true;
      }
    return false;
  }
  static bool leadsTo(Operation *first, Operation *second) {
    DenseSet<Operation *> reached{first};
    for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
      if (llvm::any_of(op->getOperands(),
                       [&](Value operand) { return reached.contains(operand.getDefiningOp()); }))
        reached.insert(op);
      if (op == second)
        break;
    }
    return reached.contains(second);
  }

  /// Moves the ops that a bucket's members need before its first one, so that the members
  /// stand together; all else keeps its order.
  void sort(ArrayRef<SmallVector<CollectiveOp>> buckets) {
    DenseMap<Operation *, ArrayRef<CollectiveOp>> bucketOf;
    for (ArrayRef<CollectiveOp> bucket : buckets)
      for (CollectiveOp op : bucket)
        bucketOf[op] = bucket;
    SmallVector<Operation *> order, stack;
    DenseSet<Operation *> placed;
    for (Operation &op : block) {
      stack.push_back(&op);
      while (!stack.empty()) {
        Operation *next = stack.back();
        if (placed.contains(next)) {
          stack.pop_back();
          continue;
        }
        SmallVector<Operation *> members(bucketOf.lookup(next));
        if (members.empty())
          members.push_back(next);
        size_t before = stack.size();
        for (Operation *member : llvm::reverse(members))
          for (Value operand : llvm::reverse(member->getOperands()))
            if (Operation *from = operand.getDefiningOp(); from && !placed.contains(from))
              stack.push_back(from);
        if (stack.size() > before)
          continue;
        stack.pop_back();
        for (Operation *member : members)
          if (placed.insert(member).second)
            order.push_back(member);
      }
    }
    for (Operation *op : order)
      op->moveBefore(&block, block.end());
  }

  /// One op with the operands of all; equal ones, of one operand, are one.
  void join(ArrayRef<CollectiveOp> bucket) {
    if (bucket.size() < 2)
      return;
    CollectiveOp last = bucket.back();
    SmallVector<CollectiveOp> different;
    DenseMap<CollectiveOp, CollectiveOp> equalTo;
    for (CollectiveOp op : bucket) {
      auto equal = llvm::find_if(different, [&](CollectiveOp other) { return isEqual(op, other); });
      if (equal == different.end())
        different.push_back(op);
      else
        op->replaceAllUsesWith(*equal);
    }
    SmallVector<Location> locations;
    SmallVector<Attribute> origins;
    for (CollectiveOp op : bucket)
      locations.push_back(op->getLoc());
    for (CollectiveOp op : different)
      if (auto own = op->getAttrOfType<ArrayAttr>(attr::kOrigins))
        llvm::append_range(origins, own);
    OpBuilder builder(last);
    CollectiveOp joined = different.front().createJoined(builder, builder.getFusedLoc(locations),
                                                         ArrayRef(different).drop_front());
    if (origins.size() == joined->getNumOperands())
      joined->setAttr(attr::kOrigins, builder.getArrayAttr(origins));
    unsigned result = 0;
    for (CollectiveOp op : different)
      for (Value old : op->getResults())
        old.replaceAllUsesWith(joined->getResult(result++));
    int64_t place = places.lookup(bucket.front());
    for (CollectiveOp op : bucket) {
      places.erase(op);
      op->erase();
    }
    places[joined] = place;
  }

  static bool isEqual(Operation *op, Operation *other) {
    return op->getName() == other->getName() && op->getOperands() == other->getOperands() &&
           op->getResultTypes() == other->getResultTypes() &&
           op->getPropertiesAsAttribute() == other->getPropertiesAsAttribute();
  }

  /// What is gathered again instead of kept must not become one with the gather before.
  void keepApart() {
    SmallVector<CollectiveOp> seen;
    for (Operation &op : block)
      if (CollectiveOp collective = getWaitingCollective(&op); collective && gathers(collective)) {
        int64_t before =
            llvm::count_if(seen, [&](CollectiveOp other) { return isEqual(&op, other); });
        if (before > 0)
          op.setAttr(attr::kAgain, Builder(op.getContext()).getI64IntegerAttr(before));
        seen.push_back(collective);
      }
  }

  Block &block;
  Communication &communication;
  BucketLimit limit;
  bool overlaps;
  DenseMap<Operation *, int64_t> places; ///< of reductions, if they are to overlap
};

struct Bucket : minigptc::dist::impl::DistBucketBase<Bucket> {
  using DistBucketBase::DistBucketBase;

  void runOnOperation() override {
    if (!findMesh(getOperation()))
      return;
    Communication communication(getOperation());
    int64_t bytes = bucketBytes;
    if (auto own = getOperation()->getAttrOfType<IntegerAttr>(attr::kBucketBytes); own && !bytes)
      bytes = own.getInt();
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        Bucketing(block, communication, BucketLimit(bytes, communication.isLayer(function)),
                  getOperation()->hasAttr(attr::kOverlap))
            .run();
  }
};
} // namespace
