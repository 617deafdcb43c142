// The frontend's vmap against the function called for each example and stacked: what it goes
// over, loops and branches, keys, collectives over examples, gradients inside and outside, meshes.
#include "minigptc/trace/Vmap.h"
#include "dialects/graph/IR/Graph.h"
#include "minigptc/trace/ControlFlow.h"
#include "minigptc/trace/Jvp.h"
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Program.h"
#include "minigptc/trace/ShardMap.h"
#include "test/support/Compare.h"
#include "test/support/CompiledModule.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>
#include <set>

using namespace minigptc;
using namespace minigptc::test;

namespace {

constexpr int64_t B = 4, D = 3;

using Body = std::function<Tree(Tree)>;

/// What `vmap` stands for: along dimension 0 of every tensor but those that are the same for all.
Tree loopOver(const Body &f, const Tree &all, const std::set<std::string> &same = {}) {
  std::vector<Tree> results;
  auto leaves = all.flatten();
  for (int64_t k = 0; k < B; ++k) {
    size_t next = 0;
    results.push_back(
        f(all.map([&](const Value &x) { return same.count(leaves[next++].first) ? x : x[k]; })));
  }
  size_t next = 0;
  return results[0].map([&](const Value &) {
    std::vector<Operand> parts;
    for (const Tree &result : results)
      parts.push_back(result.flatten()[next].second);
    ++next;
    return stack(parts);
  });
}

BatchAxes axesBut(const std::set<std::string> &same) {
  std::vector<PathAxis> axes{{"", 0}};
  for (const std::string &path : same)
    axes.emplace_back(path, None);
  return axes;
}

Value sumOf(const Tree &tree) {
  Value total = zeros({});
  double weight = 1;
  for (const auto &[path, leaf] : tree.flatten())
    if (leaf.dtype() == f32)
      total += sum(sin(leaf)) * (1.0 / weight++);
  return total;
}

void compare(const Tensors &actual, const Tensors &expected, double relative) {
  REQUIRE(actual.size() == expected.size());
  for (const auto &[name, tensor] : expected) {
    CAPTURE(name);
    REQUIRE(actual.count(name));
    CHECK(gradientDifference(actual.at(name), tensor, 1, relative) == "");
  }
}

/// The results of @all on the emulated GPU.
Tensors runOnGpu(ProgramRunner &runner, const Program &program, const Tensors &inputs) {
  auto module = runner.parse(program.print());
  auto function = module->lookupSymbol<mlir::func::FuncOp>("all");
  auto nameOf = [](mlir::Attribute name) { return mlir::cast<mlir::StringAttr>(name).str(); };
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(inputs.at(nameOf(function.getArgAttr(i, graph::attr::kName))));
  Tensors results;
  for (auto [i, value] :
       llvm::enumerate(CompiledModule(*module, "cuda:test").run("all", arguments)))
    results[nameOf(function.getResultAttr(unsigned(i), graph::attr::kName))] = value;
  return results;
}

/// How a test's function is called.
struct How {
  std::set<std::string> same = {};
  bool differentiable = true, compiles = false;
};

/// Of examples x [B, D], y [B, 2, D], n i32[B], and w [D, D]: values and gradients.
void check(const Body &f, How how = {}) {
  how.same.insert("w");
  auto all = [&](Tree in) { return Tree(vmap(f, {.inAxes = {axesBut(how.same)}})(in)); };
  auto loop = [&](Tree in) { return loopOver(f, in, how.same); };
  auto entry = [&](const Body &run) {
    return [&how, run](Tree in) {
      if (!how.differentiable)
        return run(in);
      auto loss = [&](Tree floats) {
        floats.set("n", in["n"]);
        Tree value = run(floats);
        return Tree{{"value", sumOf(value)}, {"aux", value}};
      };
      Tree floats{{"x", in["x"]}, {"y", in["y"]}, {"w", in["w"]}};
      auto [value, grads] = valueAndGrad(loss, {.hasAux = true})(floats);
      return Tree{{"value", value["aux"]}, {"grads", grads}};
    };
  };
  auto rows = [&](const char *name, Shape shape) {
    if (how.same.count(name))
      shape.erase(shape.begin());
    return TensorSpec(std::string(name) == "n" ? i32 : f32, shape);
  };
  SpecTree spec{{"x", rows("x", {B, D})},
                {"y", rows("y", {B, 2, D})},
                {"n", rows("n", {B})},
                {"w", TensorSpec(f32, {D, D})}};
  Program program =
      trace({{"all", entry(all), {{"in", spec}}}, {"loop", entry(loop), {{"in", spec}}}});
  ProgramRunner runner;
  Tensors inputs;
  uint64_t seed = 1;
  for (const auto &[path, type] : spec.flatten()) {
    std::string text;
    for (int64_t size : type.shape)
      text += std::to_string(size) + "x";
    inputs["in." + path] =
        runner.random(runner.type(text + (type.dtype == i32 ? "i32" : "f32")), seed++);
  }
  Tensor &n = inputs["in.n"];
  for (int64_t i = 0; i < n.getNumElements(); ++i)
    n.setInt(i, i + 1);
  Tensors expected = runner.run(program, "loop", inputs, "graph-autodiff");
  {
    INFO("interpreted");
    compare(runner.run(program, "all", inputs, "graph-autodiff"), expected, 1e-5);
  }
  if (how.compiles) {
    INFO("compiled");
    compare(CompiledModule(program, runner.context()).run("all", inputs), expected, 3e-4);
    INFO("for the emulated GPU");
    compare(runOnGpu(runner, program, inputs), expected, 3e-4);
  }
}

} // namespace

