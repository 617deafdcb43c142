#include "runtime/train/TrainingProgram.h"

#include "runtime/base/Scalar.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {
namespace {

using Json = nlohmann::ordered_json;

Status wrongMetadata(const std::string &what) {
  return Status(StatusCode::dataLoss, "the program's metadata: " + what)
      .withHelp("only programs that `minigptc compile` made of a model can be trained");
}

StatusOr<WeightInfo> weightFromJson(const Json &json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      !json.contains("shape") || !json["shape"].is_array())
    return wrongMetadata("a parameter without name or shape");
  WeightInfo weight;
  weight.name = json["name"].get<std::string>();
  for (const Json &size : json["shape"]) {
    if (!size.is_number_integer() || size.get<int64_t>() < 0)
      return wrongMetadata("shape of parameter '" + weight.name + "'");
    weight.shape.push_back(size.get<int64_t>());
  }
  if (json.contains("transposed")) {
    if (!json["transposed"].is_boolean())
      return wrongMetadata("layout of parameter '" + weight.name + "'");
    weight.transposed = json["transposed"].get<bool>();
  }
  if (weight.transposed && weight.shape.size() != 2)
    return wrongMetadata("parameter '" + weight.name + "' is transposed, but no matrix");
  return weight;
}

} // namespace

std::string ProgramMetadata::toJson() const {
  Json json;
  json["config"] = Json::parse(config.toJson());
  json["parameters"] = Json::array();
  for (const WeightInfo &weight : parameters)
    json["parameters"].push_back(
        {{"name", weight.name}, {"shape", weight.shape}, {"transposed", weight.transposed}});
  json["streams"] = streams;
  if (modelFlopsPerStep)
    json["model_flops_per_step"] = *modelFlopsPerStep;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

StatusOr<ProgramMetadata> ProgramMetadata::fromJson(const std::string &text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("config") || !json.contains("parameters") ||
      !json["parameters"].is_array())
    return wrongMetadata("no configuration or parameters");
  ProgramMetadata metadata;
  StatusOr<RunConfig> config = RunConfig::fromJson(json["config"].dump());
  if (!config)
    return config.status();
  metadata.config = *std::move(config);
  for (const Json &element : json["parameters"]) {
    StatusOr<WeightInfo> weight = weightFromJson(element);
    if (!weight)
      return weight.status();
    metadata.parameters.push_back(*std::move(weight));
  }
  for (const Json &stream : json.value("streams", Json::array())) {
    if (!stream.is_string())
      return wrongMetadata("'streams' must be names");
    metadata.streams.push_back(stream.get<std::string>());
  }
  if (json.contains("model_flops_per_step") && json["model_flops_per_step"].is_number())
    metadata.modelFlopsPerStep = json["model_flops_per_step"].get<double>();
  return metadata;
}

StatusOr<Array> gathered(const Array &array, const std::string &what, ProcessGroup *processes) {
  if (processes)
    return processes->gather(array);
  MINIGPTC_RETURN_IF_ERROR(array.fetch());
  Array whole = array.whole();
  if (!whole.valid())
    return Status(StatusCode::resourceExhausted, "no memory for " + what);
  return whole;
}

StatusOr<std::vector<double>> scalarsOf(const std::vector<Array> &outputs,
                                        std::initializer_list<int> numbers,
                                        ProcessGroup *processes) {
  std::vector<Array> arrays;
  for (int number : numbers)
    arrays.push_back(outputs[size_t(number)]);
  if (processes) {
    StatusOr<std::vector<Array>> whole = processes->gather(arrays);
    if (!whole)
      return whole.status();
    arrays = std::move(*whole);
  }
  std::vector<double> values;
  for (const Array &array : arrays)
    values.push_back(array.scalar());
  return values;
}

Status roundInputs(const EntryInfo &entry, ArrayMap &values, ProcessGroup *processes) {
  for (const ParameterInfo &input : entry.inputs) {
    auto found = values.find(input.name);
    if (input.type.dtype != DType::bf16 || found == values.end() ||
        found->second.dtype() != DType::f32)
      continue;
    StatusOr<Array> whole = gathered(found->second, "'" + input.name + "'", processes);
    if (!whole)
      return whole.status();
    const Array wide = std::move(*whole);
    Array rounded = Array::uninitialized({DType::bf16, wide.shape()});
    if (!rounded.valid())
      return Status(StatusCode::resourceExhausted, "no memory for '" + input.name + "' as bf16");
    std::ranges::transform(wide.span<float>(), rounded.span<uint16_t>().begin(), floatToBf16);
    found->second = std::move(rounded);
  }
  return {};
}

StatusOr<std::vector<Array>> bindInputs(const EntryInfo &entry, const ArrayMap &values) {
  std::vector<Array> inputs;
  for (const ParameterInfo &input : entry.inputs) {
    auto found = values.find(input.name);
    if (found == values.end())
      return Status(StatusCode::failedPrecondition,
                    "entry '" + entry.name + "' needs an input '" + input.name + "'");
    if (found->second.type() != input.type)
      return Status(StatusCode::failedPrecondition,
                    "input '" + input.name + "' of entry '" + entry.name + "' must be " +
                        input.type.toString() + ", but is " + found->second.type().toString());
    inputs.push_back(found->second);
  }
  return inputs;
}

int indexOf(const std::vector<ParameterInfo> &parameters, std::string_view name) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name)
      return int(i);
  return -1;
}

StatusOr<const EntryInfo *> requireEntry(const TrainingProgram &program, std::string_view name,
                                         const std::string &what) {
  if (const EntryInfo *entry = program.entry(name))
    return entry;
  return Status(StatusCode::failedPrecondition,
                "this program cannot " + what + ": it has no entry '" + std::string(name) + "'");
}

std::pair<int64_t, int64_t> SessionProgram::rowsHere(const ParameterInfo &input) const {
  DeviceRange here = session_.here();
  int64_t begin = input.type.shape.front(), end = 0;
  for (int64_t device = here.first; device < here.end(); ++device) {
    ShardSlice slice = shardOf(input.type.shape, input.spec, session_.mesh(), device);
    begin = std::min(begin, slice.start.front());
    end = std::max(end, slice.start.front() + slice.size.front());
  }
  return {std::min(begin, end), end};
}

int64_t ProgramMetadata::numParameters() const {
  int64_t count = 0;
  for (const WeightInfo &weight : parameters)
    count += TensorType{DType::f32, weight.shape}.numElements();
  return count;
}

} // namespace minigptc::runtime
