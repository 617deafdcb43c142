// Meshes and specs of a traced program: what they come to in the IR, and errors.
#include "minigptc/nn/Layers.h"
#include "minigptc/optim/Optimizer.h"
#include "minigptc/trace/Program.h"
#include "minigptc/trace/Transforms.h"

#include <catch2/catch.hpp>

using namespace minigptc;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

/// The message of the TraceError that `body` throws.
std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const TraceError &error) {
    return error.what();
  }
  return "no error";
}

std::string line(int number) { return "ShardingTest.cpp:" + std::to_string(number); }

struct Mlp : nn::Module {
  nn::Linear up, down;
  Mlp(int64_t d, int64_t ff)
      : up(d, ff, {.bias = true, .spec = P(None, "tensor"), .biasSpec = P("tensor")}),
        down(ff, d, {.spec = P("tensor", None)}) {
    submodule("up", up);
    submodule("down", down);
  }
  Value forward(Value x) const override { return down(relu(up(x))); }
};

const Mesh mesh{{"data", 4}, {"tensor", 2}};
Value twice(Value x) { return x * 2; }

/// The IR of one entry function of one f32[8,6].
std::string traceTwice(const EntryOptions &options) {
  return trace({Entry("f", twice, {{"x", TensorSpec(f32, {8, 6})}}, options)}).print();
}

} // namespace

TEST_CASE("specs of inputs and results") {
  std::string ir = traceTwice(
      {.mesh = mesh, .inSpecs = {{"x", P("data")}}, .outSpecs = {{"result", P(None, "tensor")}}});
  CHECK(contains(ir, "dist.mesh @mesh = <[\"data\"=4, \"tensor\"=2]>"));
  CHECK(
      contains(ir, "dist.sharding = #dist.sharding<@mesh, [{\"data\"}, {}]>, graph.name = \"x\""));
  CHECK(contains(ir, "#dist.sharding<@mesh, [{}, {\"tensor\"}]>, graph.name = \"result\""));
}

TEST_CASE("several axes of one dimension, and axes of size 1") {
  std::string ir = traceTwice({.mesh = mesh, .inSpecs = {{"x", P(DimSpec{"data", "tensor"})}}});
  CHECK(contains(ir, "[{\"data\", \"tensor\"}, {}]"));
  ir = traceTwice({.mesh = {{"data", 4}, {"tensor", 1}}, .inSpecs = {{"x", P("data", "tensor")}}});
  CHECK(contains(ir, "<[\"data\"=4]>"));
  CHECK(contains(ir, "[{\"data\"}, {}]"));
  ir = traceTwice({.mesh = {{"data", 1}}, .inSpecs = {{"x", P("data")}}});
  CHECK(!contains(ir, "dist."));
}

TEST_CASE("a path stands for all below it, the longest decides") {
  SpecTree batch{{"x", TensorSpec(f32, {8, 6})}, {"y", TensorSpec(f32, {8})}};
  auto f = [](Tree batch) { return Tree{{"sum", sum(batch["x"]) + sum(batch["y"])}}; };
  std::string ir =
      trace({Entry(
                "f", f, {{"batch", batch}},
                {.mesh = mesh, .inSpecs = {{"batch.x", P(None, "tensor")}, {"batch", P("data")}}})})
          .print();
  CHECK(contains(ir, "[{}, {\"tensor\"}]>, graph.name = \"batch.x\""));
  CHECK(contains(ir, "[{\"data\"}]>, graph.name = \"batch.y\""));
}

