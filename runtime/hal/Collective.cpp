#include "runtime/hal/Collective.h"

namespace minigptc::runtime {

int64_t DeviceGroup::size() const {
  int64_t members = 1;
  for (int64_t size : sizes)
    members *= size;
  return members;
}

int64_t DeviceGroup::rankOf(int64_t device) const {
  int64_t rank = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    rank = rank * sizes[axis] + device / strides[axis] % sizes[axis];
  return rank;
}

int64_t DeviceGroup::memberOf(int64_t device, int64_t rank) const {
  for (size_t axis = sizes.size(); axis-- > 0; rank /= sizes[axis])
    device += (rank % sizes[axis] - device / strides[axis] % sizes[axis]) * strides[axis];
  return device;
}

uint64_t CollectiveProblem::inputBytes(size_t operand) const {
  bool all = kind == CollectiveKind::reduceScatter || kind == CollectiveKind::allToAll;
  return operands[operand].partBytes() * (all ? uint64_t(group.size()) : 1);
}

uint64_t CollectiveProblem::outputBytes(size_t operand) const {
  bool all = kind == CollectiveKind::allGather || kind == CollectiveKind::allToAll;
  return operands[operand].partBytes() * (all ? uint64_t(group.size()) : 1);
}

std::string CollectiveProblem::describe() const {
  static constexpr const char *kinds[] = {"all_gather", "reduce_scatter", "all_reduce",
                                          "all_to_all", "permute"};
  static constexpr const char *combines[] = {" sum", " max", " min", " prod", " any", " all"};
  bool reduces = kind == CollectiveKind::reduceScatter || kind == CollectiveKind::allReduce;
  std::string text = std::string(kinds[size_t(kind)]) + (reduces ? combines[size_t(combine)] : "");
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < operands.size() && i < kShown; ++i)
    text += (i ? ", " : " ") + std::string(nameOf(operands[i].dtype)) + "[" +
            std::to_string(operands[i].partElements()) + "]";
  if (operands.size() > kShown)
    text += " and " + std::to_string(operands.size() - kShown) + " more";
  return text + " over " + std::to_string(group.size()) + " devices";
}

} // namespace minigptc::runtime
