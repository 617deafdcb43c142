//===- Bucket.cpp - collectives that can go together do -------------------===//
#include "dialects/dist/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTBUCKET
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
/// Functions in which devices wait for each other.
class Communication {
public:
  explicit Communication(ModuleOp module) : symbols(module) {}

  bool isIn(Operation *op) {
    if (isa<AllSliceOp>(op))
      return false;
    if (auto call = dyn_cast<func::CallOp>(op))
      return isInFunction(symbols.lookup(call.getCallee()));
    return isa<CollectiveOp>(op);
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
};

/// What collectives must have in common.
std::string kindOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto collective = cast<CollectiveOp>(op);
  stream << op->getName() << ' ' << collective.getMeshAttr() << ' ' << collective.getAxes();
  for (StringRef name : {"combine", "sources"})
    stream << ' ' << cast<DictionaryAttr>(op->getPropertiesAsAttribute()).get(name);
  return text;
}

/// The collectives of one block.
class Bucketing {
public:
  Bucketing(Block &block, Communication &communication, int64_t bucketBytes)
      : block(block), communication(communication), bucketBytes(bucketBytes) {}

  void run() {
    eraseDeadOps();
    scatterReductions();
    merge(depths());
    merge(heights());
    while (mergeIndependent())
      ;
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

  /// Makes one op of the collectives of one kind and level, which cannot wait for each
  /// other. Since others have other levels, no circle comes of it.
  void merge(const Levels &levels) {
    std::map<std::pair<int64_t, std::string>, SmallVector<SmallVector<Operation *>>> groups;
    DenseMap<Operation *, ArrayRef<Operation *>> groupOf;
    std::map<std::pair<int64_t, std::string>, int64_t> bytesOfLast;
    int64_t calls = 0;
    for (Operation &op : block) {
      calls += isa<func::CallOp>(op) && communication.isIn(&op);
      if (!isa<CollectiveOp>(op) || isa<AllSliceOp>(op))
        continue;
      std::pair<int64_t, std::string> key(levels.lookup(&op), kindOf(&op));
      // What is gathered is large, and is not kept over the work of others.
      if (isa<AllGatherOp>(op))
        key.second += " after " + std::to_string(calls);
      auto &buckets = groups[key];
      int64_t bytes = int64_t(graph::detail::bytesOf(op.getOperandTypes())),
              &last = bytesOfLast[key];
      if (buckets.empty() || (bucketBytes > 0 && last + bytes > bucketBytes)) {
        buckets.emplace_back();
        last = 0;
      }
      buckets.back().push_back(&op);
      last += bytes;
    }
    for (auto &[key, buckets] : groups)
      for (SmallVector<Operation *> &bucket : buckets)
        for (Operation *op : bucket)
          groupOf[op] = bucket;
    sort(groupOf);
    for (auto &[key, buckets] : groups)
      for (SmallVector<Operation *> &bucket : buckets)
        if (bucket.size() > 1)
          join(bucket);
  }

  /// Joins the first collective that has one of its kind before it, for which it does not
  /// wait. Few are left for this.
  bool mergeIndependent() {
    std::map<std::string, Operation *> lastOf;
    int64_t calls = 0;
    for (Operation &op : block) {
      calls += isa<func::CallOp>(op) && communication.isIn(&op);
      if (!isa<CollectiveOp>(op) || isa<AllSliceOp>(op))
        continue;
      std::string kind = kindOf(&op);
      if (isa<AllGatherOp>(op))
        kind += " after " + std::to_string(calls);
      Operation *&last = lastOf[kind];
      if (last && fitsWith(last, &op) && !leadsTo(last, &op)) {
        SmallVector<Operation *> bucket{last, &op};
        sort({{last, bucket}, {&op, bucket}});
        join(bucket);
        return true;
      }
      last = &op;
    }
    return false;
  }
  bool fitsWith(Operation *first, Operation *second) const {
    double bytes = graph::detail::bytesOf(first->getOperandTypes()) +
                   graph::detail::bytesOf(second->getOperandTypes());
    return bucketBytes == 0 || bytes <= double(bucketBytes);
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
  void sort(const DenseMap<Operation *, ArrayRef<Operation *>> &groupOf) {
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
        SmallVector<Operation *> members(groupOf.lookup(next));
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

  static void append(SmallVectorImpl<int64_t> &to, Operation *op, StringRef name) {
    if (auto dims = dyn_cast_or_null<DenseI64ArrayAttr>(
            cast<DictionaryAttr>(op->getPropertiesAsAttribute()).get(name)))
      llvm::append_range(to, dims.asArrayRef());
  }

  /// One op with the operands of all; entries per operand go along.
  void join(ArrayRef<Operation *> bucket) {
    Operation *last = bucket.back();
    OperationState state(last->getLoc(), last->getName());
    SmallVector<Location> locations;
    SmallVector<Attribute> origins;
    NamedAttrList properties(cast<DictionaryAttr>(last->getPropertiesAsAttribute()));
    for (Operation *op : bucket) {
      state.addOperands(op->getOperands());
      state.addTypes(op->getResultTypes());
      locations.push_back(op->getLoc());
      if (auto own = op->getAttrOfType<ArrayAttr>(attr::kOrigins))
        llvm::append_range(origins, own);
    }
    OpBuilder builder(last);
    for (StringRef name : {"dims", "splitDims", "concatDims"}) {
      SmallVector<int64_t> dims;
      for (Operation *op : bucket)
        append(dims, op, name);
      if (!dims.empty())
        properties.set(name, builder.getDenseI64ArrayAttr(dims));
    }
    state.propertiesAttr = properties.getDictionary(builder.getContext());
    state.location = builder.getFusedLoc(locations);
    Operation *joined = builder.create(state);
    if (origins.size() == joined->getNumOperands())
      joined->setAttr(attr::kOrigins, builder.getArrayAttr(origins));
    unsigned result = 0;
    for (Operation *op : bucket) {
      for (Value old : op->getResults())
        old.replaceAllUsesWith(joined->getResult(result++));
      op->erase();
    }
  }

  Block &block;
  Communication &communication;
  int64_t bucketBytes;
};

struct Bucket : minigptc::dist::impl::DistBucketBase<Bucket> {
  using DistBucketBase::DistBucketBase;

  void runOnOperation() override {
    if (!findMesh(getOperation()))
      return;
    Communication communication(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        Bucketing(block, communication, bucketBytes).run();
  }
};
} // namespace
