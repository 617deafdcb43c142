#include "runtime/train/Safetensors.h"

#include "runtime/base/File.h"
#include "runtime/base/Hash.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace minigptc::runtime {
namespace {

// Sorted, not ordered: a hostile header with many names must not take quadratic time.
using Json = nlohmann::json;

/// The reference implementation's bound.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct ElementName {
  std::string_view name;
  int bits;
  std::optional<DType> dtype; ///< none: known to the format, not to this system
};
constexpr ElementName kElements[] = {
    {"F64", 64, DType::f64},   {"F32", 32, DType::f32},      {"BF16", 16, DType::bf16},
    {"F16", 16, DType::f16},   {"I64", 64, DType::i64},      {"I32", 32, DType::i32},
    {"I8", 8, DType::i8},      {"BOOL", 8, DType::i1},       {"U64", 64, DType::u64},
    {"U32", 32, DType::u32},   {"U8", 8, std::nullopt},      {"I16", 16, std::nullopt},
    {"U16", 16, std::nullopt}, {"F8_E4M3", 8, std::nullopt}, {"F8_E5M2", 8, std::nullopt},
};

const ElementName *findElement(std::string_view name) {
  for (const ElementName &element : kElements)
    if (element.name == name)
      return &element;
  return nullptr;
}

/// Stops at a key that an object has twice; the parser into values would keep the last.
/// (Its callbacks could tell, too, but then its time is quadratic in the number of names.)
class RepeatedKey final : public Json::json_sax_t {
public:
  const std::string &key() const { return key_; }

  bool start_object(size_t) override {
    open_.emplace_back();
    return true;
  }
  bool key(std::string &key) override {
    key_ = key;
    return open_.back().insert(key).second;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string &) override { return true; }
  bool string(std::string &) override { return true; }
  bool binary(Json::binary_t &) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) override {
    return false;
  }

private:
  std::vector<std::set<std::string>> open_; ///< the keys of each object around
  std::string key_;
};

/// Reads the header of one file; every failure names the file.
class HeaderReader {
public:
  HeaderReader(const std::string &path, uint64_t dataBytes) : path_(path), dataBytes_(dataBytes) {}

  Status read(std::string_view text, std::vector<StoredTensor> &tensors,
              std::map<std::string, std::string> &metadata);

private:
  Status damaged(const std::string &what) const {
    return Status(StatusCode::dataLoss, "'" + path_ + "' is not a valid safetensors file: " + what);
  }
  StatusOr<Json> parseJson(std::string_view text) const;
  Status readMetadata(const Json &json, std::map<std::string, std::string> &metadata) const;
  Status readTensor(const Json &json, StoredTensor &tensor) const;
  Status readShape(const Json &json, StoredTensor &tensor) const;
  Status checkLayout(const std::vector<StoredTensor> &tensors) const;

  const std::string &path_;
  uint64_t dataBytes_;
};

StatusOr<Json> HeaderReader::parseJson(std::string_view text) const {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return damaged("its header is not JSON");
  if (!json.is_object())
    return damaged("its header is not a JSON object");
  RepeatedKey repeated;
  if (!Json::sax_parse(text, &repeated))
    return damaged("'" + repeated.key() + "' occurs twice in its header");
  return json;
}

Status HeaderReader::readMetadata(const Json &json,
                                  std::map<std::string, std::string> &metadata) const {
  if (!json.is_object())
    return damaged("__metadata__ is not an object");
  for (const auto &[key, value] : json.items()) {
    if (!value.is_string())
      return damaged("__metadata__ '" + key + "' is not a string");
    metadata[key] = value.get<std::string>();
  }
  return Status::success();
}

Status HeaderReader::readShape(const Json &json, StoredTensor &tensor) const {
  const ElementName *element = findElement(tensor.dtype);
  if (!element)
    return damaged("tensor '" + tensor.name + "' has the unknown type '" + tensor.dtype + "'");
  uint64_t bytes = uint64_t(element->bits) / 8;
  if (json.size() > 64)
    return damaged("tensor '" + tensor.name + "' has " + std::to_string(json.size()) +
                   " dimensions");
  bool overflow = false;
  for (const Json &size : json) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX)
      return damaged("tensor '" + tensor.name + "' has a wrong shape");
    tensor.shape.push_back(int64_t(size.get<uint64_t>()));
    overflow |= __builtin_mul_overflow(bytes, size.get<uint64_t>(), &bytes);
  }
  if (overflow || bytes != tensor.end - tensor.begin)
    return damaged("tensor '" + tensor.name + "' has " + std::to_string(tensor.end - tensor.begin) +
                   " bytes, which does not fit " + tensor.dtype + " and its shape");
  return Status::success();
}

Status HeaderReader::readTensor(const Json &json, StoredTensor &tensor) const {
  const std::string where = "tensor '" + tensor.name + "' ";
  if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string() ||
      !json.contains("shape") || !json["shape"].is_array() || !json.contains("data_offsets"))
    return damaged(where + "has no dtype, shape or data_offsets");
  const Json &offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return damaged(where + "has wrong data_offsets");
  tensor.dtype = json["dtype"].get<std::string>();
  tensor.begin = offsets[0].get<uint64_t>();
  tensor.end = offsets[1].get<uint64_t>();
  if (tensor.begin > tensor.end || tensor.end > dataBytes_)
    return damaged(where + "lies at bytes " + std::to_string(tensor.begin) + " to " +
                   std::to_string(tensor.end) + ", but the file has " + std::to_string(dataBytes_) +
                   " bytes of data (is it cut short?)");
  return readShape(json["shape"], tensor);
}

