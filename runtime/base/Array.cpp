#include "minigptc/runtime/Array.h"

#include "runtime/base/ArrayBuffer.h"
#include "runtime/base/Blocks.h"
#include "runtime/base/Scalar.h"
#include "runtime/base/Shards.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace minigptc {

using runtime::ArrayBuffer;
using Buffers = std::vector<std::shared_ptr<ArrayBuffer>>;

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
    array.storage_ = ArrayBuffer::allocate(*bytes);
  array.type_ = std::move(type);
  return array;
}

Array::Array(TensorType type) : Array(uninitialized(std::move(type))) {
  if (valid())
    std::memset(data(), 0, type_.numBytes());
}

std::byte *Array::data() { return storage_ ? storage_->write() : nullptr; }
const std::byte *Array::data() const { return storage_ ? storage_->read() : nullptr; }
std::byte *Array::shardData(int64_t device) {
  const std::shared_ptr<ArrayBuffer> &buffer = shards_->buffers[size_t(device)];
  return buffer ? buffer->write() : nullptr;
}

runtime::Status Array::fetch() const {
  if (storage_ || !shards_)
    return storage_ ? storage_->fetch() : runtime::Status();
  if (!isHere())
    return runtime::Status(runtime::StatusCode::failedPrecondition,
                           "parts of an array, " + type_.toString() + " cut as " +
                               shards_->spec.toString() + ", are in other processes")
        .withHelp("ProcessGroup::gather brings it together, if all processes call it");
  for (const std::shared_ptr<ArrayBuffer> &buffer : shards_->buffers)
    if (buffer)
      MINIGPTC_RETURN_IF_ERROR(buffer->fetch());
  return {};
}

bool Array::isHere() const {
  return !shards_ || storage_ || shards_->here == DeviceRange::all(shards_->mesh) ||
         runtime::isOn(*this, shards_->here);
}

double Array::scalar() const {
  const std::byte *bytes = type_.numElements() == 1 ? data() : nullptr;
  return bytes ? runtime::loadScalar(type_.dtype, bytes) : std::numeric_limits<double>::quiet_NaN();
}

/// Of the first device that has a part.
static std::shared_ptr<ArrayBuffer> firstOf(const Buffers &buffers) {
  for (const std::shared_ptr<ArrayBuffer> &buffer : buffers)
    if (buffer)
      return buffer;
  return nullptr;
}

/// Copies of the buffers, or nothing if memory is short.
static std::shared_ptr<ArrayShards> cloneShards(const ArrayShards &shards) {
  auto copy = std::make_shared<ArrayShards>(shards);
  size_t bytes = size_t(shards.local.numBytes());
  for (std::shared_ptr<ArrayBuffer> &buffer : copy->buffers) {
    if (!buffer)
      continue;
    std::shared_ptr<ArrayBuffer> fresh = ArrayBuffer::allocate(bytes);
    const std::byte *from = buffer->read();
    if (!fresh || !from)
      return nullptr;
    if (bytes)
      std::memcpy(fresh->write(), from, bytes);
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
      copy.storage_ = firstOf(copy.shards_->buffers);
    return copy;
  }
  const std::byte *from = data();
  Array copy = from ? uninitialized(type_) : Array();
  if (copy.valid() && type_.numBytes())
    std::memcpy(copy.data(), from, type_.numBytes());
  return copy;
}

long Array::useCount() const {
  if (!shards_)
    return storage_.use_count();
  long owners = shards_.use_count(), most = owners;
  for (const std::shared_ptr<ArrayBuffer> &buffer : shards_->buffers)
    if (buffer)
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
  DeviceRange all = DeviceRange::all(mesh);
  return sharded(std::move(type), std::move(mesh), std::move(spec), all);
}

