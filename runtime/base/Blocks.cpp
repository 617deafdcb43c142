#include "runtime/base/Blocks.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime {

void copyBlock(int64_t elementBytes, const Shape &size, const std::byte *source,
               const Shape &sourceShape, const Shape &sourceStart, std::byte *target,
               const Shape &targetShape, const Shape &targetStart) {
  if (std::find(size.begin(), size.end(), 0) != size.end())
    return;
  // Trailing dimensions that both hold whole, and the one before, are contiguous.
  size_t outer = size.size();
  int64_t run = elementBytes;
  while (outer > 0 && size[outer - 1] == sourceShape[outer - 1] &&
         size[outer - 1] == targetShape[outer - 1])
    run *= size[--outer];
  if (outer > 0)
    run *= size[--outer];
  Shape index(outer, 0);
  auto offset = [&](const Shape &shape, const Shape &start) {
    int64_t at = 0;
    for (size_t d = 0; d < size.size(); ++d)
      at = at * shape[d] + start[d] + (d < outer ? index[d] : 0);
    return at * elementBytes;
  };
  for (;;) {
    std::memcpy(target + offset(targetShape, targetStart),
                source + offset(sourceShape, sourceStart), size_t(run));
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == size[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

} // namespace minigptc::runtime
