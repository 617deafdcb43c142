#include "runtime/train/WeightFile.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

Array numbered(Shape shape) {
  Array array(TensorType{DType::f32, std::move(shape)});
  float value = 0.1f;
  for (float &x : array.span<float>())
    x = value += 1.3f;
  return array;
}

const std::vector<WeightInfo> kWeights = {
    {"head.weight", {2, 3}, true}, {"norm.weight", {3}, false}, {"kernel", {2, 2}, false}};

} // namespace

TEST_CASE("weights: matrices are [out, in] in the file, values come back bit for bit") {
  TempFolder folder;
  NamedArrays arrays = {{"kernel", numbered({2, 2})},
                        {"norm.weight", numbered({3})},
                        {"head.weight", numbered({2, 3})}};
  REQUIRE(saveWeights(folder.file("w"), kWeights, arrays).ok());

  StatusOr<SafetensorsFile> file = SafetensorsFile::open(folder.file("w"));
  REQUIRE(file.ok());
  REQUIRE(file->find("head.weight")->shape == Shape{3, 2});
  StatusOr<Array> stored = file->load(*file->find("head.weight"));
  // Element [in 1, out 2] of the program is [2, 1] of the file.
  CHECK(stored->span<float>()[2 * 2 + 1] == arrays[2].second.span<float>()[1 * 3 + 2]);
  CHECK(file->find("kernel")->shape == Shape{2, 2});

  StatusOr<NamedArrays> loaded = loadWeights(folder.file("w"), kWeights);
  REQUIRE(loaded.ok());
  REQUIRE(loaded->size() == 3);
  CHECK((*loaded)[0].first == "head.weight");
  CHECK(std::memcmp((*loaded)[0].second.data(), arrays[2].second.data(), 24) == 0);
  CHECK(std::memcmp((*loaded)[1].second.data(), arrays[1].second.data(), 12) == 0);
}

TEST_CASE("weights: of sharded parameters the file is that of whole ones") {
  TempFolder folder;
  NamedArrays arrays = {{"kernel", numbered({2, 2})},
                        {"norm.weight", numbered({3})},
                        {"head.weight", numbered({2, 3})}};
  REQUIRE(saveWeights(folder.file("whole"), kWeights, arrays).ok());
  for (auto &[name, array] : arrays)
    array = Array::shardedFrom(array, Mesh{{"x", 2}}, P("x"));
  REQUIRE(saveWeights(folder.file("sharded"), kWeights, arrays).ok());
  CHECK(readText(folder.file("whole")) == readText(folder.file("sharded")));
}

TEST_CASE("weights: one error lists all that does not fit") {
  TempFolder folder;
  Array bad = numbered({3});
  bad.span<float>()[1] = NAN;
  REQUIRE(writeSafetensors(
              folder.file("w"),
              {{"head.weight", numbered({2, 3})}, {"norm.weight", bad}, {"other", numbered({1})}})
              .ok());
  StatusOr<NamedArrays> loaded = loadWeights(folder.file("w"), kWeights);
  REQUIRE_FALSE(loaded.ok());
  const std::string &message = loaded.status().message();
  CHECK(contains(message, "wrong shape: head.weight is [2, 3], expected [3, 2]"));
  CHECK(contains(loaded.status().help(), "[out, in]"));
  CHECK(contains(message, "not finite: norm.weight at element 1"));
  CHECK(contains(message, "missing: kernel [2, 2]"));
  CHECK(contains(message, "surplus: other [1]"));
}

TEST_CASE("weights: other float types are converted, integers are refused") {
  TempFolder folder;
  std::vector<WeightInfo> weights = {{"a", {2}, false}, {"b", {1}, false}, {"c", {1}, false}};
  Array half(TensorType{DType::bf16, {1}}), small(TensorType{DType::f16, {1}});
  half.span<uint16_t>()[0] = 0xc040;  // -3
  small.span<uint16_t>()[0] = 0x3e00; // 1.5
  const double values[] = {0.1, 2};
  REQUIRE(writeSafetensors(folder.file("w"),
                           {{"a", Array::fromSpan<double>({2}, values)}, {"b", half}, {"c", small}})
              .ok());
  StatusOr<NamedArrays> loaded = loadWeights(folder.file("w"), weights);
  REQUIRE(loaded.ok());
  CHECK((*loaded)[0].second.span<float>()[0] == 0.1f);
  CHECK((*loaded)[1].second.span<float>()[0] == -3);
  CHECK((*loaded)[2].second.span<float>()[0] == 1.5f);

  const int32_t integer[] = {1};
  REQUIRE(writeSafetensors(folder.file("i"), {{"b", Array::fromSpan<int32_t>({1}, integer)}}).ok());
  StatusOr<NamedArrays> refused = loadWeights(folder.file("i"), {weights[1]});
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.status().message(), "wrong type: b is I32"));
}
