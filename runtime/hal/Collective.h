//===- Collective.h - what devices do together ------------------*- C++ -*-===//
//
// A group is a set of devices that differ only in their coordinates along some axes of a
// mesh. Its members are numbered by these, major to minor:
//
//   DeviceGroup rows{{2}, {4}};         // of 8 devices: {0, 2, 4, 6} and {1, 3, 5, 7}
//   rows.rankOf(5) == 2;  rows.memberOf(5, 0) == 1;
//
// In a collective, member r's *part* of an operand is outer x inner blocks of `block`
// elements. A tensor of all n parts is *major*, [outer, n, inner, block], or *minor*,
// [outer, inner, n, block].
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_COLLECTIVE_H
#define MINIGPTC_RUNTIME_HAL_COLLECTIVE_H

#include "minigptc/runtime/TensorType.h"

#include <cstdint>
#include <vector>

namespace minigptc::runtime {

/// Axes as strides of device numbers and sizes, major to minor. No axes: one member.
struct DeviceGroup {
  std::vector<int64_t> strides, sizes;

  int64_t size() const;
  /// A device's number in its group.
  int64_t rankOf(int64_t device) const;
  /// The device of that number in the group of `device`.
  int64_t memberOf(int64_t device, int64_t rank) const;
  bool operator==(const DeviceGroup &) const = default;
};

enum class CollectiveKind : uint8_t { allGather, reduceScatter, allReduce, allToAll, permute };
/// `any` and `all` are for i1.
enum class ReduceKind : uint8_t { sum, max, min, prod, any, all };

struct CollectiveOperand {
  DType dtype = DType::f32;
  int64_t outer = 1, inner = 1, block = 0;
  bool fromMajor = false; ///< allToAll: the input is major, the output minor; else the reverse
  int64_t partElements() const { return outer * inner * block; }
  uint64_t partBytes() const { return uint64_t(partElements() * sizeOf(dtype)); }
  bool operator==(const CollectiveOperand &) const = default;
};

/// | kind | input | output |
/// |---|---|---|
/// | allGather | a part | n parts, major |
/// | reduceScatter | n parts, major | a part: the members' combined |
/// | allReduce | a part | a part: the members' combined |
/// | allToAll | n parts, r for member r | n parts, r from member r |
/// | permute | a part | that of member sources[r], zeros if it is -1 |
struct CollectiveProblem {
  CollectiveKind kind = CollectiveKind::allReduce;
  ReduceKind combine = ReduceKind::sum;
  DeviceGroup group;
  std::vector<CollectiveOperand> operands;
  std::vector<int64_t> sources; ///< permute: one for each member

  uint64_t inputBytes(size_t operand) const;
  uint64_t outputBytes(size_t operand) const;
  /// "all_reduce sum f32[1024] over 4 devices".
  std::string describe() const;
  bool operator==(const CollectiveProblem &) const = default;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_COLLECTIVE_H
