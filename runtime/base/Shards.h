//===- Shards.h - the distinct parts of a sharded array ---------*- C++ -*-===//
//
//   for (const ShardPart &part : partsOf(array))          // each element once
//     write(part.slice, packPart(array, part));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_SHARDS_H
#define MINIGPTC_RUNTIME_BASE_SHARDS_H

#include "minigptc/runtime/Array.h"

namespace minigptc::runtime {

/// What a device holds of a sharded array.
struct ShardPart {
  int64_t device = 0;
  ShardSlice slice;
};

/// The parts of this process's devices that have one, or only of the first ones here of those that
/// hold the same. Empty parts are left out.
std::vector<ShardPart> allParts(const Array &array);
std::vector<ShardPart> partsOf(const Array &array);
/// Each element once, over all processes; of these, what the first device that holds it is here.
std::vector<ShardPart> partsOfAll(const Array &array);
std::vector<ShardPart> ownParts(const Array &array);
/// Whether these devices, wherever they are, hold all of a sharded array.
bool isOn(const Array &array, DeviceRange devices);

/// A part's elements, row-major, without what fills up the buffer.
std::vector<std::byte> packPart(const Array &array, const ShardPart &part);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_SHARDS_H