TEST_CASE("ops, and what is the same for all examples") {
  auto f = [](Tree in) {
    Value x = in["x"], w = in["w"];
    return Tree{{"a", matmul(tanh(x), w)}, {"b", softmax(matmul(in["y"], w))}, {"w", w}};
  };
  check(f, {.compiles = true});
  check(f, {.same = {"y"}});
  check(f, {.same = {"x", "n"}});
}

TEST_CASE("functions, checkpoints and gradients of one example") {
  check([](Tree in) {
    Value x = in["x"], w = in["w"];
    auto called = callFunction("f", [&] { return Tree(tanh(matmul(x, w))); });
    Tree kept = checkpoint([&](Value x) { return exp(-square(matmul(x, w))); })(x);
    auto loss = [&](Tree p) { return sum(tanh(matmul(p["x"], p["w"])) * x[0]); };
    Tree grads = grad(loss)(Tree{{"x", x + 1}, {"w", w}});
    return Tree{{"called", called}, {"kept", kept}, {"grads", grads}};
  });
}

TEST_CASE("loops of one example") {
  check(
      [](Tree in) {
        Value w = in["w"], n = in["n"];
        auto [carry, ys] = scan(
            [&](Tree c, Value row) {
              Value h = tanh(matmul(c["h"], w) + row);
              return std::pair(Tree{{"h", h}, {"i", c["i"] + 1}}, Tree{{"h", h}, {"w", w[0]}});
            },
            Tree{{"h", in["x"]}, {"i", zeros({}, i32)}}, in["y"], {.reverse = true});
        // Rows that differ between examples, of what is the same for all, and the other way.
        Value rows = foriLoop(
            0, 2, [&](Value i, Value sum) { return sum + take(w, i + 0) * in["x"]; },
            zerosLike(in["x"].leaf()));
        return Tree{{"h", carry["h"]}, {"ys", ys}, {"rows", rows}};
      },
      {.compiles = true});
}

