// An array whose parts lie in several processes, in one piece everywhere.
#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/base/Blocks.h"
#include "runtime/base/Shards.h"

namespace minigptc::runtime {

/// Of a sharded array: every process has all of it. The same answer in all of them.
static bool isEverywhere(const Array &array) {
  const ArrayShards &shards = *array.shards();
  for (DeviceRange devices{0, shards.here.count}; devices.first < shards.mesh.numDevices();
       devices.first += devices.count)
    if (!isOn(array, devices))
      return false;
  return true;
}

/// What this process gives: the parts of which the first device is here, one after the other.
static StatusOr<std::string> partsToSend(std::span<const Array> arrays) {
  std::string bytes;
  for (const Array &array : arrays)
    for (const ShardPart &part : ownParts(array)) {
      MINIGPTC_RETURN_IF_ERROR(array.shard(part.device).fetch());
      std::vector<std::byte> packed = packPart(array, part);
      bytes.append(reinterpret_cast<const char *>(packed.data()), packed.size());
    }
  return bytes;
}

/// Reads what the processes have given, each from front to back.
static StatusOr<Array> readParts(const Array &array, std::vector<std::string_view> &given,
                                 const ProcessGroup &group) {
  Array whole = Array::uninitialized(array.type());
  if (!whole.valid())
    return Status(StatusCode::resourceExhausted,
                  "not enough memory for " + array.type().toString());
  for (const ShardPart &part : partsOfAll(array)) {
    int64_t owner = part.device / array.shards()->here.count;
    std::string_view &bytes = given[size_t(owner)];
    size_t size = size_t(TensorType{array.dtype(), part.slice.size}.numBytes());
    if (bytes.size() < size)
      return Status(StatusCode::internal,
                    group.nameOf(owner) + " has other parts of " + array.type().toString());
    copyBlock(sizeOf(array.dtype()), part.slice.size,
              reinterpret_cast<const std::byte *>(bytes.data()), part.slice.size,
              Shape(part.slice.size.size(), 0), whole.data(), array.shape(), part.slice.start);
    bytes.remove_prefix(size);
  }
  return whole;
}

StatusOr<std::vector<Array>> ProcessGroup::gather(std::span<const Array> arrays) {
  // What decides is the same in all processes: that nobody waits for one that has no need.
  std::vector<Array> spread;
  std::string types;
  for (const Array &array : arrays)
    if (array.isSharded() && !isEverywhere(array)) {
      spread.push_back(array);
      types += (types.empty() ? "" : ", ") + array.type().toString();
    }
  std::vector<std::string> all;
  if (!spread.empty()) {
    StatusOr<std::string> mine = partsToSend(spread);
    if (!mine)
      return fail(mine.status()), mine.status();
    StatusOr<std::vector<std::string>> gathered = allGather("the gathering of " + types, *mine);
    if (!gathered)
      return gathered.status();
    all = std::move(*gathered);
  }
  std::vector<std::string_view> given(all.begin(), all.end());
  std::vector<Array> whole;
  for (const Array &array : arrays) {
    if (!array.isSharded() || isEverywhere(array)) {
      MINIGPTC_RETURN_IF_ERROR(array.fetch());
      whole.push_back(array.whole());
      continue;
    }
    StatusOr<Array> read = readParts(array, given, *this);
    if (!read)
      return read.status();
    whole.push_back(std::move(*read));
  }
  return whole;
}

StatusOr<Array> ProcessGroup::gather(const Array &array) {
  StatusOr<std::vector<Array>> whole = gather(std::span(&array, 1));
  if (!whole)
    return whole.status();
  return std::move(whole->front());
}

} // namespace minigptc::runtime
