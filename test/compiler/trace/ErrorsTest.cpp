// Every mistake while tracing is a TraceError that names this file and line.
#include "minigptc/nn/Attention.h"
#include "minigptc/nn/Layers.h"
#include "minigptc/optim/Optimizer.h"
#include "minigptc/runtime/Array.h"
#include "minigptc/trace/ControlFlow.h"
#include "minigptc/trace/Jvp.h"
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Program.h"
#include "minigptc/trace/ShardMap.h"
#include "minigptc/trace/Transforms.h"
#include "minigptc/trace/Vmap.h"

#include <catch2/catch.hpp>

using namespace minigptc;

namespace {

/// The error of tracing fn(x: f32[2,3], n: i32[3]).
template <typename F> TraceError errorOf(F fn) {
  try {
    trace({{"f", fn, {{"x", TensorSpec(f32, {2, 3})}, {"n", TensorSpec(i32, {3})}}}});
  } catch (const TraceError &error) {
    return error;
  }
  FAIL("no error");
  throw 0;
}

std::string here(int line) { return "test/compiler/trace/ErrorsTest.cpp:" + std::to_string(line); }

} // namespace

// The lambda's line is the line of the mistake.
#define CHECK_ERROR(fn, text)                                                                      \
  do {                                                                                             \
    TraceError error = errorOf(fn);                                                                \
    CHECK(error.place() == here(__LINE__));                                                        \
    CHECK_THAT(error.what(), Catch::Contains(text));                                               \
  } while (false)

TEST_CASE("shape mismatches") {
  CHECK_ERROR([](Value x, Value n) { return x + reshape(x, {3, 2}); },
              "f32[2,3] and f32[3,2] do not broadcast");
  CHECK_ERROR([](Value x, Value n) { return matmul(x, x); },
              "inner sizes 3 and 2 differ (f32[2,3] times f32[2,3])");
  CHECK_ERROR([](Value x, Value n) { return reshape(x, {4, -1}); }, "f32[2,3] has 6 elements");
  CHECK_ERROR([](Value x, Value n) { return sum(x, {2}); }, "no dimension 2");
  CHECK_ERROR([](Value x, Value n) { return x[5]; }, "index 5 is outside dimension 0");
  CHECK_ERROR([](Value x, Value n) { return concatenate({x, reshape(x, {3, 2})}, 0); },
              "concatenate");
  CHECK_ERROR([](Value x, Value n) { return layerNorm(x, zeros({4}), zeros({4})); }, "layer_norm");
  CHECK_ERROR([](Value x, Value n) { return attention(x, x, x); },
              "not [batch, positions, heads, size]");
}

TEST_CASE("element types never mix") {
  CHECK_ERROR([](Value x, Value n) { return x * n; }, "element types f32 and i32 differ");
  CHECK_ERROR([](Value x, Value n) { return x * n; }, "convert(x, f32)");
  CHECK_ERROR([](Value x, Value n) { return n + 0.5; }, "meets i32[3]");
  CHECK_ERROR([](Value x, Value n) { return matmul(x, n); },
              "element types of f32[2,3] and i32[3] differ");
  CHECK_ERROR([](Value x, Value n) { return select(x, x, x); }, "not i1");
  CHECK_ERROR([](Value x, Value n) { return exp(n); }, "exponential");
}

TEST_CASE("trees") {
  CHECK_ERROR(([](Value x, Value n) {
                Tree t{{"a", x}};
                return t["b"];
              }),
              "no entry 'b' in this tree; it has 'a'");
  CHECK_ERROR(([](Value x, Value n) {
                Tree t{{"a", x}, {"b", n}};
                return exp(t);
              }),
              "2 entries where a single tensor");
}

TEST_CASE("a tensor is no bool") {
  // What the C++ compiler says to `if (x > 0)`: the test tensor_as_bool.
  STATIC_REQUIRE(!std::is_convertible_v<Value, bool>);
}

TEST_CASE("a value of another trace") {
  Value leaked;
  trace({{"g",
          [&](Value x) {
            leaked = x;
            return x;
          },
          {TensorSpec(f32, {2})}}});
  CHECK_ERROR(([&](Value x, Value n) { return leaked + 1; }), "belongs to another trace");
  CHECK_ERROR(([&](Value x, Value n) {
                Value inner;
                grad([&](Value y) {
                  inner = y;
                  return sum(y);
                })(x);
                return inner + 1;
              }),
              "belongs to another trace");
  CHECK_ERROR(
      [](Value x, Value n) {
        Value none;
        return none + 1;
      },
      "never assigned");
  Value outside(1, nullptr, std::make_shared<const TensorType>());
  CHECK_THROWS_WITH(outside + 1, Catch::Contains("no function is being traced"));
}