TEST_CASE("parameters' specs hold for state, moments, gradients and first values") {
  Mlp model(8, 16);
  auto optimizer = optim::adamw();
  auto init = [&](Key key) {
    Tree params = model.init(key);
    return Tree{{"params", params}, {"optimizer", optimizer.init(params)}};
  };
  SpecTree state = evalShape(init, {keySpec()});
  auto step = [&](Tree state, Tree batch) {
    auto loss = [&](Tree params) { return mean(square(model.apply(params, batch["x"]))); };
    auto [value, grads] = valueAndGrad(loss)(state["params"]);
    auto [params, moments] = optimizer.update(grads, state["optimizer"], state["params"]);
    return Tree{{"state", {{"params", params}, {"optimizer", moments}}}, {"grads", grads}};
  };
  SpecTree batch{{"x", TensorSpec(f32, {4, 8})}};
  // The batch has no name of its own: it takes that of the spec.
  std::string ir =
      trace({Entry("init", init, {keySpec()}, {.mesh = mesh}),
             Entry("step", step, {state, batch},
                   {.donate = {"state"}, .mesh = mesh, .inSpecs = {{"batch", P("data")}}})})
          .print();
  std::string up = "#dist.sharding<@mesh, [{}, {\"tensor\"}]>, graph.name = \"";
  CHECK(contains(ir, up + "params.up.weight\"")); // init's result
  CHECK(contains(ir, up + "grads.up.weight\""));
  CHECK(contains(ir, up + "state.optimizer.m.up.weight\"")); // a result
  // What is kept between runs says so: down.weight, its m and its v.
  CHECK(count(ir, "#dist.sharding<@mesh, [{\"tensor\"}, {}]>, dist.stored = \"state.") == 3);
  CHECK(!contains(ir, "dist.stored = \"batch"));
  CHECK(contains(ir, "[{\"tensor\"}]>, graph.name = \"grads.up.bias\""));
  CHECK(contains(ir, "[{\"data\"}, {}]>, graph.name = \"batch.x\""));
  CHECK(!contains(traceTwice({}), "dist."));
}

TEST_CASE("a spec of a numbered argument is for that one, not for the first without a name") {
  auto f = [](Value a, Value b, Value c) { return a + b + c; };
  TensorSpec type(f32, {8, 6});
  std::string ir =
      trace({Entry("f", f, {type, type, type},
                   {.mesh = mesh, .inSpecs = {{"arg1", P("tensor")}, {"x", P("data")}}})})
          .print();
  CHECK(contains(ir, "[{\"data\"}, {}]>, graph.name = \"x\""));
  CHECK(contains(ir, "%arg1: tensor<8x6xf32> {dist.sharding = "
                     "#dist.sharding<@mesh, [{\"tensor\"}, {}]>, graph.name = \"arg1\""));
  CHECK(contains(ir, "graph.name = \"arg2\""));
}

TEST_CASE("a constraint is one op, and nothing without a mesh") {
  auto f = [](Value x) { return withShardingConstraint(x + 1, P("data")) * 2; };
  Argument x("x", TensorSpec(f32, {8, 6}));
  std::string ir = trace({Entry("f", f, {x}, {.mesh = mesh})}).print();
  CHECK(contains(ir, "dist.constraint %"));
  CHECK(contains(ir, "<@mesh, [{\"data\"}, {}]> : tensor<8x6xf32>"));
  CHECK(!contains(trace({Entry("f", f, {x})}).print(), "dist."));
  // Gradients pass through it.
  auto loss = [&](Value x) { return sum(f(x)); };
  auto g = [&](Value x) { return grad(loss)(x); };
  CHECK(contains(trace({Entry("g", g, {x}, {.mesh = mesh})}).print(), "graph.vjp"));
}

