#include "runtime/train/StepProfile.h"
#include "runtime/base/TraceFile.h"
#include "test/runtime/support/TestProgram.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

using namespace minigptc;
using namespace minigptc::runtime;
using Json = nlohmann::json;

namespace {

/// The program made by hand; the first line is one of the library, called by the second.
Session openTest(const std::function<void(fb::ArtifactT &)> &change = [](fb::ArtifactT &) {}) {
  test::TestProgram program = test::makeTestProgram();
  change(program.table);
  program.table.locations[0]->file = "compiler/nn/Layers.cpp";
  StatusOr<Session> session = Session::load(program.finish(), {.threads = 2});
  REQUIRE(session.ok());
  return *std::move(session);
}

void runSteps(StepProfile &program, int steps) {
  for (int step = 0; step < steps; ++step) {
    std::vector<Array> inputs;
    for (const ParameterInfo &input : program.entry("step")->inputs)
      std::memset(inputs.emplace_back(Array::uninitialized(input.type)).data(), 0,
                  size_t(input.type.numBytes()));
    REQUIRE(program.run("step", std::move(inputs)).ok());
  }
}

struct Span {
  std::string name;
  double start, end;
};

/// Spans by track. Every event has a name.
std::map<int, std::vector<Span>> spansOf(const Json &trace) {
  std::map<int, std::vector<Span>> tracks;
  for (const Json &event : trace.at("traceEvents")) {
    std::string name = event.at("name");
    CHECK(!name.empty());
    if (event.at("ph") == "X")
      tracks[event.at("tid")].push_back(
          {name, event.at("ts"), double(event.at("ts")) + double(event.at("dur"))});
  }
  return tracks;
}

/// Each span lies within, or after, those before it.
bool nest(const std::vector<Span> &spans) {
  constexpr double rounding = 0.0015; // times have three digits
  std::vector<double> ends;
  for (const Span &span : spans) {
    while (!ends.empty() && span.start >= ends.back() - rounding)
      ends.pop_back();
    if (!ends.empty() && span.end > ends.back() + rounding)
      return false;
    ends.push_back(span.end);
  }
  return true;
}

} // namespace

TEST_CASE("profile: the trace has every instruction of the steps after the first two") {
  Session session = openTest();
  StepProfile program(session, "step");
  runSteps(program, 7);
  REQUIRE(program.steps().size() == StepProfile::kSteps);
  Json trace = Json::parse(program.trace());
  auto tracks = spansOf(trace);
  for (const auto &[track, spans] : tracks)
    CHECK(nest(spans));
  std::map<std::string, int> counts;
  for (const Span &span : tracks[0])
    ++counts[span.name];
  CHECK(counts == std::map<std::string, int>{{"step", 3},
                                             {"scalars rate", 3},
                                             {"pick", 3},
                                             {"add", 9},
                                             {"double", 6},
                                             {"copy 256 bytes", 6},
                                             {"gemm 8x8x8", 3},
                                             {"scale", 3},
                                             {"count", 3}});
}

TEST_CASE("profile: events say what ran, on what, for which line") {
  Session session = openTest();
  StepProfile program(session, "step");
  runSteps(program, 1);
  Json trace = Json::parse(program.trace());
  int seen = 0;
  for (const Json &event : trace.at("traceEvents")) {
    const Json &args = event.at("args");
    if (event.at("tid") != 0 || event.at("ph") != "X" || !args.contains("at"))
      continue;
    ++seen;
    CHECK(std::string(args.at("at")).starts_with("model.cpp:")); // never the library's line
    if (event.at("name") == "gemm 8x8x8") {
      CHECK(args.at("FLOPs") == 2 * 8 * 8 * 8);
      CHECK(args.at("shapes") == "f32[8,8] x f32[8,8] -> f32[8,8]");
      CHECK(args.at("GFLOP/s") > 0);
    }
    if (args.at("lines")[0] == "compiler/nn/Layers.cpp:10")
      CHECK(args.at("lines")[1] == "model.cpp:20");
  }
  CHECK(seen > 0);
}

TEST_CASE("profile: the report sums up to the step") {
  Session session = openTest();
  StepProfile program(session, "step");
  CHECK(program.trace().empty());
  CHECK(program.report().empty());
  runSteps(program, 3);
  std::string report = program.report();
  CHECK(report.starts_with("profile of 1 step: "));
  for (const char *part : {"10 instructions", "the most expensive lines", "model.cpp:20",
                           "gemm f32[8,8] x f32[8,8] -> f32[8,8]", "between instructions"})
    CHECK_THAT(report, Catch::Contains(part));
  CHECK_THAT(report, Catch::Contains("model.cpp:20 (compiler/nn/Layers.cpp:10)"));
}

TEST_CASE("profile: passes of micro-batches are seen as such") {
  Session session = openTest([](fb::ArtifactT &table) {
    table.blocks[1]->passes = {fb::Pass(2, 0, 1, false), fb::Pass(3, 0, 1, true)};
    table.blocks[1]->layers = {2};
  });
  StepProfile program(session, "step");
  runSteps(program, 1);
  Json trace = Json::parse(program.trace());
  std::map<std::string, Json> passes;
  for (const Json &event : trace.at("traceEvents"))
    if (event.value("cat", "") == "forward" || event.value("cat", "") == "backward")
      passes[event.at("name")] = event;
  REQUIRE(passes.size() == 2);
  CHECK(passes.at("F1").at("cat") == "forward");
  CHECK(passes.at("B1").at("args").at("calls") == "double");
  CHECK(passes.at("B1").at("args").at("micro-batch") == 1);
  CHECK(trace.at("pipeline").at("micro_batches") == 2);
  CHECK_THAT(program.report(), Catch::Contains("stages of the pipeline: passes take"));
}

TEST_CASE("profile: names are quoted, whatever they hold") {
  CHECK(jsonQuote("a\"b\\c\n") == R"("a\"b\\c\u000a")");
  CHECK(jsonQuote("\xc3\xa4\xff") == "\"\xc3\xa4?\"");
  TraceFile trace("test");
  trace.add({.track = 3,
             .name = "\"",
             .category = "c",
             .startNanoseconds = 5000,
             .endNanoseconds = 6500,
             .arguments = {{"x", 1.5}, {"list", std::vector<std::string>{"a", "b"}}}});
  Json event = Json::parse(trace.toJson()).at("traceEvents")[1];
  CHECK(event.at("name") == "\"");
  CHECK(event.at("ts") == 0);
  CHECK(event.at("dur") == 1.5);
  CHECK(event.at("args").dump() == R"({"list":["a","b"],"x":1.5})");
}
