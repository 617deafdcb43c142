#include "runtime/train/CheckpointManifest.h"

#include "runtime/base/Hash.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

namespace minigptc::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::string toHex(uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

std::string print(const Json &json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

/// The hash that vouches for a manifest: of its text without the hash itself.
std::string hashOf(const Json &json) {
  std::string text = print(json);
  return toHex(hash64(std::as_bytes(std::span(text))));
}

std::optional<DType> dtypeNamed(const std::string &name) {
  for (int i = 0; i <= int(DType::u32); ++i)
    if (nameOf(DType(i)) == name)
      return DType(i);
  return std::nullopt;
}

/// Takes values out of JSON; remembers the first thing that is wrong.
class Reader {
public:
  std::string problem;

  void fail(const std::string &what) {
    if (problem.empty())
      problem = what;
  }
  const Json &member(const Json &json, const char *key) {
    static const Json none;
    if (json.is_object() && json.contains(key))
      return json[key];
    fail(std::string("'") + key + "' is missing");
    return none;
  }
  uint64_t natural(const Json &json, const char *key, uint64_t limit = INT64_MAX) {
    const Json &value = member(json, key);
    if (value.is_number_unsigned() && value.get<uint64_t>() <= limit)
      return value.get<uint64_t>();
    fail(std::string("'") + key + "' is not a whole number");
    return 0;
  }
  std::string text(const Json &json, const char *key) {
    const Json &value = member(json, key);
    if (value.is_string())
      return value.get<std::string>();
    fail(std::string("'") + key + "' is not a string");
    return {};
  }
  Shape shape(const Json &json, const char *key) {
    const Json &value = member(json, key);
    Shape sizes;
    if (!value.is_array() || value.size() > 64)
      fail(std::string("'") + key + "' is not a list of sizes");
    else
      for (const Json &size : value) {
        if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX)
          fail(std::string("'") + key + "' is not a list of sizes");
        else
          sizes.push_back(int64_t(size.get<uint64_t>()));
      }
    return sizes;
  }
  TensorSlice slice(const Json &json);
  StoredSlices tensor(const Json &json);
  ProductAlgorithms products(const Json &json);

private:
  void checkSlices(const StoredSlices &tensor);
};

/// Number of elements, or -1 if it does not fit.
int64_t elementsOf(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count))
      return -1;
  return count;
}

TensorSlice Reader::slice(const Json &json) {
  TensorSlice slice;
  slice.start = shape(json, "start");
  slice.shape = shape(json, "shape");
  slice.file = text(json, "file");
  slice.offset = natural(json, "offset");
  slice.bytes = natural(json, "bytes");
  std::string hash = text(json, "hash");
  auto [end, error] = std::from_chars(hash.data(), hash.data() + hash.size(), slice.hash, 16);
  if (hash.size() != 16 || error != std::errc() || end != hash.data() + hash.size())
    fail("a hash is not 16 hexadecimal digits");
  // A name, never a path: a manifest must not reach out of its folder.
  if (slice.file.empty() || slice.file[0] == '.' || slice.file.find('/') != std::string::npos)
    fail("'" + slice.file + "' is not the name of a data file");
  return slice;
}

bool overlap(const TensorSlice &a, const TensorSlice &b) {
  for (size_t i = 0; i < a.start.size(); ++i)
    if (a.start[i] >= b.start[i] + b.shape[i] || b.start[i] >= a.start[i] + a.shape[i])
      return false;
  return true;
}

