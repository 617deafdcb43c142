//===- ReshardPlan.cpp - the cheapest way from a sharding to another ------===//
#include "dialects/dist/Transforms/ReshardPlan.h"

#include "llvm/ADT/SmallSet.h"

#include <limits>
#include <queue>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
/// A sharding as a list of numbers, to be found again.
std::vector<int64_t> keyOf(const Sharding &sharding) {
  std::vector<int64_t> key;
  for (const Axes &axes : sharding.dims) {
    key.insert(key.end(), axes.begin(), axes.end());
    key.push_back(-1);
  }
  key.insert(key.end(), sharding.partial.begin(), sharding.partial.end());
  key.push_back(-2 - (sharding.partial.empty() ? 0 : int64_t(sharding.combine)));
  return key;
}

/// All non-empty selections of axes in all orders, by the order of `axes`.
void appendArrangements(ArrayRef<unsigned> axes, Axes &prefix, SmallVectorImpl<Axes> &result) {
  for (unsigned axis : axes) {
    if (llvm::is_contained(prefix, axis))
      continue;
    prefix.push_back(axis);
    result.push_back(prefix);
    appendArrangements(axes, prefix, result);
    prefix.pop_back();
  }
}

/// If axes can cut dimensions in more ways, not all are tried: there may be millions.
constexpr size_t kMaxShardings = 4096;

/// Dijkstra's algorithm over shardings in which only axes and dimensions of both ends
/// occur. With many axes, only those in which axes stand as one of the ends has them.
class Search {
public:
  Search(RankedTensorType global, const Sharding &from, const Sharding &to, MeshAttr mesh)
      : global(global), from(from), to(to), mesh(mesh),
        elementBytes(graph::detail::bytesOf(RankedTensorType::get({}, global.getElementType()))) {
    for (unsigned dim = 0; dim < from.dims.size(); ++dim)
      if (!from.dims[dim].empty() || !to.dims[dim].empty())
        dims.push_back(dim);
    llvm::SmallSet<unsigned, 8> axes;
    for (const Sharding *end : {&from, &to}) {
      axes.insert(end->partial.begin(), end->partial.end());
      for (const Axes &cut : end->dims)
        axes.insert(cut.begin(), cut.end());
    }
    size_t shardings = 1; // Each axis is behind another one, first in a dimension, or unused.
    for (size_t i = 1; i <= axes.size() && shardings <= kMaxShardings; ++i)
      shardings *= dims.size() + i;
    arranges = shardings <= kMaxShardings;
  }

  FailureOr<ReshardPlan> run(int64_t maxElements) {
    limit = maxElements;
    add(Node{from, std::nullopt, 0, 0, 0, -1});
    while (!queue.empty()) {
      auto [cost, steps, number] = queue.top();
      queue.pop();
      if (best.at(keyOf(nodes[number].sharding)) != number)
        continue;
      if (nodes[number].sharding == to)
        return collect(number);
      expand(number);
    }
    return failure();
  }

  int64_t elements(const Sharding &sharding) const {
    return sharding.localType(global, mesh).getNumElements();
  }

private:
  struct Node {
    Sharding sharding;
    std::optional<ReshardStep> step; ///< that led here
    double bytes, cost;
    unsigned steps;
    int previous;
  };

  void add(Node node) {
    if (node.previous >= 0 && elements(node.sharding) > limit)
      return;
    auto [place, isNew] = best.try_emplace(keyOf(node.sharding), int(nodes.size()));
    if (!isNew) {
      const Node &old = nodes[place->second];
      if (std::tie(old.cost, old.steps) <= std::tie(node.cost, node.steps))
        return;
      place->second = int(nodes.size());
    }
    queue.push({node.cost, node.steps, int(nodes.size())});
    nodes.push_back(std::move(node));
  }

  void step(int number, ReshardKind kind, Axes axes, unsigned dim, unsigned otherDim,
            Sharding after) {
    const Node &node = nodes[number];
    ReshardStep next{kind, std::move(axes), dim, otherDim, after, 0};
    next.bytes = bytesSent(next, node.sharding);
    double cost = node.cost + next.bytes + (kind == ReshardKind::allSlice ? kSliceCost : kStepCost);
    add(Node{std::move(after), next, node.bytes + next.bytes, cost, node.steps + 1, number});
  }

  /// As the collectives' own `getBytesSent`, of operands that are filled up.
  double bytesSent(const ReshardStep &step, const Sharding &before) const {
    double n = double(mesh.getSize(step.axes)), share = (n - 1) / n;
    double in = double(elements(before)) * elementBytes,
           out = double(elements(step.after)) * elementBytes;
    switch (step.kind) {
    case ReshardKind::allSlice: return 0;
    case ReshardKind::allToAll: return std::max(in, out) * share;
    case ReshardKind::permute: return in;
    case ReshardKind::allGather: return in * (n - 1);
    case ReshardKind::reduceScatter: return out * (n - 1);
    case ReshardKind::allReduce: return 2 * in * share;
    }
    llvm_unreachable("all kinds are listed");
  }

