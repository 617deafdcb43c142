// Op functions: shapes, broadcasting, weak numbers, slices; run in the interpreter.
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Key.h"
#include "minigptc/trace/Program.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>

using namespace minigptc;
using namespace minigptc::test;

namespace {

/// The function's one result for x = 0, 1, 2, …, as doubles.
template <typename F>
std::vector<double> eval(F fn, TensorType type, TensorType *resultType = nullptr) {
  Program program = trace({{"f", fn, {{"x", TensorSpec(type)}}}});
  ProgramRunner runner;
  std::string text;
  for (int64_t size : type.shape)
    text += std::to_string(size) + "x";
  std::vector<double> values;
  for (int64_t i = 0; i < type.numElements(); ++i)
    values.push_back(double(i));
  std::string element(nameOf(type.dtype));
  Tensor result =
      runner.run(program, "f", {{"x", runner.tensor(text + element, values)}}).at("result");
  std::vector<double> out;
  bool isFloat = mlir::isa<mlir::FloatType>(result.getType().getElementType());
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    out.push_back(isFloat ? result.getFloat(i) : double(result.getInt(i)));
  if (resultType)
    *resultType = program.function("f").output.leaf();
  return out;
}

using Doubles = std::vector<double>;
const TensorType vec3{f32, {3}}, mat23{f32, {2, 3}};

} // namespace

TEST_CASE("numbers take the tensor's type and broadcast") {
  TensorType type;
  CHECK(eval([](Value x) { return 2 * x + 1; }, vec3, &type) == Doubles{1, 3, 5});
  CHECK(type == vec3);
  CHECK(eval([](Value x) { return 1 - x; }, {i32, {3}}, &type) == Doubles{1, 0, -1});
  CHECK(type.dtype == i32);
  CHECK(eval([](Value x) { return x > 1; }, vec3, &type) == Doubles{0, 0, 1});
  CHECK(type.dtype == i1);
  CHECK(eval(
            [](Value x) {
              x += 1;
              x *= x;
              return x;
            },
            vec3) == Doubles{1, 4, 9});
}

TEST_CASE("shapes broadcast as in NumPy") {
  TensorType type;
  CHECK(eval([](Value x) { return x + reshape(arange(2, f32), {2, 1}); }, mat23, &type) ==
        Doubles{0, 1, 2, 4, 5, 6});
  CHECK(eval([](Value x) { return reshape(x, {3, 1}) * x; }, vec3, &type) ==
        Doubles{0, 0, 0, 0, 1, 2, 0, 2, 4});
  CHECK(type == TensorType{f32, {3, 3}});
  CHECK(eval([](Value x) { return select(x > 1, x, -1); }, vec3) == Doubles{-1, -1, 2});
  CHECK(eval([](Value x) { return select(arange(2) == 1, reshape(x, {3, 1}), 7); }, vec3) ==
        Doubles{7, 0, 7, 1, 7, 2});
}

TEST_CASE("indices and slices") {
  TensorType type;
  CHECK(eval([](Value x) { return x[1]; }, mat23, &type) == Doubles{3, 4, 5});
  CHECK(type == vec3);
  CHECK(eval([](Value x) { return x[-1]; }, vec3) == Doubles{2});
  CHECK(eval([](Value x) { return x[{Slice(), Slice(0, -1)}]; }, mat23) == Doubles{0, 1, 3, 4});
  CHECK(eval([](Value x) { return x[{Slice(), 2}]; }, mat23) == Doubles{2, 5});
  CHECK(eval([](Value x) { return x[Slice(0, 100, 2)]; }, vec3) == Doubles{0, 2});
}

