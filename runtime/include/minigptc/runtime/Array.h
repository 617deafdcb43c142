//===- Array.h - a concrete tensor ------------------------------*- C++ -*-===//
//
// A tensor in a runtime's memory. Copies of an Array share the storage; a donated
// Array (moved into a call) gives its storage to the result.
//
//   Array a = Array::fromSpan<float>({2, 3}, values);
//   std::span<const float> s = a.span<float>();
//
// On the devices of a mesh it is sharded: each device has a buffer with its part, which
// may be all of it. The type is that of the whole tensor.
//
//   Array sharded = Array::shardedFrom(a, Mesh{{"data", 2}}, P("data"));
//   sharded.shard(1);           // device 1's part, f32[1,3]
//   sharded.whole();            // one array again
//
// Where a program runs in several processes (ProcessGroup.h), each has the buffers of its own
// devices. It reads what they hold: an array of which all have everything (a loss), a device's
// part, or the whole if its devices together have that. The rest is fetched by `gather` of the
// group, which all processes call; `fetch` says so.
//
// What a run gives on devices with memory of their own stays there: the host gets a copy when
// somebody reads it, and `fetch` says why if it cannot. Given to a run again, nothing is copied
// but what the host has asked to write (any access that is not const) since the last run. A
// pointer to write by is good until the next run.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_ARRAY_H
#define MINIGPTC_RUNTIME_ARRAY_H

#include "minigptc/runtime/Mesh.h"
#include "minigptc/runtime/Status.h"
#include "minigptc/runtime/TensorType.h"
#include "minigptc/runtime/Tree.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace minigptc {
namespace runtime {
class ArrayBuffer;
struct ArrayParts;
} // namespace runtime

/// The buffers of a sharded array, in the order of devices.
struct ArrayShards {
  Mesh mesh;
  PartitionSpec spec;
  TensorType local; ///< of each buffer; parts may fill less of it
  /// Null: of another process's device, or one that has no part.
  std::vector<std::shared_ptr<runtime::ArrayBuffer>> buffers;
  DeviceRange here; ///< the devices of this process
};

/// A dense, row-major tensor, aligned to 64 bytes; whole, or sharded.
class Array {
public:
  Array() = default;
  /// Zero-filled. Aborts nowhere: `valid()` is false if memory is short.
  explicit Array(TensorType type);
  /// As above, but with undefined contents.
  static Array uninitialized(TensorType type);
  template <typename T> static Array fromSpan(Shape shape, std::span<const T> values);
  template <typename T> static Array scalar(T value) {
    return fromSpan<T>({}, std::span<const T>(&value, 1));
  }

  bool valid() const { return storage_ || shards_; }
  const TensorType &type() const { return type_; }
  const Shape &shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }

  /// Sees to it that the host has the values, from as few devices as have all parts: afterwards
  /// `data`, or `whole`, gives them.
  runtime::Status fetch() const;
  /// Null if the first device has not all of it: `whole` gives that; or if `fetch` fails. Else
  /// that device's, which is to be read only.
  std::byte *data();
  const std::byte *data() const;
  /// Elements as T, which must be the element type's C++ type (bf16, f16: uint16_t;
  /// i1: uint8_t). None where `data` is null.
  template <typename T> std::span<T> span() {
    std::byte *bytes = data();
    return {reinterpret_cast<T *>(bytes), bytes ? size_t(type_.numElements()) : 0};
  }
  template <typename T> std::span<const T> span() const {
    const std::byte *bytes = data();
    return {reinterpret_cast<const T *>(bytes), bytes ? size_t(type_.numElements()) : 0};
  }
  /// The value of a one-element tensor of any type, as double; NaN for any other.
  double scalar() const;
  /// A copy with storage of its own.
  Array clone() const;
  /// Number of Arrays that share the storage.
  long useCount() const;

  bool isSharded() const { return shards_ != nullptr; }
  /// Null if it is whole.
  const ArrayShards *shards() const { return shards_.get(); }
  bool liesOn(const Mesh &mesh, const PartitionSpec &spec) const;
  /// This process's devices have all of it.
  bool isHere() const;
  /// A device's buffer as an array that shares it; invalid if it has no part. The device is one of
  /// this process.
  Array shard(int64_t device) const;
  std::byte *shardData(int64_t device);
  /// The tensor in one piece: this array, or a gathered copy. Invalid if memory is short, or
  /// if `fetch` fails.
  Array whole() const;
  /// As `whole`, with zeros for what is in other processes.
  Array partsHere() const;
  /// Uninitialised buffers for the devices of a mesh, or for those of this process.
  static Array sharded(TensorType type, Mesh mesh, PartitionSpec spec);
  static Array sharded(TensorType type, Mesh mesh, PartitionSpec spec, DeviceRange here);
  /// A copy of the parts; where they are smaller than their buffers, zeros behind.
  static Array shardedFrom(const Array &array, Mesh mesh, PartitionSpec spec);
  static Array shardedFrom(const Array &array, Mesh mesh, PartitionSpec spec, DeviceRange here);

private:
  friend struct runtime::ArrayParts;
  bool collect(Array &result) const;

  TensorType type_;
  /// Sharded: that of the first device here that has a part, if it has everything.
  std::shared_ptr<runtime::ArrayBuffer> storage_;
  std::shared_ptr<const ArrayShards> shards_;
};

/// The DType of a C++ type.
template <typename T> constexpr DType dtypeOf();
template <> constexpr DType dtypeOf<double>() { return DType::f64; }
template <> constexpr DType dtypeOf<float>() { return DType::f32; }
template <> constexpr DType dtypeOf<int64_t>() { return DType::i64; }
template <> constexpr DType dtypeOf<int32_t>() { return DType::i32; }
template <> constexpr DType dtypeOf<int8_t>() { return DType::i8; }
template <> constexpr DType dtypeOf<bool>() { return DType::i1; }
template <> constexpr DType dtypeOf<uint64_t>() { return DType::u64; }
template <> constexpr DType dtypeOf<uint32_t>() { return DType::u32; }

template <typename T> Array Array::fromSpan(Shape shape, std::span<const T> values) {
  Array array(TensorType{dtypeOf<T>(), std::move(shape)});
  if (array.valid())
    std::copy_n(values.begin(), std::min(values.size(), array.span<T>().size()),
                array.span<T>().begin());
  return array;
}

using ArrayTree = TreeOf<Array>;

} // namespace minigptc

#endif // MINIGPTC_RUNTIME_ARRAY_H
