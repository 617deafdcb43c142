//===- Mesh.cpp - devices with named axes, and cut tensors ----------------===//
#include "minigptc/runtime/Mesh.h"

#include <algorithm>
#include <charconv>

namespace minigptc {

runtime::StatusOr<Mesh> Mesh::parse(std::string_view text) {
  /// As in the compiler's meshes.
  constexpr int64_t kMaxDevices = int64_t(1) << 20;
  auto fail = [whole = text](const std::string &why) {
    return runtime::Status(runtime::StatusCode::invalidArgument,
                           "mesh '" + std::string(whole) + "': " + why)
        .withHelp("write axes and sizes, as in data=4,tensor=2");
  };
  Mesh mesh;
  int64_t devices = 1;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    size_t equal = part.find('=');
    if (equal == 0 || equal == std::string_view::npos)
      return fail("'" + std::string(part) + "' is not NAME=SIZE");
    std::string name(part.substr(0, equal));
    std::string_view number = part.substr(equal + 1);
    int64_t size = 0;
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
    if (error != std::errc() || end != number.data() + number.size() || size < 1 ||
        size > kMaxDevices || (devices *= size) > kMaxDevices)
      return fail("the size of axis '" + name + "' must be at least 1, and all devices at most " +
                  std::to_string(kMaxDevices));
    if (mesh.has(name))
      return fail("axis '" + name + "' is there twice");
    mesh.axes_.push_back({std::move(name), size});
  }
  return mesh;
}

int64_t Mesh::numDevices() const {
  int64_t count = 1;
  for (const MeshAxis &axis : axes_)
    count *= axis.size;
  return count;
}

bool Mesh::has(std::string_view name) const {
  return std::any_of(axes_.begin(), axes_.end(),
                     [&](const MeshAxis &axis) { return axis.name == name; });
}

int64_t Mesh::size(std::string_view name) const {
  for (const MeshAxis &axis : axes_)
    if (axis.name == name)
      return axis.size;
  return 1;
}

int64_t Mesh::coordinate(int64_t device, std::string_view name) const {
  int64_t later = numDevices();
  for (const MeshAxis &axis : axes_) {
    later /= axis.size;
    if (axis.name == name)
      return device / later % axis.size;
  }
  return 0;
}

std::string Mesh::toString() const {
  std::string text;
  for (const MeshAxis &axis : axes_)
    text += (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

bool PartitionSpec::isOn(int64_t device, const Mesh &mesh) const {
  return stages.empty() ||
         std::ranges::find(stages, mesh.coordinate(device, kStageAxis)) != stages.end();
}

PartitionSpec PartitionSpec::trimmed() const {
  PartitionSpec spec = *this;
  while (!spec.dims.empty() && spec.dims.back().axes.empty())
    spec.dims.pop_back();
  return spec;
}

std::string PartitionSpec::toString() const {
  std::string text = "P(";
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::vector<std::string> &axes = dims[i].axes;
    std::string names;
    for (const std::string &axis : axes)
      names += (names.empty() ? "'" : ", '") + axis + "'";
    text += (i ? ", " : "") + (axes.empty()       ? "None"
                               : axes.size() == 1 ? names
                                                  : "(" + names + ")");
  }
  text += ")";
  for (size_t i = 0; i < stages.size(); ++i)
    text += (i                   ? ", "
             : stages.size() > 1 ? " on stages "
                                 : " on stage ") +
            std::to_string(stages[i]);
  return text;
}

/// The number of parts of a dimension and this device's part.
static std::pair<int64_t, int64_t> partOf(const PartitionSpec &spec, size_t dim, const Mesh &mesh,
                                          int64_t device) {
  int64_t parts = 1, part = 0;
  if (dim < spec.dims.size())
    for (const std::string &axis : spec.dims[dim].axes) {
      parts *= mesh.size(axis);
      part = part * mesh.size(axis) + mesh.coordinate(device, axis);
    }
  return {parts, part};
}

ShardSlice shardOf(const Shape &shape, const PartitionSpec &spec, const Mesh &mesh,
                   int64_t device) {
  ShardSlice slice;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    auto [parts, part] = partOf(spec, dim, mesh, device);
    int64_t block = (shape[dim] + parts - 1) / parts;
    int64_t start = std::min(part * block, shape[dim]);
    slice.start.push_back(start);
    slice.size.push_back(std::min(block, shape[dim] - start));
  }
  return slice;
}

Shape localShape(const Shape &shape, const PartitionSpec &spec, const Mesh &mesh) {
  Shape local = shape;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t parts = partOf(spec, dim, mesh, 0).first;
    local[dim] = (shape[dim] + parts - 1) / parts;
  }
  return local;
}

} // namespace minigptc
