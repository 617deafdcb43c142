#include "runtime/train/TrainingSession.h"
#include "runtime/base/Cancellation.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/OutputFolder.h"
#include "runtime/train/WeightFile.h"
#include "test/runtime/train/FakeProgram.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

RunConfig smallConfig() {
  RunConfig config;
  config.model.vocabSize = 12;
  config.model.contextLength = 5;
  config.training.batchSize = 3;
  config.training.maxIters = 20;
  config.training.logInterval = 1;
  config.training.evalInterval = 6;
  config.checkpoint.saveInterval = 4;
  config.eval.iters = 2;
  config.data.dummy = true;
  return config;
}

struct Remarks : TrainingLog {
  std::string text;
  void remark(const std::string &remark) override { text += remark + "\n"; }
};

struct Run {
  RunConfig config = smallConfig();
  TrainingOptions options;
  Remarks log;

  explicit Run(const std::string &out) { options.outDir = out; }
  StatusOr<TrainingResult> operator()() {
    FakeProgram program(config);
    return (*this)(program);
  }
  StatusOr<TrainingResult> operator()(FakeProgram &program) {
    options.log = &log;
    StatusOr<TrainingSession> session = TrainingSession::prepare(config, options);
    if (!session)
      return session.status();
    return session->run(program);
  }
};

/// Losses by step, as text; evaluations by "e" and the step count.
std::map<std::string, std::string> losses(const std::string &out) {
  std::map<std::string, std::string> rows;
  std::istringstream lines(readText(out + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    auto row = nlohmann::json::parse(line);
    std::string key = (row.contains("eval") ? row["eval"].get<std::string>() : "") +
                      std::to_string(row["step"].get<int>());
    CHECK(rows.emplace(key, row["loss"].dump()).second);
  }
  return rows;
}

} // namespace

TEST_CASE("training: files, losses that fall, evaluations where they belong") {
  TempFolder folder;
  Run run(folder.file("a"));
  run.options.saveWeights = folder.file("w");
  run.options.dumpGrads = folder.file("g");
  run.options.configYaml = "name: x\n";
  StatusOr<TrainingResult> result = run();
  REQUIRE(result.ok());
  CHECK(result->steps == 20);
  auto rows = losses(folder.file("a"));
  CHECK(rows.size() == 20 + 2 * 5); // Evaluations at 0, 6, 12, 18, 20.
  CHECK(rows.count("val20"));
  CHECK(std::stod(rows["19"]) < std::stod(rows["0"]));
  CHECK(listCheckpoints(folder.file("a/checkpoints")) == std::vector<int64_t>{4, 8, 12, 16, 20});
  CHECK(readText(folder.file("a/config.yaml")) == "name: x\n");
  auto summary = nlohmann::json::parse(readText(folder.file("a/summary.json")));
  CHECK(summary["steps"] == 20);
  CHECK(summary["final_loss"].dump() == rows["19"]);
  std::vector<WeightInfo> weights = {{"w", {12, 12}, true}};
  CHECK(loadWeights(folder.file("w"), weights).ok());
  CHECK(loadWeights(folder.file("g"), weights).ok());
}

TEST_CASE("training: twice the same bytes; another seed gives others") {
  TempFolder folder;
  REQUIRE(Run(folder.file("a"))().ok());
  REQUIRE(Run(folder.file("b"))().ok());
  Run other(folder.file("c"));
  other.config.training.seed = 43;
  REQUIRE(other().ok());
  std::string data = "/checkpoints/step-20/data-0.bin";
  CHECK(losses(folder.file("a")) == losses(folder.file("b")));
  CHECK(readText(folder.file("a") + data) == readText(folder.file("b") + data));
  CHECK(readText(folder.file("a") + data) != readText(folder.file("c") + data));
}

TEST_CASE("training: each step has the key of its number, also after a resume") {
  TempFolder folder;
  Run run(folder.file("a"));
  run.config.training.maxIters = 5;
  FakeProgram first(run.config), second(run.config);
  REQUIRE(run(first).ok());
  run.options.resume = true;
  run.config.training.maxIters = 8;
  REQUIRE(run(second).ok());
  std::vector<RandomKey> keys = first.keys;
  keys.insert(keys.end(), second.keys.begin(), second.keys.end());
  REQUIRE(keys.size() == 8);
  for (uint64_t step = 0; step < 8; ++step)
    CHECK(keys[step] == foldIn(foldIn(seedKey(42), streamNumber("dropout")), step));
}

TEST_CASE("training: resumed anywhere, it goes on as if it had never stopped") {
  TempFolder folder;
  REQUIRE(Run(folder.file("whole"))().ok());
  auto whole = losses(folder.file("whole"));
  std::string last = "/checkpoints/step-20/data-0.bin";
  for (int64_t stop : {1, 4, 6, 11, 12, 19}) {
    std::string out = folder.file("stop" + std::to_string(stop));
    Run first(out);
    FakeProgram program(first.config);
    // Like a kill: the step never comes back.
    struct Killed {};
    program.beforeStep = [&](int64_t step) {
      if (step == stop)
        throw Killed();
    };
    CHECK_THROWS_AS(first(program), Killed);
    Run second(out);
    second.options.resume = true;
    StatusOr<TrainingResult> result = second();
    REQUIRE(result.ok());
    CHECK(result->steps == 20);
    CHECK(losses(out) == whole);
    CHECK(readText(out + last) == readText(folder.file("whole") + last));
    CHECK(contains(second.log.text, stop < 4 ? "before its first checkpoint" : "resumed after"));
  }
}