Status HeaderReader::checkLayout(const std::vector<StoredTensor> &tensors) const {
  uint64_t next = 0;
  const StoredTensor *previous = nullptr;
  for (const StoredTensor &tensor : tensors) {
    if (tensor.begin < next)
      return damaged("tensors '" + previous->name + "' and '" + tensor.name + "' overlap");
    if (tensor.begin > next)
      return damaged("there is a hole before tensor '" + tensor.name + "'");
    next = tensor.end;
    previous = &tensor;
  }
  if (next != dataBytes_)
    return damaged(std::to_string(dataBytes_ - next) + " bytes at its end belong to no tensor");
  return Status::success();
}

Status HeaderReader::read(std::string_view text, std::vector<StoredTensor> &tensors,
                          std::map<std::string, std::string> &metadata) {
  StatusOr<Json> json = parseJson(text);
  if (!json)
    return json.status();
  for (const auto &[name, value] : json->items()) {
    if (name == "__metadata__") {
      MINIGPTC_RETURN_IF_ERROR(readMetadata(value, metadata));
      continue;
    }
    StoredTensor tensor;
    tensor.name = name;
    MINIGPTC_RETURN_IF_ERROR(readTensor(value, tensor));
    tensors.push_back(std::move(tensor));
  }
  // Empty tensors share their offset with the next one.
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  return checkLayout(tensors);
}

} // namespace

std::string_view safetensorsName(DType dtype) {
  for (const ElementName &element : kElements)
    if (element.dtype == dtype)
      return element.name;
  return {};
}

std::optional<DType> dtypeOfSafetensors(std::string_view name) {
  const ElementName *element = findElement(name);
  return element ? element->dtype : std::nullopt;
}

uint64_t SafetensorsFile::contentHash() const {
  return hash64(std::as_bytes(std::span(contents_)));
}

StatusOr<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  StatusOr<std::vector<std::byte>> bytes = readFile(path);
  if (!bytes)
    return bytes.status();
  return parse(*std::move(bytes), path);
}

StatusOr<SafetensorsFile> SafetensorsFile::parse(std::vector<std::byte> bytes,
                                                 const std::string &path) {
  auto damaged = [&](const std::string &what) {
    return Status(StatusCode::dataLoss, "'" + path + "' is not a valid safetensors file: " + what);
  };
  if (bytes.size() < 8)
    return damaged("it has " + std::to_string(bytes.size()) + " bytes");
  uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | uint64_t(bytes[size_t(i)]);
  if (headerBytes > bytes.size() - 8)
    return damaged("its header would have " + std::to_string(headerBytes) +
                   " bytes, the file has " + std::to_string(bytes.size()));
  if (headerBytes > kMaxHeaderBytes)
    return damaged("its header has " + std::to_string(headerBytes) + " bytes, more than the " +
                   std::to_string(kMaxHeaderBytes) + " that the format allows");
  SafetensorsFile file;
  file.path_ = path;
  file.dataStart_ = 8 + headerBytes;
  std::string_view header(reinterpret_cast<const char *>(bytes.data()) + 8, size_t(headerBytes));
  HeaderReader reader(path, bytes.size() - file.dataStart_);
  MINIGPTC_RETURN_IF_ERROR(reader.read(header, file.tensors_, file.metadata_));
  for (size_t i = 0; i < file.tensors_.size(); ++i)
    file.index_[file.tensors_[i].name] = i;
  file.contents_ = std::move(bytes);
  return file;
}

const StoredTensor *SafetensorsFile::find(std::string_view name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

StatusOr<Array> SafetensorsFile::load(const StoredTensor &tensor) const {
  std::optional<DType> dtype = dtypeOfSafetensors(tensor.dtype);
  if (!dtype)
    return Status(StatusCode::dataLoss, "tensor '" + tensor.name + "' of '" + path_ +
                                            "' has the type " + tensor.dtype +
                                            ", which is not supported here");
  Array array(TensorType{*dtype, tensor.shape});
  if (!array.valid())
    return Status(StatusCode::resourceExhausted, "no memory for tensor '" + tensor.name + "'");
  std::span<const std::byte> source = bytes(tensor);
  if (!source.empty())
    std::memcpy(array.data(), source.data(), source.size());
  return array;
}

Status writeSafetensors(const std::string &path,
                        const std::vector<std::pair<std::string, Array>> &tensors,
                        const std::map<std::string, std::string> &metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto &[name, array] : tensors) {
    uint64_t end = offset + uint64_t(array.type().numBytes());
    header[name] = {{"dtype", safetensorsName(array.dtype())},
                    {"shape", array.shape()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    length[i] = char(uint64_t(text.size()) >> 8 * i);

  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  MINIGPTC_RETURN_IF_ERROR(file->write(length + text));
  for (const auto &[name, array] : tensors) {
    MINIGPTC_RETURN_IF_ERROR(array.fetch());
    MINIGPTC_RETURN_IF_ERROR(file->write(std::span(array.data(), size_t(array.type().numBytes()))));
  }
  return file->commit();
}

} // namespace minigptc::runtime
