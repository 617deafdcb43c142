// Stages of which some have branches or loops that a value of the device decides, on emulated GPUs:
// the first run and those after it, whether or not the others could be recorded.
#include "minigptc/compiler/Compile.h"
#include "minigptc/nn/Layers.h"
#include "minigptc/runtime/Session.h"
#include "minigptc/trace/ControlFlow.h"
#include "minigptc/trace/Pipeline.h"

#include <catch2/catch.hpp>

using namespace minigptc;

namespace {

constexpr int64_t kWidth = 8;
enum class Kind { plain, branch, loop };

struct Layer : nn::Module {
  nn::Linear up{kWidth, kWidth};
  Kind kind_;
  explicit Layer(Kind kind) : kind_(kind) { submodule("up", up); }
  Value forward(Value x) const override {
    if (kind_ == Kind::branch)
      return cond(
          sum(x) > 0.03125, [&](Value a) { return tanh(up(a)); },
          [&](Value a) { return a + up(a); }, x);
    if (kind_ == Kind::loop)
      return tanh(up(
          whileLoop([](Value c) { return sum(abs(c)) < 300; }, [](Value c) { return c * 2; }, x)));
    return tanh(up(x));
  }
  std::string kind() const override { return "layer"; }
};

/// Micro-batches through a stage of each kind; entry `f` sums up what comes out.
Program traced(Kind first, Kind second, int64_t microBatches) {
  Layer a(first), b(second);
  auto f = [&](Tree params, Value batch) {
    auto add = [&](Value sums, Value x) {
      {
        PieceScope piece(0);
        x = a.apply(params["a"], x);
      }
      {
        PieceScope piece(1);
        x = b.apply(params["b"], x);
      }
      return std::pair(sums + sum(x), Tree{});
    };
    return Tree{{"sum", scan(add, zeros({}), batch).carry}};
  };
  Program program =
      trace({Entry("f", f,
                   {{"params", SpecTree{{"a", a.parameterTypes()}, {"b", b.parameterTypes()}}},
                    {"batch", TensorSpec(f32, {microBatches, kWidth, kWidth})}},
                   {.mesh = {{"stage", 2}}})});
  setPipeline(program, {"gpipe"});
  return program;
}

Array numbers(const Shape &shape, int step) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(float((i * step) % 13 - 6) / 16);
  return Array::fromSpan<float>(shape, std::span<const float>(values));
}

/// Sums of some runs, whose branches go other ways.
std::vector<double> run(const Program &program, int64_t microBatches, const std::string &target) {
  runtime::StatusOr<runtime::Session> session =
      runtime::Session::load(compile(program, {.target = target}).artifact, {});
  INFO((session ? "" : session.status().message()));
  REQUIRE(session.ok());
  ArrayTree layer{{"up", {{"weight", numbers({kWidth, kWidth}, 7)}}}};
  std::vector<double> sums;
  for (int step : {5, 7, 5, 11}) {
    auto outputs =
        session->run("f", ArrayTree{{"params", ArrayTree{{"a", layer}, {"b", layer}}},
                                    {"batch", numbers({microBatches, kWidth, kWidth}, step)}});
    INFO((outputs ? "" : outputs.status().message()));
    REQUIRE(outputs.ok());
    sums.push_back((*outputs)["sum"].leaf().scalar());
  }
  return sums;
}

} // namespace

TEST_CASE("stages with branches and loops run again on emulated GPUs, beside others without") {
  for (auto [first, second] : {std::pair(Kind::branch, Kind::plain),
                               {Kind::plain, Kind::branch},
                               {Kind::branch, Kind::branch},
                               {Kind::loop, Kind::plain},
                               {Kind::plain, Kind::plain}})
    for (int64_t microBatches : {1, 4}) {
      INFO(int(first) << ", " << int(second) << ": " << microBatches << " micro-batches");
      Program program = traced(first, second, microBatches);
      std::vector<double> expected = run(program, microBatches, "cpu"),
                          sums = run(program, microBatches, "cuda:test");
      for (size_t i = 0; i < expected.size(); ++i)
        CHECK(sums[i] == Approx(expected[i]).epsilon(1e-4).margin(1e-4));
    }
}