TEST_CASE("shape functions") {
  TensorType type;
  CHECK(eval([](Value x) { return transpose(x); }, mat23) == Doubles{0, 3, 1, 4, 2, 5});
  CHECK(eval([](Value x) { return reshape(x, {3, -1}); }, mat23, &type) ==
        Doubles{0, 1, 2, 3, 4, 5});
  CHECK(type == TensorType{f32, {3, 2}});
  CHECK(eval([](Value x) { return concatenate({x, x + 10}, -1); }, vec3) ==
        Doubles{0, 1, 2, 10, 11, 12});
  CHECK(eval([](Value x) { return stack({x, x + 10}, 1); }, vec3) == Doubles{0, 10, 1, 11, 2, 12});
  CHECK(eval([](Value x) { return pad(x, {1}, {0}, 9); }, vec3) == Doubles{9, 0, 1, 2});
  CHECK(eval([](Value x) { return squeeze(expandDims(x, 0)); }, vec3) == Doubles{0, 1, 2});
  CHECK(eval([](Value x) { return take(x, arange(1) + 2, 1); }, mat23, &type) == Doubles{2, 5});
  CHECK(type == TensorType{f32, {2, 1}});
  CHECK(eval([](Value x) { return oneHot(convert(x, i32), 3); }, vec3) ==
        Doubles{1, 0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(eval([](Value x) { return dynamicSlice(x, {1, 1}, {1, 2}); }, mat23) == Doubles{4, 5});
}

TEST_CASE("reductions") {
  TensorType type;
  CHECK(eval([](Value x) { return sum(x, {1}); }, mat23) == Doubles{3, 12});
  CHECK(eval([](Value x) { return mean(x, {0}, true); }, mat23, &type) == Doubles{1.5, 2.5, 3.5});
  CHECK(type == TensorType{f32, {1, 3}});
  CHECK(eval([](Value x) { return max(x); }, mat23) == Doubles{5});
  CHECK(eval([](Value x) { return min(x, {-1}); }, mat23) == Doubles{0, 3});
  CHECK(eval([](Value x) { return variance(x); }, vec3)[0] == Approx(2.0 / 3));
  CHECK(eval([](Value x) { return logSumExp(x * 1000); }, vec3)[0] == Approx(2000));
  CHECK(eval([](Value x) { return any(x > 4, {1}); }, mat23) == Doubles{0, 1});
}

TEST_CASE("products") {
  TensorType type;
  CHECK(eval([](Value x) { return matmul(x, transpose(x)); }, mat23) == Doubles{5, 14, 14, 50});
  CHECK(eval([](Value x) { return matmul(x[0], x[1]); }, mat23, &type) == Doubles{14});
  CHECK(type == TensorType{f32, {}});
  CHECK(eval([](Value x) { return matmul(reshape(x, {2, 1, 3}), reshape(x, {2, 3, 1})); }, mat23) ==
        Doubles{5, 50});
  CHECK(eval([](Value x) { return einsum("ij,kj->ki", x, x); }, mat23) == Doubles{5, 14, 14, 50});
  CHECK(eval([](Value x) { return einsum("ij,ij->i", x, x); }, mat23) == Doubles{5, 50});
}

TEST_CASE("keys: streams and folds differ, equal keys agree") {
  auto draws = [](Key key) {
    auto [a, b] = key.split<2>();
    return Tree{{"a", uniform(a, {8})},
                {"again", uniform(a, {8})},
                {"b", uniform(b, {8})},
                {"dropout", uniform(key.stream("dropout"), {8})},
                {"params", uniform(key.stream("params"), {8})},
                {"concrete", uniform(Key(7), {8}, -3, -2)},
                {"cut", truncatedNormal(a, -0.5, 0.5, {64})}};
  };
  Program program = trace({{"f", draws, {{"key", keySpec()}}}});
  ProgramRunner runner;
  auto results = runner.run(program, "f", {{"key", runner.tensor("2xui32", {42, 0})}});
  auto values = [&](const char *name) {
    Doubles out;
    for (int64_t i = 0; i < results.at(name).getNumElements(); ++i)
      out.push_back(results.at(name).getFloat(i));
    return out;
  };
  CHECK(values("a") == values("again"));
  CHECK(values("a") != values("b"));
  CHECK(values("dropout") != values("params"));
  for (double v : values("concrete"))
    CHECK((v >= -3 && v < -2));
  for (double v : values("cut"))
    CHECK(std::abs(v) <= 0.5);
}
