// What stages of a pipeline did, of steps whose instructions took what a schedule says.
#include "runtime/train/StageProfile.h"

#include "dialects/dist/Schedules/Simulation.h"
#include "runtime/base/File.h"

#include <catch2/catch.hpp>

#include <deque>
#include <nlohmann/json.hpp>
#include <random>

using namespace minigptc;
using namespace minigptc::runtime;
using Catch::Matchers::Contains;

namespace {

/// What a stage has besides its passes: a wait before each that is late, layers in each, sums
/// behind each backward pass but the last, and an update behind all.
struct Extras {
  int64_t sums = 0, update = 0;
  std::vector<int64_t> layers = {}; ///< how many each piece has
};

/// A step on two devices for each stage, as a profiler sees it. A pass takes its cost in layers
/// that take one unit each, and the rest.
class Recorder {
public:
  ProfiledStep record(const dist::Schedule &schedule, const dist::StageCosts &costs,
                      const Extras &extras) {
    dist::StageCosts whole = costs;
    for (int64_t &cost : whole.backward)
      cost += extras.sums;
    dist::Simulation run = dist::simulate(schedule, whole);
    ProfiledStep step{.startNanoseconds = kStart - 50, .endNanoseconds = 0, .instructions = {}};
    int64_t stages = schedule.pipeline.stages;
    for (int64_t device = 0; device < 2 * stages; ++device) {
      int64_t stage = device / 2, clock = 0;
      const std::vector<dist::TimedTask> &tasks = run.stages[size_t(stage)];
      for (const dist::TimedTask &timed : tasks) {
        int64_t piece = timed.task.chunk * stages + stage;
        if (timed.begin > clock)
          add(step, device, {.kind = "recv", .name = "stage"}, clock, timed.begin);
        clock = timed.begin;
        bool isBackward = timed.task.backward;
        int64_t cost = (isBackward ? costs.backward : costs.forward)[size_t(piece)];
        InstructionInfo layer{.kind = "call", .name = "layer", .isLayer = true};
        for (int64_t i = 0; !extras.layers.empty() && i < extras.layers[size_t(piece)]; ++i)
          add(step, device, layer, clock + i, clock + i + 1);
        add(step, device,
            {.kind = "call",
             .name = "pass",
             .pass = PipelinePass{piece, timed.task.microBatch, isBackward}},
            clock, clock + cost);
        clock += cost;
        if (isBackward && extras.sums > 0) {
          add(step, device, {.kind = "launch", .name = "add"}, clock, clock + extras.sums);
          clock += extras.sums;
        }
      }
      if (extras.update > 0) {
        add(step, device, {.kind = "recv", .name = "norm"}, clock, run.total);
        add(step, device, {.kind = "launch", .name = "update"}, run.total,
            run.total + extras.update);
      }
    }
    step.endNanoseconds = kStart + run.total + extras.update + 50;
    return step;
  }

private:
  static constexpr int64_t kStart = 1000;
  void add(ProfiledStep &step, int64_t device, InstructionInfo what, int64_t start, int64_t end) {
    const InstructionInfo &kept = infos_.emplace_back(std::move(what));
    step.instructions.push_back({&kept, kStart + start, kStart + end, {}, device});
  }
  std::deque<InstructionInfo> infos_;
};

Mesh meshOf(int64_t stages) { return Mesh{{"stage", stages}, {"batch", 2}}; }

dist::StageCosts randomCosts(const dist::Pipeline &pipeline, std::mt19937 &random) {
  dist::StageCosts costs = dist::StageCosts::equal(pipeline, 0, 0);
  for (std::vector<int64_t> *each : {&costs.forward, &costs.backward})
    for (int64_t &cost : *each)
      cost = 10 + int64_t(random() % 90);
  return costs;
}

} // namespace

TEST_CASE("stages: what is measured of a schedule, and predicted from it, is the schedule") {
  std::mt19937 random(3);
  for (dist::ScheduleKind kind :
       {dist::ScheduleKind::gpipe, dist::ScheduleKind::oneForwardOneBackward,
        dist::ScheduleKind::interleaved})
    for (int64_t stages = 1; stages <= 4; ++stages)
      for (int64_t microBatches : {1, 4, 12})
        for (int64_t chunks = 1; chunks <= 2; ++chunks) {
          dist::Pipeline pipeline{microBatches, stages, chunks};
          if (!dist::whyNot(kind, pipeline).empty())
            continue;
          INFO(dist::nameOf(kind) << ", " << microBatches << " micro-batches, " << stages
                                  << " stages, " << chunks << " chunks");
          dist::Schedule schedule = dist::makeSchedule(kind, pipeline);
          dist::StageCosts costs = randomCosts(pipeline, random);
          dist::Simulation run = dist::simulate(schedule, costs);
          Recorder recorder;
          std::vector<ProfiledStep> steps;
          for (int i = 0; i < 3; ++i)
            steps.push_back(recorder.record(schedule, costs, {}));
          Mesh mesh = meshOf(stages);
          std::optional<StageProfile> profile = StageProfile::measure(steps, mesh);
          REQUIRE(profile);
          CHECK(profile->stages == stages);
          CHECK(profile->chunks == chunks);
          CHECK(profile->microBatches == microBatches);
          CHECK(profile->passes == Approx(run.total));
          CHECK(profile->predictedPasses == run.total);
          CHECK(profile->bubble() == Approx(run.bubble()));
          CHECK(profile->predictedBubble() == Approx(run.bubble()));
          REQUIRE(profile->devices.size() == size_t(2 * stages));
          for (int64_t stage = 0; stage < stages; ++stage) {
            StageTimes times = profile->meanOf(stage);
            CHECK(times.idle == Approx(run.idleOf(stage)));
            CHECK(times.forward + times.backward == Approx(run.busyOf(stage)));
            CHECK(times.other == Approx(0).margin(1e-6));
            CHECK(profile->predictedIdle[size_t(stage)] == run.idleOf(stage));
          }
          for (size_t piece = 0; piece < profile->pieces.size(); ++piece) {
            CHECK(profile->pieces[piece].forward == costs.forward[piece]);
            CHECK(profile->pieces[piece].backward == costs.backward[piece]);
          }
          CHECK_FALSE(profile->costs); // There is no layer in a pass.
        }
}