  /// Whether parts of `shorter` are whole parts of `longer`, which has more axes behind: so
  /// unless the dimension is filled up differently. One that is whole is always fine.
  bool isNested(unsigned dim, ArrayRef<unsigned> shorter, ArrayRef<unsigned> longer) const {
    int64_t size = global.getDimSize(dim), few = mesh.getSize(shorter), many = mesh.getSize(longer);
    return shorter.empty() ||
           llvm::divideCeil(size, few) == llvm::divideCeil(size, many) * (many / few);
  }

  void expand(int number) {
    Sharding here = nodes[number].sharding;
    addReductions(number, here);
    addSlices(number, here);
    addMoves(number, here);
    addPermutes(number, here);
  }

  /// All-reduce and reduce-scatter of axes that are not wished to stay partial.
  void addReductions(int number, const Sharding &here) {
    Axes partial;
    for (unsigned axis : here.partial)
      if (!llvm::is_contained(to.partial, axis))
        partial.push_back(axis);
    for (const Axes &axes : selections(here, partial)) {
      Sharding after = here;
      llvm::erase_if(after.partial, [&](unsigned axis) { return llvm::is_contained(axes, axis); });
      if (llvm::is_sorted(axes))
        step(number, ReshardKind::allReduce, axes, 0, 0, after);
      for (unsigned dim : dims)
        if (std::optional<Sharding> cut = append(after, dim, axes); cut && mayCut(*cut, dim))
          step(number, ReshardKind::reduceScatter, axes, dim, 0, *cut);
    }
  }

  /// Non-empty selections of axes, in all orders; of many axes all of them, and what the target
  /// has next of them in each dimension.
  SmallVector<Axes> selections(const Sharding &here, const Axes &axes) const {
    SmallVector<Axes> result;
    Axes prefix;
    if (arranges) {
      appendArrangements(axes, prefix, result);
      return result;
    }
    result.push_back(axes);
    for (unsigned dim : dims)
      result.push_back(
          Axes(ArrayRef(to.dims[dim])
                   .drop_front(std::min(here.dims[dim].size(), to.dims[dim].size()))
                   .take_while([&](unsigned axis) { return llvm::is_contained(axes, axis); })));
    llvm::erase_if(result, [](const Axes &selected) { return selected.empty(); });
    return result;
  }
  /// Of many axes, only such come to a dimension that the target has there, in its order.
  bool mayCut(const Sharding &after, unsigned dim) const {
    ArrayRef<unsigned> wanted = to.dims[dim];
    return arranges || wanted.take_front(after.dims[dim].size()) == ArrayRef(after.dims[dim]);
  }

  void addSlices(int number, const Sharding &here) {
    Axes unused;
    for (const Axes &axes : to.dims)
      llvm::copy_if(axes, std::back_inserter(unused),
                    [&](unsigned axis) { return !here.uses(axis); });
    llvm::sort(unused);
    for (const Axes &axes : selections(here, unused))
      for (unsigned dim : dims)
        if (std::optional<Sharding> cut = append(here, dim, axes); cut && mayCut(*cut, dim))
          step(number, ReshardKind::allSlice, axes, dim, 0, *cut);
  }

  /// Gathers of the minor axes of a dimension, and their moves to another.
  void addMoves(int number, const Sharding &here) {
    for (unsigned dim : dims)
      for (unsigned kept = here.dims[dim].size(); kept-- > 0;) {
        ArrayRef<unsigned> all = here.dims[dim];
        Axes axes(all.drop_front(kept));
        if (!isNested(dim, all.take_front(kept), all) || !mayKeep(all, to.dims[dim], kept))
          continue;
        Sharding whole = here;
        whole.dims[dim].truncate(kept);
        step(number, ReshardKind::allGather, axes, dim, 0, whole);
        for (unsigned other : dims)
          if (other != dim && mayMove(axes, other))
            if (std::optional<Sharding> moved = append(whole, other, axes))
              step(number, ReshardKind::allToAll, axes, other, dim, *moved);
      }
  }

  /// Of many axes, what is as in the target stays, or nothing does.
  bool mayKeep(ArrayRef<unsigned> all, ArrayRef<unsigned> wanted, unsigned kept) const {
    auto common = llvm::mismatch(all, wanted).first - all.begin();
    return arranges || kept == 0 || kept == common;
  }
  /// Many go together to where the target has them.
  bool mayMove(ArrayRef<unsigned> axes, unsigned dim) const {
    return arranges || llvm::all_of(axes, [&](unsigned axis) {
             return llvm::is_contained(to.dims[dim], axis);
           });
  }

  std::optional<Sharding> append(Sharding sharding, unsigned dim, ArrayRef<unsigned> axes) const {
    Axes before = sharding.dims[dim];
    llvm::append_range(sharding.dims[dim], axes);
    if (!isNested(dim, before, sharding.dims[dim]))
      return std::nullopt;
    return sharding;
  }