TEST_CASE("wrong specs and meshes are errors at the user's line") {
  int here = 0;
  auto with = [&](PathSpecs specs) {
    return errorOf([&] { traceTwice({.mesh = mesh, .inSpecs = std::move(specs)}); });
  };
  here = __LINE__ + 1;
  std::string error = with({{"x", P("dta")}});
  CHECK(contains(error, "input 'x': the spec P('dta') names axis 'dta', which the mesh "
                        "data=4,tensor=2 does not have"));
  CHECK(contains(error, "did you mean 'data'?"));
  CHECK(contains(error, line(here)));
  CHECK(contains(with({{"x", P("data", None, "tensor")}}),
                 "the spec P('data', None, 'tensor') has rank 3, the tensor f32[8,6] has rank 2; "
                 "did you mean P('data', 'tensor')?"));
  CHECK(contains(with({{"x", P("data", "data")}}),
                 "uses axis 'data' twice, in dimensions 0 and 1; an axis cuts one dimension"));
  CHECK(contains(with({{"xx", P("data")}}), "function 'f' has no input 'xx', for which there is a "
                                            "spec"));
  CHECK(contains(errorOf([&] { traceTwice({.mesh = {{"a", 2}, {"a", 4}}}); }),
                 "the mesh has axis 'a' twice"));
  CHECK(contains(errorOf([&] { traceTwice({.mesh = {{"a", 0}}}); }),
                 "axis 'a' of the mesh has size 0"));
}

TEST_CASE("a result lies as the donated input whose memory it takes over") {
  int here = 0;
  auto with = [&](PathSpecs in, PathSpecs out) {
    return errorOf([&] {
      Argument x("result", TensorSpec(f32, {8, 6}));
      std::string ir = trace({Entry("f", twice, {x},
                                    {.donate = {"result"},
                                     .mesh = mesh,
                                     .inSpecs = std::move(in),
                                     .outSpecs = std::move(out),
                                     .parameterSpecs = {{"result", {8, 6}, P(None, "tensor")}}})})
                           .print();
      // The input's own spec is the result's, whatever a parameter of the name has.
      CHECK(count(ir, "[{\"data\"}, {}]>") == 2);
    });
  };
  CHECK(with({{"result", P("data")}}, {}) == "no error");
  CHECK(with({{"result", P("data")}}, {{"result", P("data", None)}}) == "no error");
  here = __LINE__ + 1;
  std::string error = with({{"result", P("data")}}, {{"result", P()}});
  CHECK(contains(error, "result 'result' takes over the memory of the input of its name, which is "
                        "donated, but has another spec"));
  CHECK(contains(error, line(here)));
}

TEST_CASE("a parameter's spec that is too long names the parameter") {
  nn::LayerNorm norm(6, 1e-6, P(None, "tensor")); // here
  int here = __LINE__ - 1;
  SpecTree params{{"scale", TensorSpec(f32, {6})}, {"bias", TensorSpec(f32, {6})}};
  auto f = [&](Tree params, Value x) { return norm.apply(params, x); };
  std::string error = errorOf([&] {
    trace({Entry("f", f, {{"params", params}, {"x", TensorSpec(f32, {8, 6})}}, {.mesh = mesh})});
  });
  CHECK(contains(error,
                 "parameter 'scale': the spec P(None, 'tensor') has rank 2, the tensor f32[6] "
                 "has rank 1; did you mean P('tensor')?"));
  CHECK(contains(error, line(here)));
}

TEST_CASE("a constraint's axis that the mesh does not have") {
  int here = 0;
  auto f = [&](Value x) {
    here = __LINE__ + 1;
    return withShardingConstraint(x, P("model"));
  };
  std::string error =
      errorOf([&] { trace({Entry("f", f, {TensorSpec(f32, {8, 6})}, {.mesh = mesh})}); });
  CHECK(contains(error, "withShardingConstraint: the spec P('model') names axis 'model'"));
  CHECK(contains(error, line(here)));
}

TEST_CASE("a program has one mesh") {
  Argument x("x", TensorSpec(f32, {8, 6}));
  std::string error = errorOf([&] {
    trace(
        {Entry("f", twice, {x}, {.mesh = mesh}), Entry("g", twice, {x}, {.mesh = {{"data", 8}}})});
  });
  CHECK(contains(error,
                 "function 'g' is for the mesh data=8, 'f' for data=4,tensor=2; a program has "
                 "one mesh"));
  // One that names none runs on the others'.
  std::string ir = trace({Entry("f", twice, {x}, {.mesh = mesh}), Entry("g", twice, {x})}).print();
  CHECK(count(ir, "dist.mesh") == 1);
}
