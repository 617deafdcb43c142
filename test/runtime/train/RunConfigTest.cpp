#include "runtime/train/TrainingProgram.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>

using namespace minigptc::runtime;
using namespace minigptc::test;

TEST_CASE("config: every key comes back from JSON") {
  RunConfig config;
  config.name = "x";
  // Values that differ from each other and from the defaults.
  int64_t next = 1000;
  visitConfig(config, [&](const char *, const char *key, auto &&field) {
    using Field = std::decay_t<decltype(field)>;
    ++next;
    if constexpr (std::is_same_v<Field, bool>)
      field = !field;
    else if constexpr (std::is_same_v<Field, std::string>)
      field = key;
    else if constexpr (std::is_same_v<Field, std::vector<int64_t>>)
      field = {next, 2};
    else if constexpr (std::is_same_v<Field, std::vector<std::string>>)
      field = {"data", "tensor"};
    else if constexpr (std::is_same_v<Field, std::tuple<double &, double &>>)
      field = std::make_tuple(0.1 + double(next), 0.7);
    else if constexpr (std::is_same_v<Field, double>)
      field = double(next) + 0.1;
    else
      field = next;
  });
  config.training.seed = UINT64_MAX;
  StatusOr<RunConfig> loaded = RunConfig::fromJson(config.toJson());
  REQUIRE(loaded.ok());
  CHECK(loaded->toJson() == config.toJson());
  CHECK(loaded->optimizer.beta1 == config.optimizer.beta1);
  CHECK(loaded->training.seed == UINT64_MAX);

  config.schedule.reset();
  loaded = RunConfig::fromJson(config.toJson());
  REQUIRE(loaded.ok());
  CHECK_FALSE(loaded->schedule.has_value());
}

TEST_CASE("config: stored text that is wrong") {
  auto message = [](const char *json) {
    StatusOr<RunConfig> config = RunConfig::fromJson(json);
    REQUIRE_FALSE(config.ok());
    return config.status().toString();
  };
  CHECK(contains(message("nonsense"), "not a JSON object"));
  CHECK(contains(message(R"({"model": {"d_modle": 3}})"), "did you mean 'model.d_model'?"));
  CHECK(
      contains(message(R"({"model": {"d_model": "big"}})"), "'model.d_model' must be an integer"));
  CHECK(contains(message(R"({"training": {"seed": -1}})"), "training.seed"));
  CHECK(contains(message(R"({"optimizer": {"betas": [1]}})"), "two numbers"));
}

TEST_CASE("metadata: parameters, streams, flops come back") {
  ProgramMetadata metadata;
  metadata.parameters = {{"a.weight", {2, 3}, true}, {"b", {}, false}};
  metadata.streams = {"dropout"};
  metadata.modelFlopsPerStep = 1.5e9;
  StatusOr<ProgramMetadata> loaded = ProgramMetadata::fromJson(metadata.toJson());
  REQUIRE(loaded.ok());
  CHECK(loaded->toJson() == metadata.toJson());
  CHECK(loaded->numParameters() == 7);
  CHECK_FALSE(ProgramMetadata::fromJson("").ok());
  CHECK_FALSE(ProgramMetadata::fromJson(R"({"config": {}, "parameters": [{"name": 3}]})").ok());
}
