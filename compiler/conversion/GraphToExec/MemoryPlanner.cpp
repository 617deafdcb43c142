//===- MemoryPlanner.cpp --------------------------------------------------===//
#include "compiler/conversion/GraphToExec/MemoryPlanner.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

using namespace minigptc;

namespace {
/// Buffers that have their places, by offset. A deep model has thousands, few of which are
/// alive at once: those are gathered first, some at a time, without branches.
class Placed {
public:
  /// The start of the smallest gap of at least `size` bytes between the buffers that are alive
  /// with this one, or behind them.
  int64_t findGap(const Lifetime &buffer, int64_t size) const {
    int64_t best = -1, bestSize = 0, free = 0; // From `free` on nothing so far is in the way.
    std::array<uint32_t, 128> alive;
    for (size_t begin = 0; begin < places.size(); begin += alive.size()) {
      size_t end = std::min(begin + alive.size(), places.size()), count = 0;
      for (size_t i = begin; i < end; ++i) {
        alive[count] = uint32_t(i);
        count += size_t(begins[i] <= buffer.end) & size_t(ends[i] >= buffer.begin);
      }
      for (size_t k = 0; k < count; ++k) {
        auto [offset, bytes] = places[alive[k]];
        int64_t gap = offset - free;
        if (gap == size)
          return free;
        if (gap > size && (best < 0 || gap < bestSize)) {
          best = free;
          bestSize = gap;
        }
        free = std::max(free, offset + bytes);
      }
    }
    return best < 0 ? free : best;
  }

  void insert(const Lifetime &buffer, int64_t offset, int64_t size) {
    auto behind = std::upper_bound(places.begin(), places.end(), offset,
                                   [](int64_t at, auto place) { return at < place.first; });
    auto index = behind - places.begin();
    // What lives and lies beside each other counts as one: what one layer keeps for another.
    if (index > 0 && begins[index - 1] == buffer.begin && ends[index - 1] == buffer.end &&
        places[index - 1].first + places[index - 1].second == offset) {
      places[index - 1].second += size;
      return;
    }
    places.insert(behind, {offset, size});
    begins.insert(begins.begin() + index, buffer.begin);
    ends.insert(ends.begin() + index, buffer.end);
  }

private:
  std::vector<std::pair<int64_t, int64_t>> places; ///< offset, bytes
  std::vector<int64_t> begins, ends;               ///< lifetimes, in the same order
};
} // namespace

MemoryPlan minigptc::planMemory(const std::vector<Lifetime> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(-buffers[a].bytes, buffers[a].begin, a) <
           std::tuple(-buffers[b].bytes, buffers[b].begin, b);
  });
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  Placed placed;
  for (size_t index : order) {
    int64_t size = alignBuffer(buffers[index].bytes);
    if (size == 0)
      continue;
    int64_t offset = plan.offsets[index] = placed.findGap(buffers[index], size);
    plan.size = std::max(plan.size, offset + size);
    placed.insert(buffers[index], offset, size);
  }
  return plan;
}

int64_t minigptc::getPeak(const std::vector<Lifetime> &buffers) {
  std::map<int64_t, int64_t> changes; // at an instruction: bytes born less bytes dead before it
  for (const Lifetime &buffer : buffers) {
    changes[buffer.begin] += alignBuffer(buffer.bytes);
    changes[buffer.end + 1] -= alignBuffer(buffer.bytes);
  }
  int64_t live = 0, peak = 0;
  for (auto [time, change] : changes)
    peak = std::max(peak, live += change);
  return peak;
}
