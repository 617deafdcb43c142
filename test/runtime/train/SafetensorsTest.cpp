#include "runtime/train/Safetensors.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <random>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

/// A file of this header and so many zero bytes of data.
std::vector<std::byte> fileOf(const std::string &header, size_t dataBytes) {
  std::string text(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    text[i] = char(header.size() >> 8 * i);
  text += header + std::string(dataBytes, '\0');
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string complaint(const std::string &header, size_t dataBytes) {
  StatusOr<SafetensorsFile> file = SafetensorsFile::parse(fileOf(header, dataBytes), "f");
  REQUIRE_FALSE(file.ok());
  CHECK(file.status().code() == StatusCode::dataLoss);
  return file.status().message();
}

const std::string kGood = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

} // namespace

TEST_CASE("safetensors: every type comes back bit for bit, twice the same bytes") {
  TempFolder folder;
  std::vector<std::pair<std::string, Array>> tensors;
  for (int i = 0; i <= int(DType::u32); ++i) {
    Array array(TensorType{DType(i), {3, 2}});
    for (int64_t byte = 0; byte < array.type().numBytes(); ++byte)
      array.data()[byte] = std::byte(byte * 37 + i);
    tensors.emplace_back("t." + std::to_string(i), array);
  }
  tensors.emplace_back("scalar", Array::scalar<float>(-0.0f));
  tensors.emplace_back("empty", Array(TensorType{DType::f32, {0, 4}}));
  REQUIRE(writeSafetensors(folder.file("a"), tensors, {{"k", "v"}}).ok());
  REQUIRE(writeSafetensors(folder.file("b"), tensors, {{"k", "v"}}).ok());
  CHECK(readText(folder.file("a")) == readText(folder.file("b")));

  StatusOr<SafetensorsFile> file = SafetensorsFile::open(folder.file("a"));
  REQUIRE(file.ok());
  CHECK(file->metadata().at("k") == "v");
  for (const auto &[name, array] : tensors) {
    const StoredTensor *stored = file->find(name);
    REQUIRE(stored);
    StatusOr<Array> loaded = file->load(*stored);
    REQUIRE(loaded.ok());
    CHECK(loaded->type() == array.type());
    CHECK(std::memcmp(loaded->data(), array.data(), size_t(array.type().numBytes())) == 0);
  }
}

TEST_CASE("safetensors: damaged headers are refused with the reason") {
  REQUIRE(SafetensorsFile::parse(fileOf(kGood, 8), "f").ok());
  CHECK(contains(complaint(kGood, 7), "cut short"));
  CHECK(contains(complaint(kGood, 9), "belong to no tensor"));
  CHECK(contains(complaint("{", 8), "not JSON"));
  CHECK(contains(complaint("[]", 0), "not a JSON object"));
  CHECK(contains(complaint(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                           R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                           16),
                 "'a' occurs twice"));
  CHECK(contains(complaint(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                           R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                           12),
                 "overlap"));
  CHECK(contains(complaint(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12),
                 "hole"));
  CHECK(contains(complaint(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", 8),
                 "unknown type 'F33'"));
  CHECK(contains(complaint(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
                 "does not fit"));
  CHECK(contains(complaint(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8),
                 "wrong shape"));
  CHECK(contains(complaint(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8),
                 "lies at bytes"));
  // 2^62 · 4 bytes wraps to 0.
  CHECK(contains(
      complaint(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0),
      "does not fit"));
  CHECK(contains(complaint(R"({"a":{"dtype":"F32","shape":[2]}})", 8), "data_offsets"));
  CHECK(contains(complaint(R"({"__metadata__":{"k":1}})", 0), "not a string"));
}

TEST_CASE("safetensors: a header length beyond the file") {
  std::vector<std::byte> bytes = fileOf(kGood, 8);
  bytes[7] = std::byte(0xff);
  CHECK_FALSE(SafetensorsFile::parse(bytes, "f").ok());
  CHECK_FALSE(SafetensorsFile::parse({}, "f").ok());
  CHECK_FALSE(SafetensorsFile::open("/nonexistent/file").ok());
  CHECK_FALSE(SafetensorsFile::open("/").ok());
}

TEST_CASE("safetensors: a header of very many names is read in linear time") {
  std::string header = "{";
  for (int i = 0; i < 100000; ++i)
    header += "\"t" + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
  header.back() = '}';
  auto begin = std::chrono::steady_clock::now();
  CHECK(SafetensorsFile::parse(fileOf(header, 0), "f").ok());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  // Nested deeper than any stack.
  CHECK(contains(complaint(std::string(1000000, '['), 0), "not JSON"));
  CHECK(contains(
      complaint(R"({"a":{"dtype":"F32","dtype":"F16","shape":[],"data_offsets":[0,4]}})", 4),
      "'dtype' occurs twice"));
}

TEST_CASE("safetensors: random damage never reads outside the file") {
  std::vector<std::byte> good =
      fileOf(R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
             R"("b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},"__metadata__":{"x":"y"}})",
             10);
  std::mt19937 random(7);
  int accepted = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<std::byte> bytes = good;
    for (unsigned i = 0; i <= random() % 4; ++i)
      bytes[random() % bytes.size()] = std::byte(random());
    if (random() % 4 == 0)
      bytes.resize(random() % bytes.size());
    StatusOr<SafetensorsFile> file = SafetensorsFile::parse(bytes, "f");
    if (!file.ok())
      continue;
    ++accepted;
    for (const StoredTensor &tensor : file->tensors())
      (void)file->load(tensor).ok();
  }
  CHECK(accepted > 0); // Damage to the data or to names is no error.
}
