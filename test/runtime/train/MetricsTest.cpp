#include "runtime/train/Metrics.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

using namespace minigptc::runtime;
using namespace minigptc::test;

TEST_CASE("metrics: rows as documented, 9 digits give every f32 back") {
  StepRecord record{.step = 3,
                    .loss = 1.0 / 3,
                    .gradNorm = 2,
                    .learningRate = 1e-4,
                    .tokens = 4096,
                    .stepSeconds = 0.25,
                    .tokensPerSecond = 4096};
  CHECK(toJsonLine(record) == R"({"step":3,"loss":0.333333333,"grad_norm":2,"lr":0.0001,)"
                              R"("tokens":4096,"step_s":0.25,"tokens_per_s":4096})");
  record.mfu = 0.5;
  record.loss = NAN;
  record.finite = false;
  CHECK(contains(toJsonLine(record), R"("loss":null)"));
  CHECK(contains(toJsonLine(record), R"("mfu":0.5,"skipped":true})"));
  record.emulated = true;
  CHECK(contains(toJsonLine(record), R"("mfu":0.5,"emulated":true,"skipped":true})"));
  CHECK(toJsonLine(EvalRecord{20, "val", 2.5}) == R"({"step":20,"eval":"val","loss":2.5})");

  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, 4);
    if (std::isfinite(value))
      CHECK(std::strtof(formatNumber(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("metrics: after a resume each step is there once") {
  TempFolder folder;
  std::string path = folder.file("m");
  {
    StatusOr<MetricsFile> file = MetricsFile::create(path);
    REQUIRE(file.ok());
    for (int64_t step = 0; step < 5; ++step)
      REQUIRE(file->append(StepRecord{.step = step, .loss = 1}).ok());
    for (int64_t step : {0, 3, 4})
      REQUIRE(file->append(EvalRecord{step, "val", 1}).ok());
  }
  writeText(path, readText(path) + "{\"step\":5,\"lo"); // Killed while writing.
  {
    StatusOr<MetricsFile> file = MetricsFile::resume(path, 3);
    REQUIRE(file.ok());
    CHECK(file->evaluatedAt() == 3);
    REQUIRE(file->append(StepRecord{.step = 3, .loss = 2}).ok());
  }
  std::string text = readText(path), steps;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto row = nlohmann::json::parse(line);
    steps += (row.contains("eval") ? "e" : "") + std::to_string(row["step"].get<int>()) + " ";
  }
  CHECK(steps == "0 1 2 e0 e3 3 ");
}

TEST_CASE(
    "memory: a plan is refused where it surely does not fit, and remarked on if it is tight") {
  constexpr uint64_t gib = uint64_t(1) << 30;
  DeviceMemory plan{.parameters = gib, .gradients = gib, .optimizer = 2 * gib, .activations = gib};
  std::string remark;
  CHECK(checkMemory(plan, 1, {.total = 8 * gib, .available = 5 * gib}, remark).ok());
  CHECK(remark.empty());
  CHECK(checkMemory(plan, 1, {.total = 8 * gib, .available = 3 * gib}, remark).ok());
  CHECK(contains(remark, "needs 5.0 GiB"));
  CHECK(contains(remark, "optimizer 2.0 GiB"));
  CHECK(contains(remark, "3.0 GiB are free now"));
  // A device has no more than is free, and products have their workspace of it already.
  CHECK(checkDeviceMemory(plan, 0, {8 * gib, plan.total()}).ok());
  CHECK(checkDeviceMemory(plan, 8, {8 * gib, plan.total() - 8}).ok());
  Status full = checkDeviceMemory(plan, 0, {8 * gib, plan.total() - 1});
  CHECK(full.code() == StatusCode::resourceExhausted);
  CHECK(full.message().find("of 8.0 GiB there are") != std::string::npos);
  CHECK(full.message().find("parameters ") != std::string::npos);
  Status status = checkMemory(plan, 1, {.total = 4 * gib, .available = 4 * gib}, remark);
  CHECK(status.code() == StatusCode::resourceExhausted);
  CHECK(contains(status.message(), "4.0 GiB are all"));
  CHECK(contains(status.help(), "batch_size"));
}

TEST_CASE("summary: every key of the command line's page") {
  TrainingOptions options;
  options.compile = CompileReport{.kernels = 7};
  options.mesh = {{"data", 1}};
  EntryInfo step{"train_step",
                 {{"state.params.w", {minigptc::f32, {10}}},
                  {"state.optimizer.m.w", {minigptc::f32, {10}}},
                  {"batch.x", {minigptc::i32, {4}}}},
                 {{"state.params.w", {minigptc::f32, {10}}}, {"loss", {minigptc::f32, {}}}},
                 100};
  Summary summary;
  summary.parameters = 10;
  summary.memory = memoryOf(step);
  summary.modelFlopsPerStep = 2e9;
  summary.medianStepSeconds = 0.1;
  summary.gemmPeak = 40e9;
  summary.peak = {
      {"gemm f32[4]", "a.cpp:1", 16}, {"exp f32[2]", "b.cpp:2", 10}, {"exp f32[2]", "b.cpp:2", 10}};
  auto json = nlohmann::json::parse(toJson(summary, options));
  for (const char *key :
       {"parameters", "devices", "mesh", "mode", "target", "final_loss", "steps", "tokens_per_s",
        "compile", "memory_per_device", "model_flops_per_step", "gemm_peak_fraction"})
    CHECK(json.contains(key));
  CHECK(json["gemm_peak_fraction"] == 0.5);
  CHECK(json["compile"]["kernels"] == 7);
  CHECK(json["memory_per_device"] ==
        nlohmann::json::parse(R"({"parameters": 40, "gradients": 40, "optimizer": 40,
                                  "activations": 60, "workspace": 20, "total": 200})"));
  // Equal tensors are one entry, and the sum of their bytes counts.
  CHECK(json["memory_peak"] == nlohmann::json::parse(R"([
      {"tensor": "exp f32[2]", "at": "b.cpp:2", "count": 2, "bytes": 20},
      {"tensor": "gemm f32[4]", "at": "a.cpp:1", "count": 1, "bytes": 16}])"));
  CHECK(json["final_loss"].is_null());
}