TEST_CASE("branches and loops that examples take differently") {
  check(
      [](Tree in) {
        Value x = in["x"], w = in["w"], n = in["n"];
        Tree taken = cond(
            sum(x) > 0, [&](Value x) { return Tree{{"a", tanh(x)}, {"b", w[0]}}; },
            [&](Value x) { return Tree{{"a", matmul(x, w)}, {"b", w[1]}}; }, x);
        Tree alike = cond(
            sum(w) > 0, [&](Value x) { return Tree{{"a", x}, {"b", w[0]}}; },
            [&](Value x) { return Tree{{"a", -x}, {"b", w[1]}}; }, x);
        return Tree{{"taken", taken}, {"alike", alike}};
      },
      {.compiles = true});
  check(
      [](Tree in) {
        Tree counted = whileLoop(
            [](Tree c) { return c["i"] < c["n"]; },
            [&](Tree c) { return Tree{{"i", c["i"] + 1}, {"n", c["n"]}, {"p", c["p"] * 2}}; },
            Tree{{"i", zeros({}, i32)}, {"n", in["n"]}, {"p", in["x"]}});
        Value alike = whileLoop([](Value w) { return sum(square(w)) > 1; },
                                [](Value w) { return w / 2; }, in["w"]);
        return Tree{{"counted", counted}, {"alike", alike * in["x"]}};
      },
      {.differentiable = false, .compiles = true});
}

TEST_CASE("rows at places that differ between examples") {
  check(
      [](Tree in) {
        Value x = in["x"], y = in["y"], w = in["w"], n = in["n"];
        return Tree{{"taken", take(w, n - 2)},
                    {"own", take(y, n % 2, 0)},
                    {"block", dynamicSlice(w, {n - 2, 1}, {2, 2})},
                    {"updated", dynamicUpdateSlice(w, reshape(x, {1, D}), {n - 1, 0})},
                    {"padded", pad(x, {1}, {2}, sum(y))}};
      },
      {.compiles = true});
}

TEST_CASE("draws: one key for all, and one for each") {
  check(
      [](Tree in) {
        Key shared(7), own = Key(8).foldIn(in["n"]).stream("dropout");
        Value x = in["x"];
        return Tree{{"shared", dropout(x, shared, 0.5)},
                    {"own", dropout(x, own, 0.5) + uniform(own.foldIn(1), {D})},
                    {"normal", normal(own.foldIn(2), {2, D}) * x},
                    {"part", truncatedNormal(own.part(in["n"] - 1, 4), -2, 2, {2})},
                    {"bits", randomBits(own, {5})}};
      },
      {.compiles = true});
}

TEST_CASE("vmap in vmap") {
  check(
      [](Tree in) {
        Value x = in["x"];
        Value pairs = vmap([](Value a, Value b) { return a * tanh(b); },
                           {.inAxes = {0, None}})(in["y"].leaf(), x);
        Value columns =
            vmap([&](Value column) { return sum(column * x); }, {.inAxes = {1}})(in["w"].leaf());
        Value moved =
            vmap([](Value row) { return row * 2; }, {.inAxes = {-1}, .outAxes = 1})(in["y"].leaf());
        return Tree{{"pairs", pairs}, {"columns", columns}, {"moved", moved}};
      },
      {.compiles = true});
}

