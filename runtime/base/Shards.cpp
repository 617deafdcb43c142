#include "runtime/base/Shards.h"

#include "runtime/base/ArrayBuffer.h"
#include "runtime/base/Blocks.h"

#include <algorithm>
#include <set>

namespace minigptc::runtime {

static std::vector<ShardPart> partsOn(const Array &array, DeviceRange devices) {
  std::vector<ShardPart> parts;
  const ArrayShards &shards = *array.shards();
  for (int64_t device = devices.first; device < devices.end(); ++device) {
    if (!shards.spec.isOn(device, shards.mesh))
      continue;
    ShardSlice slice = shardOf(array.shape(), shards.spec, shards.mesh, device);
    if (std::find(slice.size.begin(), slice.size.end(), 0) == slice.size.end())
      parts.push_back({device, std::move(slice)});
  }
  return parts;
}

static std::vector<ShardPart> distinct(std::vector<ShardPart> parts) {
  std::set<Shape> seen;
  std::erase_if(parts,
                [&](const ShardPart &part) { return !seen.insert(part.slice.start).second; });
  return parts;
}

std::vector<ShardPart> allParts(const Array &array) { return partsOn(array, array.shards()->here); }
std::vector<ShardPart> partsOf(const Array &array) { return distinct(allParts(array)); }
std::vector<ShardPart> partsOfAll(const Array &array) {
  return distinct(partsOn(array, DeviceRange::all(array.shards()->mesh)));
}
std::vector<ShardPart> ownParts(const Array &array) {
  std::vector<ShardPart> parts = partsOfAll(array);
  std::erase_if(parts,
                [&](const ShardPart &part) { return !array.shards()->here.has(part.device); });
  return parts;
}

bool isOn(const Array &array, DeviceRange devices) {
  int64_t there = 0;
  for (const ShardPart &part : distinct(partsOn(array, devices)))
    there += TensorType{array.dtype(), part.slice.size}.numElements();
  return there == array.type().numElements();
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
