// What explain says of collectives that a program has of its own.
#include "minigptc/trace/ShardMap.h"
#include "minigptc/compiler/Explain.h"
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Program.h"

#include <catch2/catch.hpp>

using namespace minigptc;

TEST_CASE("collectives of a shardMap are there, with their lines, and nothing else is") {
  Mesh mesh{{"data", 4}};
  int line = __LINE__;
  auto step = [&](Tree params, Value x) {
    auto mine = [](Value w, Value a) {
      return pmean(mean(square(matmul(a, w))), "data"); // line + 3
    };
    auto loss = [&](Tree p) {
      return shardMap(mine, mesh, {P(), P("data")}, P())(p["w"], x).leaf();
    };
    auto [value, grads] = valueAndGrad(loss)(params);
    return Tree{{"loss", value}, {"grads", grads}};
  };
  Program program = trace(
      {Entry("train_step", step,
             {{"params", SpecTree{{"w", TensorSpec(f32, {4, 2})}}}, {"x", TensorSpec(f32, {8, 4})}},
             {.mesh = mesh, .inSpecs = {{"x", P("data")}}})});
  Explanation plan = explain(program);
  // The loss and the gradient wait for nothing of each other, and go together.
  REQUIRE(plan.collectives.size() == 1);
  const ExplainedCollective &both = plan.collectives[0];
  CHECK(both.kind == "all_reduce");
  CHECK(both.tensor == "f32[4,2] + 1 more");
  CHECK_THAT(both.why, Catch::Contains("its gradient is the sum of theirs"));
  CHECK_THAT(both.why, Catch::Contains("the program's own psum"));
  CHECK(both.annotation == "shardMap");
  CHECK(both.bytes == 2 * 0.75 * (32 + 4));
  CHECK_THAT(both.at, Catch::VectorContains("test/compiler/explain/ShardMapTest.cpp:" +
                                            std::to_string(line + 3)));
}