TEST_CASE("a parameter captured as a constant") {
  CHECK_ERROR(([](Value x, Value n) { return grad([&](Value y) { return sum(x * y); })(x); }),
              "a parameter is captured as a constant");
  Array table = Array::fromSpan<float>({2}, std::vector<float>{1, 2});
  CHECK_ERROR(([&](Value x, Value n) { return x[0] + table; }),
              "an Array (f32[2]) is captured as a constant");
}

TEST_CASE("gradients") {
  CHECK_ERROR(([](Value x, Value n) { return grad([](Value y) { return y; })(x); }),
              "returns f32[2,3], not a float scalar");
  CHECK_ERROR(([](Value x, Value n) { return grad([](Value k) { return sum(k); })(n); }),
              "only floats have gradients");
  CHECK_ERROR(
      ([](Value x, Value n) { return grad([](Value y) { return sum(y); }, {.argnums = {1}})(x); }),
      "no argument 1");
}

namespace {
struct Outer : nn::Module {
  nn::Linear inner{3, 4}, forgotten{4, 4};
  Outer() { submodule("inner", inner); }
  Value forward(Value x) const override { return forgotten(inner(x)); }
};
} // namespace

TEST_CASE("modules") {
  nn::Linear linear(3, 4);
  CHECK_ERROR(([&](Value x, Value n) { return linear(x); }), "outside a module's forward");
  CHECK_ERROR(([&](Value x, Value n) { return linear.apply(Tree{{"weight", n}}, x); }),
              "the module declares f32[3,4]");
  Outer outer;
  TraceError error = errorOf([&](Value x, Value n) { return outer.apply(outer.init(Key(0)), x); });
  CHECK_THAT(error.what(), Catch::Contains("no submodule of 'Outer'"));
  CHECK_THROWS_WITH(nn::MultiHeadAttention(8, {.heads = 3}),
                    Catch::Contains("3 heads do not divide the size 8"));
  CHECK_THROWS_WITH(nn::MultiHeadAttention(6, {.heads = 2, .ropeTheta = 1e4}),
                    Catch::Contains("even head size"));
}

TEST_CASE("first values of another shape") {
  struct Wide : nn::Module {
    Wide() {
      param("weight", {2}, [](const Key &, const Shape &) { return ones({3}); });
    }
    Value forward(Value x) const override { return x; }
    std::string kind() const override { return "wide"; }
  } wide;
  auto init = [&](Key key) { return wide.init(key); };
  CHECK_THROWS_WITH(trace({{"init", init, {{"key", keySpec()}}}}),
                    Catch::Contains("parameter 'weight' of 'wide' is f32[3], not f32[2]"));
}

