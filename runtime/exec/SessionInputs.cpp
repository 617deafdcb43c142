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

/// The row-major number of the first element of a part for which `wrong` holds, or -1.
template <typename Wrong>
int64_t findInPart(const IndexCheck &part, const Shape &shape, size_t dim, int64_t before,
                   const Wrong &wrong) {
  if (dim == shape.size())
    return wrong(before) ? before : -1;
  for (int64_t i = part.start[dim]; i < part.limit[dim]; i += part.strides[dim])
    if (int64_t found = findInPart(part, shape, dim + 1, before * shape[dim] + i, wrong);
        found >= 0)
      return found;
  return -1;
}

/// The first element that is neither in [0, bound) nor ignored.
template <typename T>
Status checkValues(const EntryInfo &entry, const ParameterInfo &info, const Array &array,
                   const IndexCheck &check) {
  std::span<const T> values = array.span<T>();
  auto wrong = [&](int64_t i) {
    T value = values[size_t(i)];
    return (std::cmp_less(value, 0) || std::cmp_greater_equal(value, check.bound)) &&
           (check.ignored == 0 || !std::cmp_equal(value, check.ignored));
  };
  int64_t found = -1;
  if (!check.start.empty())
    found = findInPart(check, info.type.shape, 0, 0, wrong);
  else
    for (int64_t i = 0; found < 0 && i < int64_t(values.size()); ++i)
      found = wrong(i) ? i : -1;
  if (found < 0)
    return {};
  std::string ignored = check.ignored ? ", and not " + std::to_string(check.ignored) : "";
  return mistake(entry, "input " + quote(info.name) + " holds " +
                            std::to_string(values[size_t(found)]) + " at " +
                            positionOf(found, info.type.shape) + ", which is outside of [0, " +
                            std::to_string(check.bound) + ")" + ignored);
}

Status checkIndices(const EntryInfo &entry, const ParameterInfo &info, const Array &array,
                    const IndexCheck &check) {
  switch (info.type.dtype) {
  case DType::i64: return checkValues<int64_t>(entry, info, array, check);
  case DType::i32: return checkValues<int32_t>(entry, info, array, check);
  case DType::i8: return checkValues<int8_t>(entry, info, array, check);
  case DType::u64: return checkValues<uint64_t>(entry, info, array, check);
  case DType::u32: return checkValues<uint32_t>(entry, info, array, check);
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
    if (info.indexBound <= 0 && info.indexChecks.empty())
      continue;
    if (inputs[i].isHere())
      MINIGPTC_RETURN_IF_ERROR(inputs[i].fetch());
    const Array whole = inputs[i].partsHere(); // Others check theirs.
    if (!whole.valid())
      return Status(StatusCode::resourceExhausted, "not enough memory for " + quote(info.name));
    if (info.indexBound > 0)
      MINIGPTC_RETURN_IF_ERROR(checkIndices(entry, info, whole, {info.indexBound}));
    for (const IndexCheck &check : info.indexChecks)
      MINIGPTC_RETURN_IF_ERROR(checkIndices(entry, info, whole, check));
  }
  return {};
}

} // namespace minigptc::runtime
