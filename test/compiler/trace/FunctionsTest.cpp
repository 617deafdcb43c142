// Functions in traced programs: sharing, captures, keys, locations, names.
#include "minigptc/nn/Attention.h"
#include "minigptc/nn/Layers.h"
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Program.h"
#include "minigptc/trace/Transforms.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <regex>

using namespace minigptc;
using namespace minigptc::test;

namespace {
struct Line {
  Value slope, offset;
};
} // namespace

template <> struct minigptc::TreeConversion<Line> {
  static Tree toTree(const Line &line) { return {{"slope", line.slope}, {"offset", line.offset}}; }
};

namespace {

struct Block : nn::Module {
  nn::Linear up, down;
  nn::Dropout drop{0.5};
  explicit Block(int64_t d) : up(d, 2 * d), down(2 * d, d) {
    submodule("up", up);
    submodule("down", down);
    submodule("drop", drop);
  }
  Value forward(Value x) const override { return x + drop(down(gelu(up(x)))); }
};

struct Net : nn::Module {
  nn::Sequential layers;
  explicit Net(int depth) {
    for (int i = 0; i < depth; ++i)
      layers.add<Block>(8);
    submodule("layers", layers);
  }
  Value forward(Value x) const override { return layers(x); }
};

Program traceNet(int depth) {
  Net net(depth);
  auto init = [&](Key key) { return net.init(key); };
  auto step = [&](Tree params, Value x, Key key) {
    auto loss = [&](Tree p) {
      return mean(net.apply(p, x, {.streams = {{"dropout", key}}, .training = true}));
    };
    return grad(loss)(params);
  };
  SpecTree spec = evalShape(init, {{"key", keySpec()}});
  return trace(
      {{"init", init, {{"key", keySpec()}}},
       {"step", step, {{"params", spec}, {"x", TensorSpec(f32, {2, 8})}, {"key", keySpec()}}}});
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

/// The lines of one function.
std::string bodyOf(const std::string &text, const std::string &name) {
  size_t begin = text.find("@" + name + "(");
  return text.substr(begin, text.find("\n  }", begin) - begin);
}

} // namespace

TEST_CASE("equal layers are one function, whatever their number") {
  std::string shallow = traceNet(2).print(), deep = traceNet(6).print();
  CHECK(count(shallow, "func.func") == count(deep, "func.func"));
  CHECK(count(deep, "func.func private @Block(") == 1);
  CHECK(count(deep, "func.func private @Block_1") == 0);
  CHECK(count(deep, "call @Block(") == 6);
}

TEST_CASE("repeated layers are traced once and compute what single ones do") {
  static int traced;
  struct Counted : Block {
    Counted() : Block(8) {}
    Value forward(Value x) const override {
      ++traced;
      return Block::forward(x);
    }
    std::string kind() const override { return "block"; }
  };
  nn::Sequential single, repeated;
  for (int i = 0; i < 5; ++i)
    single.add<Counted>();
  repeated.repeat<Counted>(5);
  auto programOf = [](const nn::Module &net) {
    auto init = [&](Key key) { return net.init(key); };
    auto step = [&](Tree params, Value x, Key key) {
      auto loss = [&](Tree p) {
        return mean(net.apply(p, x, {.streams = {{"dropout", key}}, .training = true}));
      };
      return grad(loss)(params);
    };
    CHECK(evalShape(init, {{"key", keySpec()}}).flatten() == net.parameterTypes().flatten());
    return trace(
        {{"init", init, {{"key", keySpec()}}},
         {"step",
          step,
          {{"params", net.parameterTypes()}, {"x", TensorSpec(f32, {2, 8})}, {"key", keySpec()}}}});
  };
  traced = 0;
  Program expected = programOf(single);
  CHECK(traced == 5);
  traced = 0;
  Program given = programOf(repeated);
  CHECK(traced == 1);
  CHECK(count(given.print(), "call @block(") == 5);
  ProgramRunner runner;
  Tensors inputs{{"key", runner.tensor("2xui32", {1, 2})},
                 {"x", runner.random(runner.type("2x8xf32"), 1)}};
  for (const auto &[name, value] : runner.run(given, "init", {{"key", inputs.at("key")}}))
    inputs["params." + name] = value;
  Tensors gradients = runner.run(expected, "step", inputs, "graph-autodiff");
  CHECK(gradients.size() == 10);
  for (const auto &[name, value] : runner.run(given, "step", inputs, "graph-autodiff"))
    for (int64_t i = 0; i < value.getNumElements(); ++i)
      CHECK(value.getFloat(i) == gradients.at(name).getFloat(i));
}

TEST_CASE("a shared function is traced once for each variant and type") {
  int traced = 0;
  auto f = [&](Value a, Value b, Value c, Value scale) {
    auto times = [&](const char *variant, const Value &x) {
      return callShared(
          "times", variant, {x},
          [&](std::span<const Value> inputs) -> Tree {
            ++traced;
            return *variant == '-' ? -inputs[0] * scale : inputs[0] * scale;
          },
          std::source_location::current());
    };
    return Tree{
        {"a", times("+", a)}, {"b", times("+", b)}, {"c", times("+", c)}, {"d", times("-", a)}};
  };
  TensorSpec two(f32, {2}), three(f32, {3});
  Program program = trace({{"f", f, {two, two, three, TensorSpec(f32, {})}}});
  CHECK(traced == 3);
  ProgramRunner runner;
  auto results = runner.run(program, "f",
                            {{"arg0", runner.tensor("2xf32", {1, 2})},
                             {"arg1", runner.tensor("2xf32", {3, 4})},
                             {"arg2", runner.tensor("3xf32", {5, 6, 7})},
                             {"arg3", runner.tensor("f32", {10})}});
  CHECK(results.at("a").getFloat(1) == 20);
  CHECK(results.at("b").getFloat(1) == 40);
  CHECK(results.at("c").getFloat(2) == 70);
  CHECK(results.at("d").getFloat(0) == -10);
}

TEST_CASE("tracing is deterministic") { CHECK(traceNet(3).print() == traceNet(3).print()); }

TEST_CASE("what a function uses from outside becomes its argument") {
  auto f = [](Value x, Value y) {
    return callFunction("inner", [&]() -> Tree {
      return callFunction("innermost", [&]() -> Tree { return x * y; });
    });
  };
  Program program = trace({{"f", f, {TensorSpec(f32, {2}), TensorSpec(f32, {2})}}});
  std::string text = program.print();
  CHECK(count(bodyOf(text, "inner"), "%arg1: tensor<2xf32>") == 1);
  ProgramRunner runner;
  auto results = runner.run(
      program, "f",
      {{"arg0", runner.tensor("2xf32", {2, 3})}, {"arg1", runner.tensor("2xf32", {5, 7})}});
  CHECK(results.at("result").getFloat(1) == 21);
}

TEST_CASE("dropout differs by layer and by step, and is off outside of training") {
  struct Drops : nn::Module {
    nn::Sequential layers;
    Drops() {
      layers.add<nn::Dropout>(0.5);
      layers.add<nn::Dropout>(0.5);
      submodule("layers", layers);
    }
    Value forward(Value x) const override { return layers(x); }
  } drops;
  struct One : nn::Module {
    nn::Dropout a{0.5}, b{0.5};
    bool second;
    explicit One(bool second) : second(second) {
      submodule("a", a);
      submodule("b", b);
    }
    Value forward(Value x) const override {
      Value first = a(x);
      return second ? b(x) : first;
    }
  } first(false), second(true);
  auto f = [&](Value x, Key key) {
    nn::ApplyOptions options{.streams = {{"dropout", key}}, .training = true};
    return Tree{{"first", first.apply(Tree(), x, options)},
                {"second", second.apply(Tree(), x, options)},
                {"both", drops.apply(Tree(), x, options)},
                {"off", drops.apply(Tree(), x)}};
  };
  Program program = trace({{"f", f, {{"x", TensorSpec(f32, {256})}, {"key", keySpec()}}}});
  ProgramRunner runner;
  auto run = [&](double seed) {
    return runner.run(
        program, "f",
        {{"x", runner.tensor("256xf32", {1})}, {"key", runner.tensor("2xui32", {seed, 0})}});
  };
  auto differ = [](const Tensor &a, const Tensor &b) {
    int64_t different = 0;
    for (int64_t i = 0; i < a.getNumElements(); ++i)
      different += a.getFloat(i) != b.getFloat(i);
    return different;
  };
  auto one = run(1), two = run(2);
  CHECK(differ(one["first"], one["second"]) > 64);
  CHECK(differ(one["first"], two["first"]) > 64);
  CHECK(differ(one["first"], run(1)["first"]) == 0);
  double kept = 0;
  for (int64_t i = 0; i < 256; ++i)
    kept += one["both"].getFloat(i) != 0;
  CHECK(kept < 100); // a quarter of 256, not half: the two layers draw apart
  for (int64_t i = 0; i < 256; ++i)
    CHECK(one["off"].getFloat(i) == 1);
}

TEST_CASE("dropout without a key says so") {
  nn::Dropout drop(0.1);
  auto f = [&](Value x) { return drop.apply(Tree(), x, {.training = true}); };
  CHECK_THROWS_WITH(trace({{"f", f, {TensorSpec(f32, {2})}}}),
                    Catch::Contains("no key for the stream 'dropout'"));
}

TEST_CASE("a cache: pieces give what the whole gives, equal layers are one function") {
  struct Layer : nn::Module { // Its attention's part of the cache is its own.
    nn::MultiHeadAttention attention{
        8, {.heads = 4, .kvHeads = 2, .ropeTheta = 100, .names = {"query", "key", "value", "out"}}};
    Layer() { submodule("", attention); }
    Value forward(Value x) const override { return x + attention(x); }
    std::string kind() const override { return "layer"; }
  };
  nn::Sequential net;
  net.repeat<Layer>(3);
  auto init = [&](Key key) { return net.init(key); };
  SpecTree params = evalShape(init, {{"key", keySpec()}});
  SpecTree cache = evalShape([&] { return net.initCache(2, 6); }, {});
  CHECK(cache["2"]["cached_value"].leaf().shape == Shape{2, 6, 2, 2});
  auto whole = [&](Tree p, Value x) { return net.apply(p, x); };
  auto piecewise = [&](Tree p, Value x) {
    Tree kept = net.initCache(2, 6);
    std::vector<Operand> parts;
    for (auto [begin, end] : {std::pair(0, 3), std::pair(3, 4), std::pair(4, 6)}) {
      Value piece = x[{Slice(), Slice(begin, end)}];
      nn::CachedOutput out = net.applyCached(p, kept, begin, piece);
      parts.emplace_back(out.value);
      kept = out.cache;
    }
    return concatenate(parts, 1);
  };
  std::vector<Argument> arguments{{"p", params}, {"x", TensorSpec(f32, {2, 6, 8})}};
  Program program = trace({{"whole", whole, arguments}, {"piecewise", piecewise, arguments}});
  ProgramRunner runner;
  Tensors inputs{{"x", runner.random(runner.type("2x6x8xf32"), 1)}};
  for (const auto &parameter : net.parameters()) {
    std::string shape;
    for (int64_t size : parameter.shape)
      shape += std::to_string(size) + "x";
    inputs["p." + parameter.name] = runner.random(runner.type(shape + "f32"), inputs.size());
  }
  Tensor expected = runner.run(program, "whole", inputs).at("result");
  Tensor given = runner.run(program, "piecewise", inputs).at("result");
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    CHECK(given.getFloat(i) == Approx(expected.getFloat(i)).margin(1e-4));

  std::string text = program.print();
  std::regex layers("func.func private @layer(_[0-9]+)?[(]");
  CHECK(std::distance(std::sregex_iterator(text.begin(), text.end(), layers), {}) == 1 + 3);
}

TEST_CASE("ops carry the user's line, library code a chain to it") {
  nn::Linear linear(2, 2);
  int line = __LINE__ + 1;
  auto f = [&](Tree params, Value x) { return exp(linear.apply(params, x)); };
  Program program = trace(
      {{"f",
        f,
        {{"params", {{"weight", TensorSpec(f32, {2, 2})}}}, {"x", TensorSpec(f32, {1, 2})}}}});
  std::string text = program.print(),
              here = "\"test/compiler/trace/FunctionsTest.cpp\":" + std::to_string(line);
  CHECK(count(text, here) > 0);
  CHECK(std::regex_search(text, std::regex("\"compiler/nn/Layers.cpp\":[0-9]+")));
  CHECK(count(text, "callsite(") > 0);
  // Paths start at the source root, wherever that lies.
  CHECK(count(text, std::filesystem::path(MINIGPTC_TEST_DIR).parent_path().string()) == 0);
}

TEST_CASE("names, donation and index bounds of an entry") {
  auto step = [](Tree state, Value ids) {
    return Tree{{"loss", sum(state["w"])}, {"state", {{"w", state["w"] + 1}}}};
  };
  SECTION("named arguments") {
    Program program =
        trace({{"step",
                step,
                {{"state", {{"w", TensorSpec(f32, {2})}}}, {"ids", TensorSpec(i32, {3})}},
                {.donate = {"state"}, .indexBounds = {{"ids", 7}}}}});
    std::string text = program.print();
    CHECK(count(text, "graph.donate = 1 : i64, graph.name = \"state.w\"") == 1);
    CHECK(count(text, "graph.index_bound = 7 : i64, graph.name = \"ids\"") == 1);
  }
  SECTION("an unnamed argument is named after the donated result") {
    Program program = trace({{"step",
                              step,
                              {SpecTree{{"w", TensorSpec(f32, {2})}}, TensorSpec(i32, {3})},
                              {.donate = {"state"}}}});
    CHECK(program.function("step").inputs[0].name == "state");
    CHECK(program.function("step").inputs[1].name == "arg1");
  }
}

TEST_CASE("gradients, vjp and checkpoint in the program") {
  auto f = [](Value x, Value y) {
    auto product = [](Value a, Value b) { return sum(a * b); };
    Tree both = grad(product, {.argnums = {0, 1}})(x, y);
    auto [value, pullback] = vjp(product)(x, y);
    Tree pulled = pullback(value.leaf() * 0 + 2);
    auto withAux = [&](Value a) { return Tree{{"value", sum(a * a)}, {"aux", a + y}}; };
    auto [out, g] = valueAndGrad(withAux, {.hasAux = true})(x);
    Tree again = checkpoint([&](Value a) { return sin(a) * y; }, Remat::dots)(x);
    return Tree{
        {"both", both}, {"pulled", pulled}, {"aux", out["aux"]}, {"g", g}, {"again", again}};
  };
  Program program = trace({{"f", f, {TensorSpec(f32, {2}), TensorSpec(f32, {2})}}});
  std::string text = program.print();
  CHECK(count(text, "graph.vjp @") == 3);
  CHECK(count(text, "graph.remat = #graph.remat<dots>") == 1);
  ProgramRunner runner;
  auto results = runner.run(
      program, "f",
      {{"arg0", runner.tensor("2xf32", {2, 3})}, {"arg1", runner.tensor("2xf32", {5, 7})}},
      "graph-autodiff");
  CHECK(results["both.0"].getFloat(1) == 7);
  CHECK(results["both.1"].getFloat(1) == 3);
  CHECK(results["pulled.0"].getFloat(0) == 10);
  CHECK(results["aux"].getFloat(1) == 10);
  CHECK(results["g"].getFloat(1) == 6);
}

TEST_CASE("the work of matrix products") {
  auto forward = [](Value x, Value w) { return sum(matmul(x, w)); };
  auto step = [&](Value x, Value w) { return valueAndGrad(forward, {.argnums = {1}})(x, w).grads; };
  auto twice = [&](Value x, Value w) {
    auto once = [&] { return Tree(forward(x, w)); };
    return callFunction("once", once) + callFunction("once", once);
  };
  TensorSpec x(f32, {2, 3}), w(f32, {3, 4});
  Program program =
      trace({{"forward", forward, {x, w}}, {"step", step, {x, w}}, {"twice", twice, {x, w}}});
  CHECK(program.matmulFlops("forward") == 2 * 2 * 3 * 4);
  CHECK(program.matmulFlops("step") == 3 * program.matmulFlops("forward"));
  CHECK(program.matmulFlops("twice") == 2 * program.matmulFlops("forward"));
  CHECK(program.matmulFlops("none") == 0);
}

TEST_CASE("no gradient passes through stopGradient") {
  auto f = [](Value x) {
    Tree stopped = stopGradient({{"x", x}, {"n", arange(2)}});
    auto loss = [&](Value x) { return sum(x * square(stopGradient(x))); };
    return Tree{{"same", stopped}, {"grad", grad(loss)(x)}};
  };
  ProgramRunner runner;
  Program program = trace({{"f", f, {{"x", TensorSpec(f32, {2})}}}});
  auto results =
      runner.run(program, "f", {{"x", runner.tensor("2xf32", {3, -2})}}, "graph-autodiff");
  CHECK(results.at("same.x").getFloat(0) == 3);
  CHECK(results.at("same.n").getInt(1) == 1);
  CHECK(results.at("grad").getFloat(0) == 9);
  CHECK(results.at("grad").getFloat(1) == 4);
}

TEST_CASE("a user's struct converts to a tree") {
  auto at = [](Tree line, Value x) { return x * line["slope"] + line["offset"]; };
  auto f = [&](Value x) {
    Line line{sum(x), x[0]};
    return Tree{{"line", line}, {"slope", grad([&](Tree t) { return sum(at(t, x)); })(line)}};
  };
  Program program = trace({{"f", f, {TensorSpec(f32, {2})}}});
  std::vector<std::string> paths;
  for (const auto &[path, spec] : program.function("f").output.flatten())
    paths.push_back(path);
  CHECK(paths ==
        std::vector<std::string>{"line.slope", "line.offset", "slope.slope", "slope.offset"});
}
