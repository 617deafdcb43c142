// An array whose parts lie in several processes, in one piece everywhere.
#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/base/Blocks.h"
#include "runtime/base/Shards.h"

namespace minigptc::runtime {

/// What this process gives: the parts of which the first device is here, one after the other.
static StatusOr<std::string> partsToSend(const Array &array) {
  std::string bytes;
  for (const ShardPart &part : ownParts(array)) {
    MINIGPTC_RETURN_IF_ERROR(array.shard(part.device).fetch());
    std::vector<std::byte> packed = packPart(array, part);
    bytes.append(reinterpret_cast<const char *>(packed.data()), packed.size());
  }
  return bytes;
}

StatusOr<Array> ProcessGroup::gather(const Array &array) {
  // What decides is the same in all processes: that nobody waits for one that has no need.
  if (!array.isSharded() || array.shards()->here.count == array.shards()->mesh.numDevices()) {
    MINIGPTC_RETURN_IF_ERROR(array.fetch());
    return array.whole();
  }
  StatusOr<std::string> mine = partsToSend(array);
  std::string what = "the gathering of " + array.type().toString();
  if (!mine)
    return fail(mine.status()), mine.status();
  StatusOr<std::vector<std::string>> all = allGather(what, *mine);
  if (!all)
    return all.status();
  Array whole = Array::uninitialized(array.type());
  if (!whole.valid())
    return Status(StatusCode::resourceExhausted, "not enough memory for " +
                                                     array.type().toString());
  std::vector<size_t> offsets(all->size());
  for (const ShardPart &part : partsOfAll(array)) {
    size_t owner = size_t(part.device / array.shards()->here.count);
    size_t bytes = size_t(TensorType{array.dtype(), part.slice.size}.numBytes());
    if ((*all)[owner].size() - offsets[owner] < bytes)
      return Status(StatusCode::internal, nameOf(int64_t(owner)) + " has other parts of " +
                                              array.type().toString());
    const auto *from = reinterpret_cast<const std::byte *>((*all)[owner].data()) + offsets[owner];
    offsets[owner] += bytes;
    copyBlock(sizeOf(array.dtype()), part.slice.size, from, part.slice.size,
              Shape(part.slice.size.size(), 0), whole.data(), array.shape(), part.slice.start);
  }
  return whole;
}

} // namespace minigptc::runtime