TEST_CASE("training: an interrupt ends after the step, with a checkpoint") {
  TempFolder folder;
  Run run(folder.file("a"));
  FakeProgram program(run.config);
  program.beforeStep = [&](int64_t step) {
    if (step == 6)
      std::raise(SIGINT);
  };
  StatusOr<TrainingResult> result = run(program);
  clearCancellation();
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == StatusCode::cancelled);
  CHECK(contains(result.status().message(), "after 7 of 20 steps"));
  CHECK(listCheckpoints(folder.file("a/checkpoints")) == std::vector<int64_t>{4, 7});

  Run second(folder.file("a"));
  second.options.resume = true;
  second.config.name = "config"; // as config files are called
  REQUIRE(second().ok());
  auto ignore = [](const std::string &) {};
  CHECK(loadNewestCheckpoint(folder.file("a/checkpoints"), ignore)->config.name == run.config.name);
  REQUIRE(Run(folder.file("whole"))().ok());
  CHECK(losses(folder.file("a")) == losses(folder.file("whole")));

  Run third(folder.file("a"));
  third.options.resume = true;
  std::string summary = readText(folder.file("a/summary.json"));
  REQUIRE(third().ok());
  CHECK(contains(third.log.text, "nothing to do"));
  CHECK(contains(third.log.text, "give --steps N above 20"));
  CHECK(readText(folder.file("a/summary.json")) == summary);

  Run fewer(folder.file("a"));
  fewer.options.resume = true;
  fewer.config.training.maxIters = 5;
  std::string config = readText(folder.file("a/config.yaml"));
  StatusOr<TrainingResult> refused = fewer();
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.status().message(), "the run has 20 steps, more than the 5"));
  CHECK(contains(refused.status().help(), "give --steps N above 20"));
  CHECK(readText(folder.file("a/config.yaml")) == config);
}

TEST_CASE("training: a damaged checkpoint is skipped on resume") {
  TempFolder folder;
  REQUIRE(Run(folder.file("a"))().ok());
  auto whole = losses(folder.file("a"));
  writeText(folder.file("a/checkpoints/step-20/data-0.bin"), "x");
  Run second(folder.file("a"));
  second.options.resume = true;
  REQUIRE(second().ok());
  CHECK(contains(second.log.text, "skipping the checkpoint"));
  CHECK(contains(second.log.text, "resumed after step 16"));
  CHECK(losses(folder.file("a")) == whole);
  CHECK(loadCheckpoint(folder.file("a/checkpoints/step-20")).ok());
}

TEST_CASE("training: a step that is not finite stops the run and can be replayed") {
  TempFolder folder;
  Run run(folder.file("a"));
  FakeProgram program(run.config);
  program.poisoned = {9};
  StatusOr<TrainingResult> result = run(program);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == StatusCode::nonFinite);
  CHECK(contains(result.status().message(), "the loss of step 9 is not finite"));
  CHECK(contains(result.status().message(), "first in launch exp_0"));
  CHECK(result.status().place() == "model.cpp:7");
  CHECK(listCheckpoints(folder.file("a/checkpoints")).back() == 9);
  CHECK(SafetensorsFile::open(folder.file("a/nonfinite-step-9.safetensors")).ok());
  CHECK(losses(folder.file("a"))["9"] == "null");
}

TEST_CASE("training: skipped steps are counted, also after a resume") {
  TempFolder folder;
  Run run(folder.file("a"));
  run.config.training.onNonfinite = "skip";
  run.config.training.maxIters = 8;
  FakeProgram program(run.config);
  program.poisoned = {2, 5};
  StatusOr<TrainingResult> result = run(program);
  REQUIRE(result.ok());
  CHECK(result->skipped == 2);
  StatusOr<Checkpoint> saved = loadCheckpoint(folder.file("a/checkpoints/step-8"));
  REQUIRE(saved.ok());
  CHECK(saved->skipped == 2);
  CHECK(saved->tensors[1].second.scalar() == 6); // Updates that were made.
}

TEST_CASE("training: parameters from a file are where training starts") {
  TempFolder folder;
  Run first(folder.file("a"));
  first.config.training.maxIters = 3;
  first.options.saveWeights = folder.file("w");
  REQUIRE(first().ok());
  Run second(folder.file("b"));
  second.config.training.maxIters = 0;
  second.options.initFrom = folder.file("w");
  second.options.saveWeights = folder.file("again");
  REQUIRE(second().ok());
  CHECK(readText(folder.file("w")) == readText(folder.file("again")));
}