TEST_CASE(
    "stages: sums between passes are other work, and of what a pass costs; the update is not") {
  dist::Schedule schedule = dist::makeSchedule(dist::ScheduleKind::oneForwardOneBackward, {6, 3});
  dist::StageCosts costs{.forward = {30, 20, 40}, .backward = {50, 60, 70}};
  Recorder recorder;
  std::vector<ProfiledStep> steps{
      recorder.record(schedule, costs, {.sums = 5, .update = 1000, .layers = {2, 3, 1}})};
  std::optional<StageProfile> profile = StageProfile::measure(steps, meshOf(3));
  REQUIRE(profile);
  CHECK(profile->step == Approx(profile->passes + 1000 + 100).margin(5));
  for (int64_t stage = 0; stage < 3; ++stage) {
    StageTimes times = profile->meanOf(stage);
    CHECK(times.forward == Approx(6 * costs.forward[size_t(stage)]));
    CHECK(times.backward == Approx(6 * costs.backward[size_t(stage)]));
    CHECK(times.forward + times.backward + times.idle + times.other == Approx(profile->passes));
    CHECK(profile->pieces[size_t(stage)] ==
          PassCost{costs.forward[size_t(stage)], costs.backward[size_t(stage)] + 5});
  }
  CHECK(profile->meanOf(1).other == Approx(6 * 5));
  // Beyond layers of 1: the embedding's 28 and 53, 17 and 62 of three blocks, the head's 39 and 74.
  REQUIRE(profile->costs);
  CHECK(*profile->costs ==
        PipelineCosts{.embedding = {28, 53},
                      .blocks = {{1, 1}, {1, 1}, {6, 21}, {6, 21}, {6, 21}, {1, 1}},
                      .head = {39, 74}});
  CHECK_THAT(profile->report(),
             Contains("passes take") && Contains("bubble:") && Contains("(G-1)/(M+G-1) = 25.0 %"));
}

TEST_CASE("stages: costs go through a file") {
  dist::Schedule schedule = dist::makeSchedule(dist::ScheduleKind::gpipe, {4, 2});
  dist::StageCosts costs{.forward = {30000, 20000}, .backward = {50000, 60000}};
  Recorder recorder;
  std::vector<ProfiledStep> steps{recorder.record(schedule, costs, {.layers = {2, 2}})};
  std::optional<StageProfile> profile = StageProfile::measure(steps, meshOf(2));
  REQUIRE(profile);
  std::string path = "stage_profile_test.json";
  auto write = [&](const std::string &text) { REQUIRE(writeFileAtomically(path, text).ok()); };
  write("{\"pipeline\":" + profile->json() + "}");
  StatusOr<PipelineCosts> read = readPipelineCosts(path);
  REQUIRE(read.ok());
  CHECK(*read == *profile->costs);
  CHECK(read->microseconds() == std::vector<int64_t>{80, 0, 0, 0, 0, 80});
  nlohmann::json json = nlohmann::json::parse(profile->json());
  CHECK(json.at("by_stage").at(1).at("predicted_idle_ns") == profile->predictedIdle[1]);
  CHECK(json.at("by_device").size() == 4);

  auto why = [&](const std::string &text) {
    write(text);
    return readPipelineCosts(path).status().message();
  };
  CHECK_THAT(why("{"), Contains("is no JSON file"));
  CHECK_THAT(why("[]"), Contains("has no measured costs"));
  CHECK_THAT(why(R"({"pipeline":{"stages":2}})"), Contains("has no measured costs"));
  std::string cost = R"({"forward_ns":1,"backward_ns":2})";
  auto whole = [&](const std::string &block) {
    return R"({"pipeline":{"costs":{"embedding":)" + cost + R"(,"blocks":[)" + block +
           R"(],"head":)" + cost + "}}}";
  };
  CHECK(why(whole(cost)) == "");
  for (const char *bad : {"", "1", R"({"forward_ns":1})", R"({"forward_ns":-1,"backward_ns":2})",
                          R"({"forward_ns":1,"backward_ns":18446744073709551615})",
                          R"({"forward_ns":1.5,"backward_ns":2})"})
    CHECK_THAT(why(whole(bad)), Contains("costs that are none"));
  CHECK_FALSE(readPipelineCosts("nowhere/no.json").ok());
}
