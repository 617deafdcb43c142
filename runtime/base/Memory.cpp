#include "runtime/base/Memory.h"

#include "runtime/base/MemoryLimits.h"

#include <cstdlib>
#include <sys/mman.h>

namespace minigptc::runtime {

std::shared_ptr<std::byte[]> allocateAligned(uint64_t bytes) {
  constexpr uint64_t hugePage = 2 << 20;
  // Some systems promise any amount and kill whoever uses it.
  static const uint64_t limit = memoryLimits().total;
  if (bytes > limit)
    return nullptr;
  bool huge = bytes >= hugePage;
  void *block = nullptr;
  if (posix_memalign(&block, huge ? hugePage : 64, bytes ? bytes : 1) != 0)
    return nullptr;
#ifdef MADV_HUGEPAGE
  if (huge)
    madvise(block, bytes / hugePage * hugePage, MADV_HUGEPAGE); // a wish: failure changes nothing
#endif
  return std::shared_ptr<std::byte[]>(static_cast<std::byte *>(block), std::free);
}

} // namespace minigptc::runtime
