// jit: results, caching, messages, donation, errors.
#include "minigptc/minigptc.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

using namespace minigptc;

namespace {

Array vector(std::vector<float> values) {
  return Array::fromSpan<float>({int64_t(values.size())}, values);
}

std::vector<float> valuesOf(const Array &array) {
  return {array.span<float>().begin(), array.span<float>().end()};
}

/// Options that collect the messages.
JitOptions logged(std::vector<std::string> &messages) {
  JitOptions options;
  options.log = [&messages](const std::string &message) { messages.push_back(message); };
  return options;
}

} // namespace

TEST_CASE("a jitted function runs") {
  auto f = jit([](Value x, Tree t) { return Tree{{"y", 2 * x + t["b"]}, {"sum", sum(x)}}; });
  ArrayTree out = f(vector({1, 2, 3}), ArrayTree{{"b", vector({10, 20, 30})}});
  CHECK(valuesOf(out["y"]) == std::vector<float>{12, 24, 36});
  CHECK(out["sum"].scalar() == 6);
}

TEST_CASE("a call compiles again for another shape, type or static value, and says why") {
  std::vector<std::string> messages;
  int traced = 0;
  auto f = jit(
      [&](Value x, int factor) {
        ++traced;
        return x * factor;
      },
      logged(messages));
  CHECK(valuesOf(f(vector({1, 2}), 3)) == std::vector<float>{3, 6});
  CHECK(valuesOf(f(vector({5, 7}), 3)) == std::vector<float>{15, 21});
  CHECK(traced == 1);
  CHECK(messages.empty());
  CHECK(valuesOf(f(vector({5}), 3)) == std::vector<float>{15});
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], Catch::Contains("'arg0' is f32[1], it was f32[2]"));
  CHECK(valuesOf(f(vector({5}), 4)) == std::vector<float>{20});
  REQUIRE(messages.size() == 2);
  CHECK_THAT(messages[1], Catch::Contains("static arguments"));
  f(vector({1, 2}), 3);
  CHECK(traced == 3);
  CHECK(messages.size() == 2);
}

TEST_CASE("keys and randomness") {
  auto f = jit([](Key key) { return normal(key, {64}); });
  CHECK(valuesOf(f(Key(1))) == valuesOf(f(Key(1))));
  CHECK(valuesOf(f(Key(1))) != valuesOf(f(Key(2))));
}

TEST_CASE("donated arguments give their memory to the results") {
  JitOptions options;
  options.donate = {"state"};
  auto f = jit([](Tree state) { return Tree{{"state", {{"w", state["w"] * 2}}}}; }, options);
  ArrayTree state{{"w", vector({1, 2, 3})}};
  const std::byte *before = state["w"].leaf().data();
  ArrayTree out = f(std::move(state));
  CHECK(valuesOf(out["state"]["w"]) == std::vector<float>{2, 4, 6});
  CHECK(out["state"]["w"].leaf().data() == before);
  ArrayTree kept = out["state"], again = f(out["state"]);
  // There is another reference to the state: it is copied, not overwritten.
  CHECK(valuesOf(kept["w"]) == std::vector<float>{2, 4, 6});
}

TEST_CASE("mistakes are found at the first call, at their line") {
  int line = __LINE__ + 1;
  auto f = jit([](Value x) { return matmul(x, zeros({5, 5})); });
  CHECK_THROWS_WITH(f(vector({1, 2})),
                    Catch::Contains("test/compiler/jit/JitTest.cpp:" + std::to_string(line)));
}

TEST_CASE("ids out of range are found before the program runs") {
  auto tokens = [](std::vector<int32_t> values) { return Array::fromSpan<int32_t>({2, 4}, values); };
  Array table = Array::fromSpan<float>({5, 1}, std::vector<float>{0, 1, 2, 3, 4});
  // The user's own program, which says no bounds: tokens and their successors in one array.
  auto f = jit([](Value table, Value tokens) {
    Value rows = embedding(table, tokens[{Slice(), Slice(0, 3)}]);
    Value logits = matmul(rows, ones({1, 7}));
    return sum(crossEntropy(logits, tokens[{Slice(), Slice(1, 4)}], -1));
  });
  CHECK(f(table, tokens({0, 1, 4, 6, 0, 2, 3, -1})).scalar() > 0);
  CHECK_THROWS_WITH(f(table, tokens({0, 1, 5, 6, 0, 2, 3, 4})),
                    Catch::Contains("input 'arg1' holds 5 at [0,2], which is outside of [0, 5)"));
  CHECK_THROWS_WITH(f(table, tokens({0, 1, 4, 7, 0, 2, 3, 4})),
                    Catch::Contains("holds 7 at [0,3], which is outside of [0, 7), and not -1"));
}

TEST_CASE("a norm whose squares overflow gives NaN, not zeros") {
  Array x = Array::fromSpan<float>({2, 2}, std::vector<float>{6e19f, 0, 1e18f, -1e18f});
  auto all = [](std::vector<float> values, bool nan) {
    return std::ranges::all_of(values, [&](float value) { return std::isnan(value) == nan; });
  };
  for (auto norm : {+[](Value x) { return rmsNorm(x, ones({2})); },
                    +[](Value x) { return layerNorm(x, ones({2}), zeros({2})); }}) {
    auto f = jit([norm](Value x) {
      return Tree{{"y", norm(x)}, {"dx", grad([&](Value v) { return sum(norm(v) * v); })(x)}};
    });
    ArrayTree out = f(x);
    for (const char *name : {"y", "dx"}) {
      std::vector<float> values = valuesOf(out[name]);
      CHECK(all({values[0], values[1]}, true));
      CHECK(all({values[2], values[3]}, false));
    }
  }
}