TEST_CASE("calls with a cache") {
  struct Twice : nn::Module {
    nn::MultiHeadAttention attention{3, {}};
    Twice() { submodule("attention", attention); }
    Value forward(Value x) const override { return attention(attention(x)); }
  } twice;
  auto call = [](const nn::Module &module, int64_t positions, const Operand &position) {
    auto init = [&](Key key) { return module.init(key); };
    SpecTree params = evalShape(init, {{"key", keySpec()}});
    auto run = [&](Tree p, Value x) {
      Tree cache = positions > 0 ? module.initCache(1, positions) : Tree();
      return module.applyCached(p, cache, position, x).value;
    };
    try {
      trace({{"f", run, {{"p", params}, {"x", TensorSpec(f32, {1, 2, 3})}}}});
    } catch (const TraceError &error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  using Catch::Contains;
  nn::MultiHeadAttention attention(3, {}), backward(3, {.causal = false});
  CHECK(call(attention, 2, 0) == "no error");
  CHECK_THAT(call(attention, 1, 0), Contains("f32[1,1,1,3], in which f32[1,2,1,3] does not fit"));
  CHECK_THAT(call(attention, 0, 0), Contains("no entry 'cached_key'"));
  CHECK_THAT(call(attention, 2, 0.5), Contains("f0.5") || Contains("0.5"));
  CHECK_THAT(call(backward, 2, 0), Contains("causal"));
  CHECK_THAT(call(twice, 2, 0), Contains("'attention.cached_key' of the cache is written twice"));
}

TEST_CASE("programs") {
  auto f = [](Value x) { return Tree{{"y", x}}; };
  TensorSpec spec(f32, {2});
  CHECK_THROWS_WITH(trace({{"f", f, {}}}),
                    Catch::Contains("has 1 parameters, 0 arguments are described"));
  CHECK_THROWS_WITH(trace({{"f", f, {spec}}, {"f", f, {spec}}}), Catch::Contains("named 'f'"));
  CHECK_THROWS_WITH(trace({{"f", f, {{"x", spec}}, {.donate = {"x"}}}}),
                    Catch::Contains("no result has this path"));
  CHECK_THROWS_WITH(trace({{"f", f, {{"x", spec}}, {.donate = {"z"}}}}),
                    Catch::Contains("no argument 'z' to donate; its arguments are 'x'"));
  CHECK_THROWS_WITH(trace({{"f", f, {{"x", spec}}, {.donate = {"z"}}}}),
                    Catch::Contains(".arguments = {\"z\""));
  CHECK_THROWS_WITH(optim::warmupCosine(1, 0, 10, 10), Catch::Contains("must be longer"));
}

TEST_CASE("loops") {
  auto pass = [](Value c, Value x) { return std::pair(c, x); };
  CHECK_ERROR(([&](Value x, Value n) { return scan(pass, x, sum(x)).ys; }),
              "xs is f32[], which has no dimension to go along");
  CHECK_ERROR(([&](Value x, Value n) {
                return scan([](Value c, Tree) { return std::pair(c, c); }, x, Tree{{"a", x}, {"b", n}}).ys;
              }),
              "xs 'b' is i32[3] and makes 3 calls, but xs 'a' makes 2");
  CHECK_ERROR(([&](Value x, Value n) { return scan(pass, x, n, {.length = 4}).ys; }),
              "xs is i32[3] and makes 3 calls, but options.length makes 4");
  CHECK_ERROR(([&](Value x, Value n) {
                return scan([](Value c, Tree) { return std::pair(c, c); }, x, Tree{}).ys;
              }),
              "there is nothing to go over, and no length");
  CHECK_ERROR(([&](Value x, Value n) {
                return scan([](Value c, Value) { return std::pair(sum(c), c); }, x, n).ys;
              }),
              "carry goes in as f32[2,3] and comes out as f32[]");
  CHECK_ERROR(([&](Value x, Value n) {
                return scan([](Tree c, Value) { return std::pair(Tree{{"a", c["a"]}}, c["b"]); },
                            Tree{{"a", x}, {"b", x}}, n).ys;
              }),
              "gives a carry of 1 tensors, and 'init' has 2; carry 'b' is missing");
  CHECK_ERROR(([](Value x, Value n) {
                return whileLoop([](Value x) { return sum(x); }, [](Value x) { return x; }, x);
              }),
              "the condition gives f32[], and must give an i1 scalar");
  CHECK_ERROR(([](Value x, Value n) {
                return whileLoop([](Tree) { return zeros({}, i1); }, [](Tree t) { return t; }, Tree{});
              }),
              "nothing is carried");
  CHECK_ERROR(([](Value x, Value n) {
                return foriLoop(0, x, [](Value, Value x) { return x; }, x);
              }),
              "the upper bound is f32[2,3], and must be an integer scalar");
  CHECK_ERROR(([](Value x, Value n) {
                return foriLoop(0, 2.5, [](Value, Value x) { return x; }, x);
              }),
              "the bounds must be integers");
}

TEST_CASE("branches") {
  auto same = [](Value x) { return x; };
  CHECK_ERROR(([&](Value x, Value n) { return cond(x > 0, same, same, x); }),
              "the predicate is i1[2,3], and must be an i1 scalar");
  CHECK_ERROR(([&](Value x, Value n) { return cond(sum(x), same, same, x); }),
              "the predicate is f32[], and must be an i1 scalar");
  // Both places are named.
  TraceError error = errorOf([&](Value x, Value n) {
    return cond(sum(x) > 0, [](Value x) { return sum(x); },
                [](Value x) { return x * 2; }, x);
  });
  CHECK_THAT(error.what(), Catch::Contains("result is f32[] if the predicate is true, else f32[2,3]"));
  int line = __LINE__ - 4;
  CHECK_THAT(error.what(), Catch::Contains("the first function makes f32[] at " + here(line)));
  CHECK_THAT(error.what(), Catch::Contains("the second function makes f32[2,3] at " + here(line + 1)));
  CHECK_ERROR(([](Value x, Value n) {
                return cond(
                    sum(x) > 0, [&] { return Tree{{"a", x}, {"b", x}}; }, [&] { return Tree{{"a", x}}; });
              }),
              "result 'b' is in one of them only");
}

TEST_CASE("vmap") {
  auto add = [](Value a, Value b) { return a + b; };
  CHECK_ERROR(([&](Value x, Value n) { return vmap(add)(x, zeros({3})); }),
              "argument 1 (f32[3]) has 3 examples along dimension 0, but argument 0 (f32[2,3]) has 2");
  CHECK_ERROR(([&](Value x, Value n) {
                auto f = [](Tree t) { return t["a"]; };
                return vmap(f, {.inAxes = {{{{"", 0}, {"b", 1}}}}})(Tree{{"a", x}, {"b", x}}); }),
              "argument 0 'b' (f32[2,3]) has 3 examples along dimension 1");
  CHECK_ERROR(([&](Value x, Value n) { return vmap(add)(x, zeros({})); }),
              "argument 1 has 0 dimensions, and the examples go along number 0");
  CHECK_ERROR(([&](Value x, Value n) { return vmap(add, {.inAxes = {0}})(x, x); }),
              "2 arguments, and there are axes for 1");
  CHECK_ERROR(([&](Value x, Value n) { return vmap(add, {.inAxes = {None, None}})(x, x); }),
              "no argument goes over the examples");
  CHECK_ERROR(([&](Value x, Value n) { return vmap(add, {.outAxes = None})(x, x); }),
              "the result (f32[3]) differs between examples");
  CHECK_ERROR(([&](Value x, Value n) { return vmap(add, {.outAxes = 3})(x, x); }),
              "the result has 2 dimensions, and the examples go along number 3");
  CHECK_ERROR(([&](Value x, Value n) {
                return vmap([](Value a) { return psum(a, "row"); }, {.axisName = "rows"})(x); }),
              "did you mean 'rows', an axis of a vmap?");
  CHECK_ERROR(([&](Value x, Value n) {
                return vmap([](Value a) { return psum(a, "data"); }, {.axisName = "rows"})(x); }),
              "the examples of a vmap are over 'rows' here");
  CHECK_ERROR(([&](Value x, Value n) {
                return vmap([](Value a) { return psum(a, {"rows", "x"}); }, {.axisName = "rows"})(x); }),
              "'rows' is the axis of a vmap, and there are others beside it");
  CHECK_ERROR(([&](Value x, Value n) {
                return vmap([](Value a) { return psumScatter(a, "rows"); }, {.axisName = "rows"})(x); }),
              "dimension 0 of f32[3] has no 2 equal parts, one for each example");
}

TEST_CASE("jvp") {
  auto f = [](Value x) { return x * 2; };
  CHECK_ERROR(([&](Value x, Value n) { return jvp(f, {x}, {}).tangent; }),
              "there are 1 arguments and 0 tangents");
  CHECK_ERROR(([&](Value x, Value n) { return jvp(f, {x}, {x[0]}).tangent; }),
              "argument 0 is f32[2,3], and its tangent has f32[3]");
  CHECK_ERROR(([&](Value x, Value n) {
                return jvp([](Value x) { return convert(x, i32); }, {x}, {x}).tangent; }),
              "the result is i32[2,3]; only floats have derivatives");
}

TEST_CASE("indices known while tracing") {
  CHECK_ERROR([](Value x, Value n) { return x[-3]; }, "index -3 is outside dimension 0");
  CHECK_ERROR([](Value x, Value n) { return take(x, 2); },
              "take: index 2 is outside dimension 0 of f32[2,3], whose indices are 0 to 1");
  CHECK_ERROR([](Value x, Value n) { return take(x, reshape(arange(4), {2, 2}), 1); },
              "take: index 3 is outside dimension 1 of f32[2,3], whose indices are 0 to 2");
  CHECK_ERROR([](Value x, Value n) { return take(x, full({}, -1, i32)); }, "take: index -1 is outside");
  CHECK_ERROR([](Value x, Value n) { return embedding(x, arange(3)); },
              "embedding: index 2 is outside the rows of f32[2,3], whose indices are 0 to 1");
  CHECK_ERROR([](Value x, Value n) { return dynamicSlice(x, {0, 2}, {1, 2}); },
              "dynamicSlice: index 2 is outside dimension 1 of f32[2,3] for the start of a block of 2, "
              "whose indices are 0 to 1");
  CHECK_ERROR([](Value x, Value n) { return dynamicUpdateSlice(x, x, {1, 0}); },
              "dynamicUpdateSlice: index 1 is outside dimension 0");
  // What the program computes is clamped.
  trace({{"f",
          [](Value x, Value n) {
            return Tree{{"a", take(x, n)}, {"b", take(x, 1)}, {"c", dynamicSlice(x, {n[0], 1}, {1, 2})}};
          },
          {{"x", TensorSpec(f32, {2, 3})}, {"n", TensorSpec(i32, {3})}}}});
}
