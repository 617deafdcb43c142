#include "minigptc/runtime/Array.h"

#include "runtime/base/Blocks.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Scalar.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace minigptc {

/// Bytes of a type; none if a dimension is negative or the product overflows.
static std::optional<uint64_t> checkedBytes(const TensorType &type) {
  uint64_t bytes = sizeOf(type.dtype);
  for (int64_t size : type.shape)
    if (size < 0 || __builtin_mul_overflow(bytes, uint64_t(size), &bytes))
      return std::nullopt;
  return bytes;
}

Array Array::uninitialized(TensorType type) {
  Array array;
  if (std::optional<uint64_t> bytes = checkedBytes(type))
    array.storage_ = runtime::allocateAligned(*bytes);
  array.type_ = std::move(type);
  return array;
}

Array::Array(TensorType type) : Array(uninitialized(std::move(type))) {
  if (valid())
    std::memset(data(), 0, type_.numBytes());
}

double Array::scalar() const {
  if (!data() || type_.numElements() != 1)
    return std::numeric_limits<double>::quiet_NaN();
  return runtime::loadScalar(type_.dtype, data());
}

/// Copies of the buffers, or nothing if memory is short.
static std::shared_ptr<ArrayShards> cloneShards(const ArrayShards &shards) {
  auto copy = std::make_shared<ArrayShards>(shards);
  size_t bytes = size_t(shards.local.numBytes());
  for (std::shared_ptr<std::byte[]> &buffer : copy->buffers) {
    std::shared_ptr<std::byte[]> fresh = runtime::allocateAligned(bytes);
    if (!fresh)
      return nullptr;
    if (bytes)
      std::memcpy(fresh.get(), buffer.get(), bytes);
    buffer = std::move(fresh);
  }
  return copy;
}

Array Array::clone() const {
  if (!valid())
    return *this;
  if (shards_) {
    Array copy;
    copy.type_ = type_;
    copy.shards_ = cloneShards(*shards_);
    if (copy.shards_ && storage_)
      copy.storage_ = copy.shards_->buffers.front();
    return copy;
  }
  Array copy = uninitialized(type_);
  if (copy.valid() && type_.numBytes())
    std::memcpy(copy.data(), data(), type_.numBytes());
  return copy;
}

long Array::useCount() const {
  if (!shards_)
    return storage_.use_count();
  long owners = shards_.use_count(), most = owners;
  for (const std::shared_ptr<std::byte[]> &buffer : shards_->buffers)
    most = std::max(most, buffer.use_count() - (buffer == storage_ ? owners : 0));
  return most;
}

bool Array::liesOn(const Mesh &mesh, const PartitionSpec &spec) const {
  return shards_ && shards_->mesh == mesh && shards_->spec == spec.trimmed();
}

Array Array::shard(int64_t device) const {
  Array part;
  part.type_ = shards_->local;
  part.storage_ = shards_->buffers[size_t(device)];
  return part;
}

Array Array::sharded(TensorType type, Mesh mesh, PartitionSpec spec) {
  auto shards = std::make_shared<ArrayShards>();
  shards->local = {type.dtype, localShape(type.shape, spec, mesh)};
  Array array;
  std::optional<uint64_t> bytes = checkedBytes(shards->local);
  for (int64_t device = 0; bytes && device < mesh.numDevices(); ++device) {
    shards->buffers.push_back(runtime::allocateAligned(*bytes));
    if (!shards->buffers.back())
      bytes.reset();
  }
  if (bytes) {
    if (shards->local.shape == type.shape)
      array.storage_ = shards->buffers.front();
    shards->mesh = std::move(mesh);
    shards->spec = spec.trimmed();
    array.shards_ = std::move(shards);
  }
  array.type_ = std::move(type);
  return array;
}

Array Array::shardedFrom(const Array &array, Mesh mesh, PartitionSpec spec) {
  Array from = array.whole();
  Array to = sharded(array.type(), std::move(mesh), std::move(spec));
  if (!from.valid() || !to.valid())
    return {};
  const ArrayShards &shards = *to.shards_;
  for (int64_t device = 0; device < shards.mesh.numDevices(); ++device) {
    ShardSlice slice = shardOf(from.shape(), shards.spec, shards.mesh, device);
    if (slice.size != shards.local.shape)
      std::memset(to.shardData(device), 0, size_t(shards.local.numBytes()));
    runtime::copyBlock(sizeOf(from.dtype()), slice.size, std::as_const(from).data(), from.shape(),
                       slice.start, to.shardData(device), shards.local.shape,
                       Shape(slice.size.size(), 0));
  }
  return to;
}

Array Array::whole() const {
  if (!shards_)
    return *this;
  Array result = uninitialized(type_);
  if (!result.valid())
    return result;
  for (int64_t device = 0; device < shards_->mesh.numDevices(); ++device) {
    ShardSlice slice = shardOf(type_.shape, shards_->spec, shards_->mesh, device);
    runtime::copyBlock(sizeOf(type_.dtype), slice.size, shards_->buffers[size_t(device)].get(),
                       shards_->local.shape, Shape(slice.size.size(), 0), result.data(),
                       type_.shape, slice.start);
    if (storage_)
      break; // Device 0 has everything.
  }
  return result;
}

} // namespace minigptc
