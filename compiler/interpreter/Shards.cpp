//===- Shards.cpp - tensors of many devices -------------------------------===//
#include "compiler/interpreter/Shards.h"
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Strided.h"
#include "mlir/IR/Diagnostics.h"

#include <cstring>
#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

int64_t interpreter::coordinateOf(int64_t device, ArrayRef<unsigned> axes, dist::MeshAttr mesh) {
  int64_t number = 0;
  for (unsigned axis : axes) {
    int64_t later = 1;
    for (int64_t size : mesh.getSizes().drop_front(axis + 1))
      later *= size;
    int64_t size = mesh.getSizes()[axis];
    number = number * size + device / later % size;
  }
  return number;
}

namespace {
/// Where the elements that a device holds lie in the whole tensor.
struct Box {
  SmallVector<int64_t> start, shape; ///< without what lies beyond the end
  RankedTensorType local;

  Box(int64_t device, const dist::Sharding &sharding, dist::MeshAttr mesh, RankedTensorType type)
      : local(sharding.localType(type, mesh)) {
    for (auto [axes, part, size] :
         llvm::zip_equal(sharding.dims, local.getShape(), type.getShape())) {
      start.push_back(std::min(size, coordinateOf(device, axes, mesh) * part));
      shape.push_back(std::min(part, size - start.back()));
    }
  }

  Placement inWhole(ArrayRef<int64_t> wholeShape) const {
    Placement placement{0, rowMajorStrides(wholeShape)};
    for (auto [first, stride] : llvm::zip_equal(start, placement.strides))
      placement.offset += first * stride;
    return placement;
  }
  Placement inPart() const { return {0, rowMajorStrides(local.getShape())}; }
};
} // namespace

/// NaN, or the largest integer.
static Tensor poison(RankedTensorType type) {
  Tensor tensor(type);
  dispatch(type.getElementType(), [&]<typename T>() {
    for (T &x : mutableElements<T>(tensor))
      if constexpr (isFloat<T>)
        x = narrow<T>(std::numeric_limits<double>::quiet_NaN());
      else
        x = std::numeric_limits<T>::max();
  });
  return tensor;
}

std::vector<Tensor> interpreter::shard(const Tensor &whole, const dist::Sharding &sharding,
                                       dist::MeshAttr mesh) {
  assert(sharding.partial.empty() && "there are many ways to make a tensor a sum");
  std::vector<Tensor> parts;
  for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
    Box box(device, sharding, mesh, whole.getType());
    parts.push_back(poison(box.local));
    copyStrided(box.shape, whole, box.inWhole(whole.getShape()), parts.back(), box.inPart());
  }
  return parts;
}

static InFlightDiagnostic emitDifference(Location loc, int64_t device, const Box &box) {
  InFlightDiagnostic error = emitError(loc) << "device " << device << " holds other elements than "
                                            << "those before it at [";
  llvm::interleaveComma(box.start, error);
  error << "]";
  return error;
}

FailureOr<Tensor> interpreter::unshard(Location loc, ArrayRef<Tensor> parts,
                                       const dist::Sharding &sharding, dist::MeshAttr mesh,
                                       RankedTensorType type) {
  if (!sharding.partial.empty())
    return emitError(loc) << "a tensor that is still to be combined has no elements: "
                          << toString(sharding, mesh);
  Tensor whole(type);
  llvm::DenseMap<int64_t, int64_t> holders; // by the first element's position
  for (auto [device, part] : llvm::enumerate(parts)) {
    Box box(device, sharding, mesh, type);
    if (part.getType() != box.local)
      return emitError(loc) << "device " << device << " holds " << part.getType() << " instead of "
                            << box.local;
    if (llvm::is_contained(box.shape, 0))
      continue;
    Placement place = box.inWhole(type.getShape());
    Tensor before = whole;
    copyStrided(box.shape, part, box.inPart(), whole, place);
    bool held = !holders.try_emplace(place.offset, device).second;
    if (held && std::memcmp(before.data(), whole.data(), whole.getNumBytes()) != 0)
      return emitDifference(loc, device, box);
  }
  return whole;
}

Tensor interpreter::partOf(const Tensor &whole, int64_t dim, int64_t index, int64_t count) {
  SmallVector<int64_t> shape(whole.getShape());
  shape[dim] /= count;
  Tensor part(whole.getType().clone(shape));
  Placement from{0, rowMajorStrides(whole.getShape())};
  from.offset = index * shape[dim] * from.strides[dim];
  copyStrided(shape, whole, from, part, {0, rowMajorStrides(shape)});
  return part;
}

Tensor interpreter::joined(ArrayRef<Tensor> parts, int64_t dim) {
  SmallVector<int64_t> shape(parts[0].getShape());
  shape[dim] *= int64_t(parts.size());
  Tensor whole(parts[0].getType().clone(shape));
  Placement to{0, rowMajorStrides(shape)};
  for (const Tensor &part : parts) {
    copyStrided(part.getShape(), part, {0, rowMajorStrides(part.getShape())}, whole, to);
    to.offset += part.getShape()[dim] * to.strides[dim];
  }
  return whole;
}
