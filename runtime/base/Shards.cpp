#include "runtime/base/Shards.h"

#include "runtime/base/ArrayBuffer.h"
#include "runtime/base/Blocks.h"

#include <algorithm>
#include <set>

namespace minigptc::runtime {

std::vector<ShardPart> allParts(const Array &array) {
  std::vector<ShardPart> parts;
  const ArrayShards &shards = *array.shards();
  for (int64_t device = 0; device < shards.mesh.numDevices(); ++device) {
    ShardSlice slice = shardOf(array.shape(), shards.spec, shards.mesh, device);
    if (std::find(slice.size.begin(), slice.size.end(), 0) == slice.size.end())
      parts.push_back({device, std::move(slice)});
  }
  return parts;
}

std::vector<ShardPart> partsOf(const Array &array) {
  std::set<Shape> seen;
  std::vector<ShardPart> parts = allParts(array);
  std::erase_if(parts,
                [&](const ShardPart &part) { return !seen.insert(part.slice.start).second; });
  return parts;
}

std::vector<std::byte> packPart(const Array &array, const ShardPart &part) {
  const ArrayShards &shards = *array.shards();
  Shape origin(part.slice.size.size(), 0);
  std::vector<std::byte> bytes(size_t(TensorType{array.dtype(), part.slice.size}.numBytes()));
  copyBlock(sizeOf(array.dtype()), part.slice.size, shards.buffers[size_t(part.device)]->read(),
            shards.local.shape, origin, bytes.data(), part.slice.size, origin);
  return bytes;
}

} // namespace minigptc::runtime
