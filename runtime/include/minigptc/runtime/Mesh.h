//===- Mesh.h - devices with named axes, and cut tensors --------*- C++ -*-===//
//
// A mesh numbers devices along named axes; a spec says which axes cut each dimension of a
// tensor, in the manner of `jax.sharding`.
//
//   Mesh mesh{{"data", 4}, {"tensor", 2}};
//   PartitionSpec spec = P("data", None, "tensor");        // trailing dimensions: None
//   ShardSlice part = shardOf({8, 6, 4}, spec, mesh, /*device=*/3);   // start [2,0,2], size
//   [2,6,2]
//
// Devices of a pipeline have an axis `stage`, which cuts no tensor: a tensor may be on some stages
// only, `spec.stages`, and other devices have no part of it.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_MESH_H
#define MINIGPTC_RUNTIME_MESH_H

#include "minigptc/runtime/Status.h"
#include "minigptc/runtime/TensorType.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis &) const = default;
};

/// Axes are major to minor: device d has coordinate (d / sizes of all later axes) mod size.
/// No axes: one device.
class Mesh {
public:
  Mesh() = default;
  Mesh(std::initializer_list<MeshAxis> axes) : axes_(axes) {}
  explicit Mesh(std::vector<MeshAxis> axes) : axes_(std::move(axes)) {}
  /// "data=4,tensor=2". invalidArgument for anything else, a size below 1, a name twice.
  static runtime::StatusOr<Mesh> parse(std::string_view text);

  const std::vector<MeshAxis> &axes() const { return axes_; }
  bool empty() const { return axes_.empty(); }
  int64_t numDevices() const;
  bool has(std::string_view axis) const;
  /// An axis that the mesh does not have has size 1.
  int64_t size(std::string_view axis) const;
  int64_t coordinate(int64_t device, std::string_view axis) const;
  std::string toString() const;
  bool operator==(const Mesh &) const = default;

private:
  std::vector<MeshAxis> axes_;
};

/// Devices first, first + 1, …, of a mesh: those of one process.
struct DeviceRange {
  int64_t first = 0, count = 0;
  static DeviceRange all(const Mesh &mesh) { return {0, mesh.numDevices()}; }
  int64_t end() const { return first + count; }
  bool has(int64_t device) const { return device >= first && device < end(); }
  bool operator==(const DeviceRange &) const = default;
};

/// The axis whose coordinate is the stage of a pipeline on which a device works.
inline constexpr std::string_view kStageAxis = "stage";

/// A dimension that no axis cuts.
struct NoneType {};
inline constexpr NoneType None;

/// The axes of one dimension, major to minor.
struct DimSpec {
  DimSpec() = default;
  DimSpec(NoneType) {}
  DimSpec(const char *axis) : axes{axis} {}
  DimSpec(std::string axis) : axes{std::move(axis)} {}
  DimSpec(std::initializer_list<const char *> axes) : axes(axes.begin(), axes.end()) {}
  std::vector<std::string> axes;
  bool operator==(const DimSpec &) const = default;
};

/// Which axes cut each dimension; dimensions behind the last are whole.
struct PartitionSpec {
  std::vector<DimSpec> dims;
  /// Ascending: those whose devices have the tensor; none: all devices have their part of it.
  std::vector<int64_t> stages = {};

  bool isOn(int64_t device, const Mesh &mesh) const;
  /// Without the whole dimensions at its end: equal for equal cuts of a tensor.
  PartitionSpec trimmed() const;
  /// "P('data', None, ('x', 'y'))", "P() on stage 1".
  std::string toString() const;
  bool operator==(const PartitionSpec &) const = default;
};

template <typename... Dims> PartitionSpec P(Dims &&...dims) {
  return {{DimSpec(std::forward<Dims>(dims))...}};
}

/// A device's part of a tensor. Of n elements cut into k, part i is those from i·⌈n/k⌉ on, at
/// most ⌈n/k⌉; memory has room for ⌈n/k⌉ in every part.
struct ShardSlice {
  std::vector<int64_t> start, size;
};
ShardSlice shardOf(const Shape &shape, const PartitionSpec &spec, const Mesh &mesh, int64_t device);
/// ⌈n/k⌉ per dimension: the shape of every device's memory.
Shape localShape(const Shape &shape, const PartitionSpec &spec, const Mesh &mesh);

} // namespace minigptc

#endif // MINIGPTC_RUNTIME_MESH_H