Array Array::sharded(TensorType type, Mesh mesh, PartitionSpec spec, DeviceRange here) {
  std::optional<uint64_t> bytes = checkedBytes({type.dtype, localShape(type.shape, spec, mesh)});
  Buffers buffers;
  for (int64_t device = here.first; bytes && device < here.end(); ++device) {
    if (!spec.isOn(device, mesh)) {
      buffers.emplace_back();
      continue;
    }
    buffers.push_back(ArrayBuffer::allocate(*bytes));
    if (!buffers.back())
      bytes.reset();
  }
  if (bytes)
    return runtime::ArrayParts::sharded(std::move(type), std::move(mesh), std::move(spec), here,
                                        std::move(buffers));
  Array invalid;
  invalid.type_ = std::move(type);
  return invalid;
}

Array runtime::ArrayParts::sharded(TensorType type, Mesh mesh, PartitionSpec spec,
                                   DeviceRange here, Buffers buffers) {
  auto shards = std::make_shared<ArrayShards>();
  shards->local = {type.dtype, localShape(type.shape, spec, mesh)};
  shards->mesh = std::move(mesh);
  shards->spec = spec.trimmed();
  shards->here = here;
  shards->buffers.resize(size_t(shards->mesh.numDevices()));
  std::ranges::move(buffers, shards->buffers.begin() + here.first);
  Array array;
  // Of one element cut in two, the second device has nothing, in a buffer for one.
  auto first = std::ranges::find_if(shards->buffers, [](const auto &buffer) { return !!buffer; });
  if (first != shards->buffers.end() &&
      shardOf(type.shape, spec, shards->mesh, first - shards->buffers.begin()).size == type.shape)
    array.storage_ = *first;
  array.shards_ = std::move(shards);
  array.type_ = std::move(type);
  return array;
}

Array runtime::ArrayParts::whole(TensorType type, std::shared_ptr<ArrayBuffer> buffer) {
  Array array;
  array.type_ = std::move(type);
  array.storage_ = std::move(buffer);
  return array;
}

const std::shared_ptr<ArrayBuffer> &runtime::ArrayParts::buffer(const Array &array,
                                                                int64_t device) {
  return array.shards_ ? array.shards_->buffers[size_t(device)] : array.storage_;
}

Array Array::shardedFrom(const Array &array, Mesh mesh, PartitionSpec spec) {
  DeviceRange all = DeviceRange::all(mesh);
  return shardedFrom(array, std::move(mesh), std::move(spec), all);
}

Array Array::shardedFrom(const Array &array, Mesh mesh, PartitionSpec spec, DeviceRange here) {
  const Array from = array.whole();
  const std::byte *bytes = from.data();
  Array to = sharded(array.type(), std::move(mesh), std::move(spec), here);
  if (!bytes || !to.valid())
    return {};
  const ArrayShards &shards = *to.shards_;
  for (int64_t device = here.first; device < here.end(); ++device) {
    if (!shards.buffers[size_t(device)])
      continue;
    ShardSlice slice = shardOf(from.shape(), shards.spec, shards.mesh, device);
    if (slice.size != shards.local.shape)
      std::memset(to.shardData(device), 0, size_t(shards.local.numBytes()));
    runtime::copyBlock(sizeOf(from.dtype()), slice.size, bytes, from.shape(), slice.start,
                       to.shardData(device), shards.local.shape, Shape(slice.size.size(), 0));
  }
  return to;
}

Array Array::whole() const {
  if (!shards_)
    return *this;
  Array result = fetch() ? uninitialized(type_) : Array();
  if (result.valid())
    collect(result);
  return result;
}

Array Array::partsHere() const {
  if (isHere())
    return whole();
  Array result(type_);
  if (result.valid() && !collect(result))
    return {};
  return result;
}

/// Copies what the devices here have to its place. False if it cannot be fetched.
bool Array::collect(Array &result) const {
  for (const runtime::ShardPart &part : runtime::partsOf(*this)) {
    const std::byte *from = shards_->buffers[size_t(part.device)]->read();
    if (!from)
      return false;
    runtime::copyBlock(sizeOf(type_.dtype), part.slice.size, from, shards_->local.shape,
                       Shape(part.slice.size.size(), 0), result.data(), type_.shape,
                       part.slice.start);
  }
  return true;
}

} // namespace minigptc