TEST_CASE("gradients of each example") {
  check([&](Tree in) {
    auto loss = [](Tree w, Value x) { return sum(tanh(matmul(x, w["w"]))); };
    Tree p{{"w", in["w"]}};
    Value y = in["y"];
    Tree each = vmap(grad(loss), {.inAxes = {None, 0}})(p, y);
    Tree both = vmap(valueAndGrad(loss), {.inAxes = {None, 0}})(p, y);
    return Tree{{"each", each}, {"value", both["value"]}};
  });
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {

/// Of x f32[4, 8] of 0, 1, …: what the function gives.
Tensor runOnRows(const std::function<Tree(Value)> &f, BatchAxes outAxes = 0) {
  auto run = [&](Value x) {
    auto each = [&](Value row) { return f(row); };
    return vmap(each, {.outAxes = outAxes, .axisName = "rows"})(x);
  };
  ProgramRunner runner;
  Tensor x = runner.tensor("4x8xf32", {0});
  for (int64_t i = 0; i < 32; ++i)
    x.setFloat(i, double(i));
  Program program = trace({{"f", run, {{"x", TensorSpec(f32, {4, 8})}}}});
  CHECK(program.print().find("examples") == std::string::npos);
  return runner.run(program, "f", {{"x", x}}, "graph-autodiff").at("result");
}

std::vector<double> floats(const Tensor &t) {
  std::vector<double> all;
  for (int64_t i = 0; i < t.getNumElements(); ++i)
    all.push_back(t.getFloat(i));
  return all;
}
using Doubles = std::vector<double>;

} // namespace

TEST_CASE("collectives over examples") {
  CHECK(floats(runOnRows([](Value x) { return psum(x[0], "rows"); }, None)) == Doubles{48});
  CHECK(floats(runOnRows([](Value x) { return psum(x[0], "rows"); })) == Doubles(4, 48));
  CHECK(floats(runOnRows([](Value x) { return x[0] - pmean(x[0], "rows"); })) ==
        Doubles{-12, -4, 4, 12});
  CHECK(floats(runOnRows([](Value x) { return allGather(x[Slice(0, 1)], "rows"); }, None)) ==
        Doubles{0, 8, 16, 24});
  CHECK(floats(runOnRows([](Value x) { return psumScatter(x, "rows", 0); })) ==
        Doubles{48, 52, 56, 60, 64, 68, 72, 76});
  CHECK(floats(runOnRows([](Value x) { return allToAll(x[Slice(0, 4)], "rows", 0, 0); })) ==
        Doubles{0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27});
  CHECK(floats(runOnRows([](Value x) { return ppermute(x[0], "rows", {{0, 1}, {3, 0}}); })) ==
        Doubles{24, 0, 0, 0});
  CHECK(floats(runOnRows([](Value x) {
          return convert(axisIndex("rows"), f32) * 2 + axisSize("rows");
        })) == Doubles{4, 6, 8, 10});
  // Inside of a function, a loop, a branch, a gradient and another vmap.
  CHECK(floats(runOnRows([](Value x) {
          Value inside = callFunction("g", [&] { return Tree(psum(x[0], "rows")); });
          Value looped =
              foriLoop(0, 2, [&](Value, Value s) { return s + psum(x[1], "rows"); }, zeros({}));
          Value branch = cond(
              x[0] > 8, [&](Value y) { return pmean(y, "rows"); }, [](Value y) { return y; }, x[0]);
          return stack({inside, looped, branch});
        })) == Doubles{48, 104, 0, 48, 104, 8, 48, 104, 12, 48, 104, 12});
  CHECK(floats(runOnRows([](Value x) {
          return grad([](Value x) { return psum(x * x, "rows"); })(x[0]);
        })) == Doubles{0, 16, 32, 48});
  CHECK(floats(runOnRows([](Value x) {
          return vmap([](Value y) { return psum(y, "rows") + psum(y, "columns"); },
                      {.axisName = "columns"})(x[Slice(0, 2)]);
        })) == Doubles{49, 53, 65, 69, 81, 85, 97, 101});
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

TEST_CASE("vmap in programs on a mesh, and in and around shardMap") {
  Mesh mesh{{"data", 2}};
  auto step = [&](bool onMesh) {
    return [&, onMesh](Tree p, Value x) {
      auto loss = [&](Tree p) {
        auto one = [&](Value row) {
          Value h = onMesh ? withShardingConstraint(tanh(matmul(row, p["w"])), P("data"))
                           : tanh(matmul(row, p["w"]));
          return sum(h * h);
        };
        return mean(vmap(one)(x));
      };
      auto parts = [](Value x) { return x - pmean(x, "data"); };
      auto [value, grads] = valueAndGrad(loss)(p);
      Tree result{{"value", value}, {"grads", grads}};
      Value columns = swapAxes(x, 0, 1);
      auto centred = [&](Value column) -> Value {
        if (onMesh)
          return shardMap(parts, mesh, {P("data")}, P("data"))(column);
        Value m = (column[Slice(0, 4)] + column[Slice(4, 8)]) / 2;
        return column - concatenate({m, m});
      };
      result.set("centred", vmap(centred)(columns));
      if (onMesh)
        result.set(
            "inside",
            shardMap(
                [](Value x) { return vmap([](Value row) { return row + psum(row, "data"); })(x); },
                mesh, {P("data")}, P("data"))(x));
      else {
        Value a = x[Slice(0, 4)], b = x[Slice(4, 8)];
        result.set("inside", concatenate({a + (a + b), b + (a + b)}));
      }
      return result;
    };
  };
  SpecTree p{{"w", TensorSpec(f32, {4, 4})}};
  Program one = trace({{"f", step(false), {{"p", p}, {"x", TensorSpec(f32, {8, 4})}}}});
  Program many = trace({{"f",
                         step(true),
                         {{"p", p}, {"x", TensorSpec(f32, {8, 4})}},
                         {.mesh = mesh, .inSpecs = {{"x", P("data")}}}}});
  ProgramRunner runner;
  Tensors inputs{{"p.w", runner.random(runner.type("4x4xf32"), 1)},
                 {"x", runner.random(runner.type("8x4xf32"), 2)}};
  Tensors expected = CompiledModule(one, runner.context()).run("f", inputs);
  compare(CompiledModule(many, runner.context()).run("f", inputs), expected, 1e-5);
}

//===----------------------------------------------------------------------===//
// Derivatives along a direction
//===----------------------------------------------------------------------===//

TEST_CASE("jvp is the slope along a direction") {
  auto f = [](Tree p, Value x) {
    Value h = tanh(matmul(x, p["w"]));
    Tree ys = scan(
                  [&](Value c, Value row) {
                    Value next = layerNorm(c * row, p["w"].leaf()[0], p["w"].leaf()[1]);
                    return std::pair(next, next);
                  },
                  h[0], h)
                  .ys;
    Value q = reshape(h, {1, 4, 1, D});
    return Tree{{"ys", ys},
                {"attention", attention(q, q, q, {.mask = Mask::causal})},
                {"loss", crossEntropy(h, zeros({4}, i32))}};
  };
  auto along = [&](Tree p, Value x, Tree dp, Value dx) {
    auto [value, tangent] = jvp(f, {p, x}, {dp, dx});
    return Tree{{"value", value}, {"tangent", tangent}};
  };
  SpecTree w{{"w", TensorSpec(f64, {D, D})}};
  TensorSpec x(f64, {4, D});
  Program program = trace(
      {{"jvp", along, {{"p", w}, {"x", x}, {"dp", w}, {"dx", x}}}, {"f", f, {{"p", w}, {"x", x}}}});
  ProgramRunner runner;
  auto random = [&](const char *type, uint64_t seed) {
    return runner.random(runner.type(type), seed);
  };
  Tensors at{{"p.w", random("3x3xf64", 1)}, {"x", random("4x3xf64", 2)}};
  Tensors way{{"p.w", random("3x3xf64", 3)}, {"x", random("4x3xf64", 4)}};
  auto moved = [&](double step) {
    Tensors inputs = at;
    for (auto &[name, tensor] : inputs)
      for (int64_t i = 0; i < tensor.getNumElements(); ++i)
        tensor.setFloat(i, tensor.getFloat(i) + step * way.at(name).getFloat(i));
    return runner.run(program, "f", inputs, "graph-autodiff");
  };
  Tensors inputs = at;
  inputs["dp.w"] = way["p.w"], inputs["dx"] = way["x"];
  Tensors result = runner.run(program, "jvp", inputs, "graph-autodiff");
  const double h = 1e-6;
  Tensors more = moved(h), less = moved(-h), here = moved(0);
  REQUIRE(here.size() == 3);
  for (const auto &[name, value] : here) {
    CAPTURE(name);
    CHECK(difference(result.at("value." + name), value, {1e-12, 1e-12}) == "");
    const Tensor &tangent = result.at("tangent." + name);
    for (int64_t i = 0; i < tangent.getNumElements(); ++i)
      CHECK(tangent.getFloat(i) ==
            Approx((more.at(name).getFloat(i) - less.at(name).getFloat(i)) / (2 * h))
                .epsilon(1e-5)
                .margin(1e-6));
  }
}
