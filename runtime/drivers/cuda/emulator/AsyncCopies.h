//===- AsyncCopies.h - copies that a thread has yet to wait for -*- C++ -*-===//
//
// cp.async: a copy belongs to the group that the next commit closes; waiting delivers the
// oldest groups. Data arrive when they are waited for and no earlier.
//
//   copies.add({target, source, 16, 16, site});
//   copies.commit();
//   for (const AsyncCopy &copy : copies.take(/*pending=*/0, /*all=*/false)) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_ASYNCCOPIES_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_ASYNCCOPIES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace minigptc::runtime::emulator {

struct AsyncCopy {
  void *target;
  const void *source;
  uint32_t bytes, sourceBytes; ///< the rest is zeros
  uint32_t site;
};

class AsyncCopies {
public:
  void add(const AsyncCopy &copy) { waiting.push_back({copy, groups}); }
  void commit() { ++groups; }
  /// Those of all but the last `pending` groups, in their order; `all`: every one.
  std::vector<AsyncCopy> take(uint32_t pending, bool all) {
    std::vector<AsyncCopy> result;
    std::size_t count = 0;
    while (count < waiting.size() && (all || waiting[count].group + pending < groups))
      result.push_back(waiting[count++].copy);
    waiting.erase(waiting.begin(), waiting.begin() + std::ptrdiff_t(count));
    return result;
  }
  void clear() {
    waiting.clear();
    groups = 0;
  }

private:
  struct Grouped {
    AsyncCopy copy;
    uint32_t group;
  };
  std::vector<Grouped> waiting;
  uint32_t groups = 0; ///< closed so far
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_ASYNCCOPIES_H
