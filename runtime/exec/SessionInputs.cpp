#include "runtime/exec/SessionInputs.h"

#include "runtime/base/Log.h"
#include "runtime/base/Scalar.h"

#include <cstring>
#include <map>

namespace minigptc::runtime {
namespace {

Status mistake(const EntryInfo &entry, const std::string &what) {
  return Status(StatusCode::invalidArgument, "entry " + quote(entry.name) + ": " + what);
}

void appendName(std::string &list, const std::string &name) {
  list += (list.empty() ? "" : ", ") + quote(name);
}

/// "[3,17]" of the element with that row-major number.
std::string positionOf(int64_t number, const Shape &shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0; number /= shape[d])
    text = std::to_string(number % shape[d]) + (text.empty() ? "" : ",") + text;
  return "[" + text + "]";
}

/// The first element outside [0, bound), as int64 or, if larger, as its own type.
template <typename T>
Status checkBound(const EntryInfo &entry, const ParameterInfo &info, const Array &array) {
  std::span<const T> values = array.span<T>();
  for (size_t i = 0; i < values.size(); ++i)
    if (std::cmp_less(values[i], 0) || std::cmp_greater_equal(values[i], info.indexBound))
      return mistake(entry, "input " + quote(info.name) + " holds " + std::to_string(values[i]) +
                                " at " + positionOf(int64_t(i), info.type.shape) +
                                ", which is outside of [0, " + std::to_string(info.indexBound) +
                                ")");
  return {};
}

Status checkBounds(const EntryInfo &entry, const ParameterInfo &info, const Array &array) {
  switch (info.type.dtype) {
  case DType::i64: return checkBound<int64_t>(entry, info, array);
  case DType::i32: return checkBound<int32_t>(entry, info, array);
  case DType::i8: return checkBound<int8_t>(entry, info, array);
  case DType::u64: return checkBound<uint64_t>(entry, info, array);
  case DType::u32: return checkBound<uint32_t>(entry, info, array);
  default: return {};
  }
}

} // namespace

StatusOr<std::vector<Array>> orderInputs(const EntryInfo &entry, const ArrayTree &tree) {
  std::map<std::string, Array> given;
  for (auto &[path, array] : tree.flatten())
    given.emplace(path, array);
  std::vector<Array> ordered;
  std::string missing, surplus;
  for (const ParameterInfo &info : entry.inputs) {
    auto found = given.find(info.name);
    if (found == given.end()) {
      appendName(missing, info.name);
      continue;
    }
    ordered.push_back(std::move(found->second));
    given.erase(found);
  }
  for (auto &[path, array] : given)
    appendName(surplus, path);
  if (!missing.empty())
    return mistake(entry,
                   "missing input " + missing + (surplus.empty() ? "" : "; surplus: " + surplus));
  if (!surplus.empty())
    return mistake(entry, "it has no input " + surplus);
  return ordered;
}

Status checkInputs(const EntryInfo &entry, std::span<const Array> inputs) {
  if (inputs.size() != entry.inputs.size())
    return mistake(entry, std::to_string(inputs.size()) + " inputs instead of " +
                              std::to_string(entry.inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ParameterInfo &info = entry.inputs[i];
    if (!inputs[i].valid())
      return mistake(entry, "input " + quote(info.name) + " is empty");
    if (inputs[i].type() != info.type)
      return mistake(entry, "input " + quote(info.name) + " is " + inputs[i].type().toString() +
                                " instead of " + info.type.toString());
    if (info.indexBound > 0)
      MINIGPTC_RETURN_IF_ERROR(checkBounds(entry, info, inputs[i]));
  }
  return {};
}

} // namespace minigptc::runtime