void Reader::checkSlices(const StoredSlices &tensor) {
  const Shape &global = tensor.type.shape;
  int64_t total = elementsOf(global), covered = 0;
  int64_t ignored;
  if (total < 0 || __builtin_mul_overflow(total, sizeOf(tensor.type.dtype), &ignored))
    return fail("tensor '" + tensor.name + "' is absurdly large");
  for (const TensorSlice &slice : tensor.slices) {
    bool inside = slice.start.size() == global.size() && slice.shape.size() == global.size();
    for (size_t i = 0; inside && i < global.size(); ++i)
      inside = slice.shape[i] <= global[i] && slice.start[i] <= global[i] - slice.shape[i];
    if (!inside)
      return fail("a slice lies outside of tensor '" + tensor.name + "'");
    if (uint64_t(elementsOf(slice.shape) * sizeOf(tensor.type.dtype)) != slice.bytes)
      return fail("a slice of tensor '" + tensor.name + "' has a wrong number of bytes");
    covered += elementsOf(slice.shape);
  }
  for (size_t i = 0; i < tensor.slices.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (overlap(tensor.slices[i], tensor.slices[j]))
        return fail("slices of tensor '" + tensor.name + "' overlap");
  if (covered != total)
    fail("the slices of tensor '" + tensor.name + "' do not cover it");
}

StoredSlices Reader::tensor(const Json &json) {
  StoredSlices tensor;
  tensor.name = text(json, "name");
  std::optional<DType> dtype = dtypeNamed(text(json, "dtype"));
  if (!dtype)
    fail("tensor '" + tensor.name + "' has an unknown type");
  tensor.type = {dtype.value_or(DType::f32), shape(json, "shape")};
  const Json &slices = member(json, "slices");
  if (!slices.is_array() || slices.size() > 4096) {
    fail("'slices' is not a list");
    return tensor;
  }
  for (const Json &element : slices)
    tensor.slices.push_back(slice(element));
  if (problem.empty())
    checkSlices(tensor);
  return tensor;
}

ProductAlgorithms Reader::products(const Json &json) {
  ProductAlgorithms products{text(json, "library")};
  const Json &algorithms = member(json, "algorithms");
  if (!algorithms.is_object())
    fail("'algorithms' is not a table");
  else
    for (const auto &[product, algorithm] : algorithms.items())
      products.algorithms[product] = text(algorithms, product.c_str());
  return products;
}

Json toJson(const TensorSlice &slice) {
  return {{"start", slice.start},   {"shape", slice.shape}, {"file", slice.file},
          {"offset", slice.offset}, {"bytes", slice.bytes}, {"hash", toHex(slice.hash)}};
}

Json toJson(const std::vector<StoredSlices> &tensors) {
  Json json = Json::array();
  for (const StoredSlices &tensor : tensors) {
    Json slices = Json::array();
    for (const TensorSlice &slice : tensor.slices)
      slices.push_back(toJson(slice));
    json.push_back({{"name", tensor.name},
                    {"dtype", nameOf(tensor.type.dtype)},
                    {"shape", tensor.type.shape},
                    {"slices", slices}});
  }
  return json;
}

} // namespace

std::string toText(const std::vector<StoredSlices> &tensors) {
  return toJson(tensors).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status addSlices(std::vector<StoredSlices> &tensors, const std::string &text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  Reader reader;
  if (!json.is_array() || json.size() != tensors.size())
    reader.fail("another number of tensors");
  for (size_t i = 0; reader.problem.empty() && i < tensors.size(); ++i) {
    if (reader.text(json[i], "name") != tensors[i].name)
      reader.fail("other tensors");
    const Json &slices = reader.member(json[i], "slices");
    for (size_t k = 0; slices.is_array() && k < slices.size(); ++k)
      tensors[i].slices.push_back(reader.slice(slices[k]));
  }
  return reader.problem.empty() ? Status() : Status(StatusCode::internal, reader.problem);
}

std::string CheckpointManifest::toJson() const {
  Json json;
  json["format"] = kCheckpointFormat;
  json["step"] = step;
  json["seed"] = seed;
  json["next_sample"] = nextSample;
  json["skipped"] = skipped;
  json["config"] = Json::parse(config.toJson());
  if (!products.library.empty())
    json["products"] = {{"library", products.library}, {"algorithms", products.algorithms}};
  json["tensors"] = runtime::toJson(tensors);
  json["hash"] = hashOf(json);
  return print(json) + "\n";
}

StatusOr<CheckpointManifest> CheckpointManifest::fromJson(const std::string &text) {
  auto damaged = [](const std::string &what) { return Status(StatusCode::dataLoss, what); };
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return damaged("it is not a JSON object");
  Reader reader;
  int64_t format = int64_t(reader.natural(json, "format"));
  if (reader.problem.empty() && format != kCheckpointFormat)
    return damaged("its format is " + std::to_string(format) + ", this program reads " +
                   std::to_string(kCheckpointFormat));
  std::string hash = reader.text(json, "hash");
  Json rest = json;
  rest.erase("hash");
  if (reader.problem.empty() && hashOf(rest) != hash)
    return damaged("its hash does not fit its contents");

  CheckpointManifest manifest;
  manifest.step = int64_t(reader.natural(json, "step"));
  manifest.seed = reader.natural(json, "seed", UINT64_MAX);
  manifest.nextSample = int64_t(reader.natural(json, "next_sample"));
  manifest.skipped = int64_t(reader.natural(json, "skipped"));
  const Json &tensors = reader.member(json, "tensors");
  if (!tensors.is_array())
    reader.fail("'tensors' is not a list");
  std::set<std::string> names;
  for (const Json &element : tensors) {
    manifest.tensors.push_back(reader.tensor(element));
    if (!names.insert(manifest.tensors.back().name).second)
      reader.fail("tensor '" + manifest.tensors.back().name + "' occurs twice");
    if (!reader.problem.empty())
      break;
  }
  if (json.contains("products"))
    manifest.products = reader.products(json["products"]);
  if (!reader.problem.empty())
    return damaged(reader.problem);
  StatusOr<RunConfig> config = RunConfig::fromJson(reader.member(json, "config").dump());
  if (!config)
    return config.status();
  manifest.config = *std::move(config);
  return manifest;
}

} // namespace minigptc::runtime