TEST_CASE("training: what cannot work is refused before anything is touched") {
  TempFolder folder;
  std::filesystem::create_directory(folder.file("full"));
  writeText(folder.file("full/x"), "x");
  auto refused = [&](auto &&change) {
    Run run(folder.file("new"));
    change(run);
    StatusOr<TrainingResult> result = run();
    REQUIRE_FALSE(result.ok());
    CHECK_FALSE(std::filesystem::exists(folder.file("new")));
    return result.status();
  };
  Status full = refused([&](Run &run) { run.options.outDir = folder.file("full"); });
  CHECK(full.code() == StatusCode::invalidArgument);
  CHECK(contains(full.message(), "not empty"));
  {
    StatusOr<OutputFolder> open = OutputFolder::open(folder.file("busy"), /*resume=*/false);
    REQUIRE(open.ok());
    Status busy = refused([&](Run &run) { run.options.outDir = folder.file("busy"); });
    CHECK(contains(busy.message(), "another run"));
    CHECK_FALSE(OutputFolder::open(folder.file("busy"), /*resume=*/true).ok());
  }
  CHECK(OutputFolder::open(folder.file("busy"), /*resume=*/true).ok());
  CHECK(contains(full.help(), "--resume"));
  CHECK(
      contains(refused([&](Run &run) { run.options.outDir = "/proc/x/y"; }).message(), "/proc/x"));
  CHECK(contains(refused([&](Run &run) { run.options.outDir = folder.file("full/x"); }).message(),
                 "is a file"));
  CHECK(contains(refused([&](Run &run) { run.options.resume = true; }).message(), "no run"));
  CHECK(refused([&](Run &run) { run.options.initFrom = folder.file("w"); }).code() ==
        StatusCode::notFound);
  CHECK(contains(refused([&](Run &run) { run.options.initFrom = folder.file("full/x"); }).message(),
                 "not a valid safetensors file"));
  CHECK_FALSE(refused([&](Run &run) { run.options.saveWeights = "/proc/x/w"; }).ok());
  CHECK(contains(refused([&](Run &run) { run.config.data.dummy = false; }).message(), "no data"));
}

TEST_CASE("training: a checkpoint of another model or other settings") {
  TempFolder folder;
  Run first(folder.file("a"));
  first.config.training.maxIters = 4;
  REQUIRE(first().ok());
  Run other(folder.file("a"));
  other.options.resume = true;
  other.config.model.vocabSize = 13;
  StatusOr<TrainingResult> result = other();
  REQUIRE_FALSE(result.ok());
  CHECK(contains(result.status().message(), "'state.params.w' is f32[12,12]"));
  Run seed(folder.file("a"));
  seed.options.resume = true;
  seed.config.training.seed = 1;
  REQUIRE(seed().ok());
  CHECK(contains(seed.log.text, "'training.seed' is not what it was"));
}

TEST_CASE("training: a resumed run computes products as the one before") {
  TempFolder folder;
  Run first(folder.file("a"));
  first.config.training.maxIters = 4;
  FakeProgram program(first.config);
  program.algorithms = {"blas 1 on gpu", {{"4x4x4", "id 1"}}};
  REQUIRE(first(program).ok());
  Run second(folder.file("a"));
  second.options.resume = true;
  FakeProgram again(second.config);
  SECTION("where others are preferred, too") {
    again.algorithms = {"blas 1 on gpu", {{"4x4x4", "id 2"}}};
    REQUIRE(second(again).ok());
    CHECK(again.algorithms.algorithms.at("4x4x4") == "id 1");
    CHECK_FALSE(contains(second.log.text, "matrix products"));
  }
  SECTION("but those that it did not have") {
    again.algorithms = {"blas 1 on gpu", {{"4x4x4", "id 2"}, {"5x5x5", "id 2"}}};
    REQUIRE(second(again).ok());
    CHECK(contains(second.log.text, "1 matrix products are computed by another algorithm"));
  }
  SECTION("by another library, as well as that has it") {
    again.algorithms = {"blas 2 on gpu", {{"4x4x4", "id 2"}}};
    REQUIRE(second(again).ok());
    CHECK(again.algorithms.algorithms.at("4x4x4") == "id 2");
    CHECK(contains(second.log.text, "matrix products were computed by blas 1 on gpu, now by blas 2 "
                                    "on gpu: results may differ in the last bits"));
  }
  SECTION("on a device that has no choice") {
    REQUIRE(second(again).ok());
    CHECK(contains(second.log.text, "computed by blas 1 on gpu, now by another kind of device"));
  }
}

TEST_CASE("training: sequential order wraps with a remark, once") {
  TempFolder folder;
  std::string tokens;
  for (int i = 0; i < 61; ++i) // 12 sequences of 5: 4 steps.
    tokens += {char(i % 12), 0};
  writeText(folder.file("t"), tokens);
  Run run(folder.file("a"));
  run.config.data.dummy = false;
  run.config.data.trainPath = folder.file("t");
  run.config.data.order = "sequential";
  run.config.training.maxIters = 10;
  REQUIRE(run().ok());
  CHECK(contains(run.log.text, "the data ends in step 4, after 12 sequences"));
  CHECK(run.log.text.find("the data ends") == run.log.text.rfind("the data ends"));
}
