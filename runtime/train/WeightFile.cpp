#include "runtime/train/WeightFile.h"

#include "runtime/base/Scalar.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace minigptc::runtime {
namespace {

template <typename Raw, typename Convert>
void convertTo(std::span<const std::byte> bytes, std::span<float> out, Convert &&convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    Raw raw; // The file's data may lie at any address.
    std::memcpy(&raw, bytes.data() + i * sizeof(Raw), sizeof(Raw));
    out[i] = convert(raw);
  }
}

/// The tensor as f32; an invalid Array if it is not a float type or memory is short.
Array loadAsFloat(const SafetensorsFile &file, const StoredTensor &tensor) {
  Array array(TensorType{DType::f32, tensor.shape});
  if (!array.valid())
    return {};
  std::span<float> out = array.span<float>();
  std::span<const std::byte> bytes = file.bytes(tensor);
  if (tensor.dtype == "F32")
    convertTo<float>(bytes, out, [](float x) { return x; });
  else if (tensor.dtype == "F64")
    convertTo<double>(bytes, out, [](double x) { return float(x); });
  else if (tensor.dtype == "BF16")
    convertTo<uint16_t>(bytes, out, bf16ToFloat);
  else if (tensor.dtype == "F16")
    convertTo<uint16_t>(bytes, out, f16ToFloat);
  else
    return {};
  return array;
}

std::string toString(const Shape &shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

Shape fileShape(const WeightInfo &weight) {
  return weight.transposed ? Shape(weight.shape.rbegin(), weight.shape.rend()) : weight.shape;
}

/// What is wrong with a file, collected.
struct Complaints {
  std::vector<std::string> lines;
  bool layoutHelps = false;
  void add(std::string line) { lines.push_back(std::move(line)); }

  Status toStatus(const std::string &path) const {
    std::string message = "the weights in '" + path + "' do not fit this model:";
    constexpr size_t kShown = 60;
    for (size_t i = 0; i < std::min(lines.size(), kShown); ++i)
      message += "\n    " + lines[i];
    if (lines.size() > kShown)
      message += "\n    and " + std::to_string(lines.size() - kShown) + " more";
    Status status(StatusCode::dataLoss, message);
    if (layoutHelps)
      return std::move(status).withHelp("matrices are stored as [out, in]");
    return status;
  }
};

/// One parameter, or a complaint and an invalid array.
Array loadOne(const SafetensorsFile &file, const WeightInfo &weight, Complaints &complaints) {
  const StoredTensor *tensor = file.find(weight.name);
  if (!tensor) {
    complaints.add("missing: " + weight.name + " " + toString(fileShape(weight)));
    return {};
  }
  if (tensor->shape != fileShape(weight)) {
    complaints.add("wrong shape: " + weight.name + " is " + toString(tensor->shape) +
                   ", expected " + toString(fileShape(weight)));
    complaints.layoutHelps |= weight.transposed && tensor->shape == weight.shape;
    return {};
  }
  Array array = loadAsFloat(file, *tensor);
  if (!array.valid()) {
    complaints.add("wrong type: " + weight.name + " is " + tensor->dtype +
                   ", expected F32, F64, BF16 or F16");
    return {};
  }
  std::span<const float> values = std::as_const(array).span<float>();
  auto bad = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  if (bad != values.end()) {
    complaints.add("not finite: " + weight.name + " at element " +
                   std::to_string(bad - values.begin()));
    return {};
  }
  return weight.transposed ? transposed(array) : array;
}

template <typename T> void transposeInto(const Array &from, Array &to) {
  size_t rows = size_t(from.shape()[0]), columns = size_t(from.shape()[1]);
  std::span<const T> source = from.span<T>();
  std::span<T> target = to.span<T>();
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      target[column * rows + row] = source[row * columns + column];
}

} // namespace

NamedArrays parametersOf(const NamedArrays &state) {
  constexpr std::string_view prefix = "state.params.";
  NamedArrays parameters;
  for (const auto &[name, array] : state)
    if (name.starts_with(prefix))
      parameters.emplace_back(name.substr(prefix.size()), array);
  return parameters;
}

Array transposed(const Array &matrix) {
  Array result(TensorType{matrix.dtype(), {matrix.shape()[1], matrix.shape()[0]}});
  if (!result.valid())
    return result;
  switch (sizeOf(matrix.dtype())) {
  case 8: transposeInto<uint64_t>(matrix, result); break;
  case 4: transposeInto<uint32_t>(matrix, result); break;
  case 2: transposeInto<uint16_t>(matrix, result); break;
  default: transposeInto<uint8_t>(matrix, result); break;
  }
  return result;
}

StatusOr<NamedArrays> loadWeights(const std::string &path, const std::vector<WeightInfo> &weights) {
  StatusOr<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.status();
  Complaints complaints;
  NamedArrays arrays;
  std::set<std::string> wanted;
  for (const WeightInfo &weight : weights) {
    wanted.insert(weight.name);
    arrays.emplace_back(weight.name, loadOne(*file, weight, complaints));
  }
  for (const StoredTensor &tensor : file->tensors())
    if (!wanted.count(tensor.name))
      complaints.add("surplus: " + tensor.name + " " + toString(tensor.shape));
  if (!complaints.lines.empty())
    return complaints.toStatus(path);
  return arrays;
}

Status saveWeights(const std::string &path, const std::vector<WeightInfo> &weights,
                   const NamedArrays &arrays, ProcessGroup *processes) {
  NamedArrays stored;
  for (const WeightInfo &weight : weights) {
    auto found = std::find_if(arrays.begin(), arrays.end(),
                              [&](const auto &entry) { return entry.first == weight.name; });
    if (found == arrays.end() || found->second.shape() != weight.shape)
      return Status(StatusCode::internal,
                    "parameter '" + weight.name + "' is not what the program's metadata says");
    StatusOr<Array> whole = gathered(found->second, "'" + weight.name + "'", processes);
    if (!whole)
      return whole.status();
    if (!processes || processes->isFirst())
      stored.emplace_back(weight.name, weight.transposed ? transposed(*whole) : *whole);
  }
  if (processes && !processes->isFirst())
    return Status::success();
  return writeSafetensors(path, stored);
}

} // namespace minigptc::runtime
