// jit: results, caching, messages, donation, errors.
#include "minigptc/minigptc.h"

#include <catch2/catch.hpp>

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