  /// Other axes, or another order, for the same numbers of parts: as the target has them,
  /// or by turns of the axes of one dimension.
  void addPermutes(int number, const Sharding &here) {
    Sharding after = here;
    after.dims = to.dims;
    permuteTo(number, here, after);
    if (!arranges)
      return;
    for (unsigned dim : dims) {
      after = here;
      Axes &axes = after.dims[dim];
      llvm::sort(axes);
      do
        permuteTo(number, here, after);
      while (std::next_permutation(axes.begin(), axes.end()));
    }
  }

  void permuteTo(int number, const Sharding &here, const Sharding &after) {
    Axes axes;
    for (unsigned dim : dims) {
      if (mesh.getSize(here.dims[dim]) != mesh.getSize(after.dims[dim]))
        return;
      for (const Axes &cut : {here.dims[dim], after.dims[dim]})
        if (here.dims[dim] != after.dims[dim])
          llvm::append_range(axes, cut);
    }
    llvm::sort(axes);
    axes.erase(llvm::unique(axes), axes.end());
    bool isPartial =
        llvm::any_of(axes, [&](unsigned axis) { return llvm::is_contained(here.partial, axis); });
    if (!axes.empty() && !isPartial)
      step(number, ReshardKind::permute, axes, 0, 0, after);
  }

  ReshardPlan collect(int number) const {
    ReshardPlan plan;
    plan.bytes = nodes[number].bytes;
    plan.cost = nodes[number].cost;
    for (int at = number; at >= 0; at = nodes[at].previous) {
      plan.peakElements = std::max(plan.peakElements, elements(nodes[at].sharding));
      if (nodes[at].step)
        plan.steps.push_back(*nodes[at].step);
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  RankedTensorType global;
  const Sharding &from, &to;
  MeshAttr mesh;
  double elementBytes;
  SmallVector<unsigned> dims;
  bool arranges; ///< all orders of axes, at all places
  int64_t limit = 0;
  std::vector<Node> nodes;
  std::map<std::vector<int64_t>, int> best;
  using Entry = std::tuple<double, unsigned, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
};
} // namespace

FailureOr<ReshardPlan> dist::planReshard(RankedTensorType global, const Sharding &from,
                                         const Sharding &to, MeshAttr mesh) {
  bool becomesPartial = llvm::any_of(
      to.partial, [&](unsigned axis) { return !llvm::is_contained(from.partial, axis); });
  if (becomesPartial || (!to.partial.empty() && from.combine != to.combine))
    return failure();
  int64_t bound = std::max(from.localType(global, mesh).getNumElements(),
                           to.localType(global, mesh).getNumElements());
  FailureOr<ReshardPlan> lean = Search(global, from, to, mesh).run(bound);
  if (succeeded(lean))
    return lean;
  return Search(global, from, to, mesh).run(std::numeric_limits<int64_t>::max());
}

/// The number of a device's part along axes, of its coordinates per axis.
static int64_t linearIndex(ArrayRef<unsigned> axes, ArrayRef<int64_t> coordinates, MeshAttr mesh) {
  int64_t index = 0;
  for (unsigned axis : axes)
    index = index * mesh.getSizes()[axis] + coordinates[axis];
  return index;
}
static void setCoordinates(ArrayRef<unsigned> axes, int64_t index,
                           MutableArrayRef<int64_t> coordinates, MeshAttr mesh) {
  for (unsigned axis : llvm::reverse(axes)) {
    coordinates[axis] = index % mesh.getSizes()[axis];
    index /= mesh.getSizes()[axis];
  }
}

SmallVector<int64_t> dist::permuteSources(const ReshardStep &step, const Sharding &before,
                                          MeshAttr mesh) {
  Axes freeBefore, freeAfter; // Along these all hold the same: one goes to one.
  for (unsigned axis : step.axes) {
    if (!before.dimOf(axis))
      freeBefore.push_back(axis);
    if (!step.after.dimOf(axis))
      freeAfter.push_back(axis);
  }
  SmallVector<int64_t> sources, coordinates(mesh.getSizes().size(), 0), source(coordinates);
  for (int64_t device = 0, n = mesh.getSize(step.axes); device < n; ++device) {
    setCoordinates(step.axes, device, coordinates, mesh);
    for (auto [old, next] : llvm::zip_equal(before.dims, step.after.dims))
      if (old != next)
        setCoordinates(old, linearIndex(next, coordinates, mesh), source, mesh);
    setCoordinates(freeBefore, linearIndex(freeAfter, coordinates, mesh), source, mesh);
    sources.push_back(linearIndex(step.axes, source, mesh));
  }
  return sources;
}

const FailureOr<ReshardPlan> &ReshardPlanner::plan(RankedTensorType global, const Sharding &from,
                                                   const Sharding &to) {
  std::vector<int64_t> key(global.getShape().begin(), global.getShape().end());
  key.push_back(
      int64_t(graph::detail::bytesOf(RankedTensorType::get({}, global.getElementType()))));
  for (const Sharding *end : {&from, &to}) {
    std::vector<int64_t> part = keyOf(*end);
    key.insert(key.end(), part.begin(), part.end());
  }
  auto place = plans.find(key);
  if (place == plans.end())
    place = plans.emplace(key, planReshard(global, from, to, mesh)).first;
  return place->second;
}
