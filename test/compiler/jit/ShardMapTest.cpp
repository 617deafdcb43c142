// shardMap and its collectives: values worked out by hand, gradients against differences and
// against the same function without devices.
#include "minigptc/minigptc.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace minigptc;

namespace {

using Floats = std::vector<float>;

Array vector(const Floats &values, Shape shape = {}) {
  return Array::fromSpan<float>(shape.empty() ? Shape{int64_t(values.size())} : shape, values);
}
Floats valuesOf(const Array &array) {
  return {array.span<float>().begin(), array.span<float>().end()};
}
Array doubles(const std::vector<double> &values, const Shape &shape) {
  return Array::fromSpan<double>(shape, values);
}
std::vector<double> doublesOf(const Array &array) {
  return {array.span<double>().begin(), array.span<double>().end()};
}

const Mesh line{{"x", 4}};
const Mesh square2{{"x", 2}, {"y", 2}};

/// Calls f on every device of a mesh with its parts of 0, 1, 2, ….
template <typename F>
Floats onParts(const Mesh &mesh, F f, PartitionSpec in, PartitionSpec out, Shape shape = {8}) {
  int64_t size = 1;
  for (int64_t length : shape)
    size *= length;
  Floats iota(static_cast<size_t>(size));
  for (size_t i = 0; i < iota.size(); ++i)
    iota[i] = float(i);
  auto run = jit([=](Value x) { return shardMap(f, mesh, {in}, out)(x); }, {.mesh = mesh});
  return valuesOf(run(vector(iota, shape)));
}

Value asFloat(const Value &x) { return convert(x, f32); }

} // namespace

TEST_CASE("collectives along the only axis") {
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  // Device d has [2d, 2d + 1].
  CHECK(onParts(line, [](Value x) { return psum(x, "x"); }, P("x"), P()) == Floats{12, 16});
  CHECK(onParts(
            line, [](Value x) { return psum(x, "x"); }, P("x"), P("x")) ==
        Floats{12, 16, 12, 16, 12, 16, 12, 16});
  CHECK(onParts(line, [](Value x) { return pmean(x, "x"); }, P("x"), P()) == Floats{3, 4});
  CHECK(onParts(
            line, [](Value x) { return allGather(x, "x"); }, P("x"), P()) ==
        Floats{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(onParts(
            line, [](Value x) { return psumScatter(concatenate({x, x + 10}), "x"); }, P("x"),
            P("x")) == Floats{12, 16, 52, 56});
  CHECK(onParts(
            line, [](Value x) { return asFloat(axisIndex("x")) * 10 + x; }, P("x"), P("x")) ==
        Floats{0, 1, 12, 13, 24, 25, 36, 37});
  CHECK(onParts(
            line, [](Value x) { return ppermute(x, "x", Pairs{{0, 1}, {1, 2}, {3, 0}}); }, P("x"),
            P("x")) == Floats{6, 7, 0, 1, 2, 3, 0, 0});
  CHECK(onParts(line, [](Value x) { return x * double(axisSize("x")); }, P("x"), P("x"))[1] == 4);
}

TEST_CASE("devices choose together, or each for itself") {
  // Device d has [2d, 2d + 1]. All take one side, and wait for each other there.
  auto together = [](double limit) {
    return [=](Value x) {
      return cond(psum(sum(x), "x") > limit, [](Value x) { return psum(x, "x"); },
                  [](Value x) { return x - pmean(x, "x"); }, x)
          .leaf();
    };
  };
  CHECK(onParts(line, together(27), P("x"), P("x")) == Floats{12, 16, 12, 16, 12, 16, 12, 16});
  CHECK(onParts(line, together(28), P("x"), P("x")) == Floats{-3, -3, -1, -1, 1, 1, 3, 3});
  auto alone = [](Value x) {
    return cond(sum(x) > 6, [](Value x) { return x * 10; }, [](Value x) { return -x; }, x).leaf();
  };
  CHECK(onParts(line, alone, P("x"), P("x")) == Floats{0, -1, -2, -3, 40, 50, 60, 70});
  // Until the sum over all devices is large enough; and each until its own is.
  auto untilAll = [](Value x) {
    return whileLoop([](Value x) { return psum(sum(x), "x") < 100; },
                     [](Value x) { return x + pmean(x, "x"); }, x)
        .leaf();
  };
  CHECK(onParts(line, untilAll, P("x"), P("x")) == Floats{9, 13, 11, 15, 13, 17, 15, 19});
  auto untilOwn = [](Value x) {
    return whileLoop([](Value x) { return sum(x) < 10; }, [](Value x) { return x * 2; }, x).leaf();
  };
  CHECK(onParts(line, untilOwn, P("x"), P("x")) == Floats{0, 16, 4, 6, 8, 10, 6, 7});
}

TEST_CASE("a matrix changes hands") {
  // Device d has row d of [[0, 1, 2, 3], [4, …]].
  Floats columns = onParts(line, [](Value x) { return allToAll(x, "x", 1, 0); }, P("x", None),
                           P(None, "x"), {4, 4});
  CHECK(columns == Floats{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  // Along one dimension: device r gets part r of each, in their order.
  Floats shuffled = onParts(line, [](Value x) { return allToAll(x, "x", -1, 1); }, P("x", None),
                            P("x", None), {4, 4});
  CHECK(shuffled == Floats{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
}

TEST_CASE("collectives along one axis of two, and along both") {
  // Device (a, b) has [4a + 2b, 4a + 2b + 1].
  PartitionSpec both = P(DimSpec{"x", "y"});
  CHECK(
      onParts(square2, [](Value x) { return psum(x, "x"); }, both, P("y")) == Floats{4, 6, 8, 10});
  CHECK(
      onParts(square2, [](Value x) { return psum(x, "y"); }, both, P("x")) == Floats{2, 4, 10, 12});
  CHECK(onParts(square2, [](Value x) { return psum(x, {"x", "y"}); }, both, P()) == Floats{12, 16});
  CHECK(onParts(
            square2, [](Value x) { return allGather(x, {"y", "x"}); }, both, P()) ==
        Floats{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(onParts(
            square2, [](Value x) { return asFloat(axisIndex({"y", "x"})) + x * 0; }, both, both) ==
        Floats{0, 0, 2, 2, 1, 1, 3, 3});
  CHECK(onParts(
            square2, [](Value x) { return ppermute(x, "y", {{0, 1}, {1, 0}}); }, both, both) ==
        Floats{2, 3, 0, 1, 6, 7, 4, 5});
  // What is the same along an axis is summed as often as there are devices.
  CHECK(onParts(
            square2, [](Value x) { return psum(x, "y"); }, P("x"), P("x")) ==
        Floats{0, 2, 4, 6, 8, 10, 12, 14});
}

TEST_CASE("trees, integers, captured tensors and keys") {
  auto f = [](Tree batch, Value scale) {
    auto inner = [&](Tree b) {
      Value count = psum(sum(convert(b["mask"], i32)), "x");
      return Tree{{"y", b["v"] * scale}, {"count", count}};
    };
    return shardMap(inner, line, {PathSpecs{{"mask", P("x")}, {"", P(None, "x")}}},
                    PathSpecs{{"y", P(None, "x")}, {"count", P()}})(batch);
  };
  auto run = jit(f, {.mesh = line});
  ArrayTree out =
      run(ArrayTree{{"mask",
                     Array::fromSpan<int32_t>({8}, std::vector<int32_t>{1, 0, 1, 1, 0, 0, 1, 1})},
                    {"v", vector({1, 2, 3, 4}, {1, 4})}},
          vector({2}, {1}));
  CHECK(valuesOf(out["y"]) == Floats{2, 4, 6, 8});
  CHECK(out["count"].scalar() == 5);

  // A key is the same everywhere; with the device's number it is another.
  auto draw = [](Key key, bool folded) {
    auto inner = [&](Key k) { return normal(folded ? k.foldIn(axisIndex("x")) : k, {2}); };
    return shardMap(inner, line, {P()}, P("x"))(key);
  };
  Floats same = valuesOf(jit(
      [&](Key k) {
        return shardMap([](Key key) { return psum(normal(key, {2}), "x") / 4.0; }, line, {P()},
                        P())(k);
      },
      {.mesh = line})(Key(3)));
  Floats other = valuesOf(jit([&](Key k) { return draw(k, true); }, {.mesh = line})(Key(3)));
  Floats alone = valuesOf(jit([](Key k) { return normal(k, {2}); })(Key(3)));
  CHECK(same[0] == Approx(alone[0]));
  CHECK(other[0] != other[2]);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {

/// A scalar of two tensors: on a mesh and, as the same number, without one.
struct Case {
  std::string name;
  Shape x, w;
  std::function<Value(const Mesh &, Value, Value)> mapped;
  std::function<Value(Value, Value)> plain;
};

Value total(const Value &x) { return sum(square(x)); }

/// Sums of the first rows.
Value cumulative(const Value &x) {
  std::vector<Operand> rows;
  for (int64_t i = 0; i < x.dim(0); ++i)
    rows.push_back(sum(x[Slice(0, i + 1)], {0}, /*keepDims=*/true));
  return concatenate(rows);
}

Value alongX(const Mesh &mesh, Value x, Value w, std::function<Value(Value, Value)> f,
             PartitionSpec wSpec, PartitionSpec out) {
  return shardMap([f](Value a, Value b) { return f(a, b); }, mesh, {P("x"), wSpec}, out)(x, w)
      .leaf();
}

std::vector<Case> gradientCases() {
  return {
      {"data parallel by hand",
       {8, 3},
       {3, 2},
       [](const Mesh &mesh, Value x, Value w) {
         return alongX(
             mesh, x, w,
             [](Value a, Value b) { return pmean(mean(square(tanh(matmul(a, b)))), "x"); }, P(),
             P());
       },
       [](Value x, Value w) { return mean(square(tanh(matmul(x, w)))); }},
      {"a result that is the same, used outside",
       {8, 3},
       {3},
       [](const Mesh &mesh, Value x, Value w) {
         return total(w * alongX(
                              mesh, x, w,
                              [](Value a, Value b) { return psum(sum(sin(a * b), {0}), "x"); }, P(),
                              P()));
       },
       [](Value x, Value w) { return total(w * sum(sin(x * w), {0})); }},
      {"parts as results",
       {8, 2},
       {2},
       [](const Mesh &mesh, Value x, Value w) {
         return total(
             alongX(mesh, x, w, [](Value a, Value b) { return exp(a * b) * b; }, P(), P("x")));
       },
       [](Value x, Value w) { return total(exp(x * w) * w); }},
      {"tensor parallel by hand",
       {4, 8},
       {8, 8},
       [](const Mesh &mesh, Value x, Value w) {
         auto f = [](Value a, Value up, Value down) {
           return psum(matmul(tanh(matmul(a, up)), down), "x");
         };
         return total(shardMap(f, mesh, {P(), P(None, "x"), P("x", None)}, P())(x, w, w).leaf());
       },
       [](Value x, Value w) { return total(matmul(tanh(matmul(x, w)), w)); }},
      {"gathered, and cut again",
       {8, 2},
       {2, 8},
       [](const Mesh &mesh, Value x, Value w) {
         auto f = [](Value a, Value b) {
           Value all = matmul(allGather(a, "x"), b); // [8, 2] · [2, 2]
           return psumScatter(tanh(all) * all, "x", 0);
         };
         return total(shardMap(f, mesh, {P("x"), P(None, "x")}, P("x"))(x, w).leaf());
       },
       [](Value x, Value w) {
         Value all = matmul(x, w);
         return total(sum(reshape(tanh(all) * all, {8, 4, 2}), {1}));
       }},
      {"all to all",
       {8, 4},
       {4},
       [](const Mesh &mesh, Value x, Value w) {
         auto f = [](Value a, Value b) {
           Value columns = allToAll(a, "x", 1, 0); // [8, 1]
           return allToAll(cumulative(columns) * sum(square(b)), "x", 0, 1);
         };
         return total(alongX(mesh, x, w, f, P(), P("x")));
       },
       [](Value x, Value w) { return total(cumulative(x) * sum(square(w))); }},
      {"around the ring, and off its end",
       {8},
       {2},
       [](const Mesh &mesh, Value x, Value w) {
         auto f = [](Value a, Value b) {
           Value left = ppermute(sin(a) * b, "x", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
           return left * ppermute(a, "x", {{0, 1}, {1, 2}});
         };
         return total(alongX(mesh, x, w, f, P(), P("x")));
       },
       [](Value x, Value w) {
         Value parts = reshape(x, {4, 2}), turned = sin(parts) * w;
         Value left = concatenate({turned[Slice(3, 4)], turned[Slice(0, 3)]});
         Value off =
             concatenate({parts[Slice(0, 1)] * 0, parts[Slice(0, 2)], parts[Slice(0, 1)] * 0});
         return total(left * off);
       }},
      {"the device's number",
       {8},
       {2},
       [](const Mesh &mesh, Value x, Value w) {
         auto f = [](Value a, Value b) {
           return psum(a * b * convert(axisIndex("x") + 1, f64), "x");
         };
         return total(alongX(mesh, x, w, f, P(), P()));
       },
       [](Value x, Value w) {
         Value parts = reshape(x, {4, 2});
         Value sumOf = parts[0] + parts[1] * 2 + parts[2] * 3 + parts[3] * 4;
         return total(sumOf * w);
       }},
      {"a gradient inside",
       {8, 3},
       {3},
       [](const Mesh &mesh, Value x, Value w) {
         auto f = [](Value a, Value b) {
           auto loss = [&](Value c) { return psum(sum(sin(a * c)), "x"); };
           return grad(loss)(b).leaf();
         };
         return total(alongX(mesh, x, w, f, P(), P()));
       },
       [](Value x, Value w) {
         return total(grad([&](Value c) { return sum(sin(x * c)); })(w).leaf());
       }},
      {"a checkpoint inside and around",
       {8, 3},
       {3},
       [](const Mesh &mesh, Value x, Value w) {
         auto f = [](Value a, Value b) {
           auto block = [](Value c, Value d) { return tanh(c * d) * pmean(sum(c * d, {0}), "x"); };
           return checkpoint(block)(a, b).leaf();
         };
         auto around = [=](Value c, Value d) { return alongX(mesh, c, d, f, P(), P("x")); };
         return total(checkpoint(around)(x, w).leaf());
       },
       [](Value x, Value w) { return total(tanh(x * w) * (sum(x * w, {0}) / 4)); }},
  };
}

struct ValueAndGrads {
  double value;
  std::vector<double> x, w;
};

template <typename F>
ValueAndGrads gradientsOf(F f, const Mesh &mesh, const Array &x, const Array &w) {
  auto run = jit(
      [&](Value a, Value b) {
        auto [value, grads] =
            valueAndGrad([&](Value c, Value d) { return f(c, d); }, {.argnums = {0, 1}})(a, b);
        return Tree{{"value", value}, {"x", grads["0"]}, {"w", grads["1"]}};
      },
      {.mesh = mesh});
  ArrayTree out = run(x, w);
  return {out["value"].scalar(), doublesOf(out["x"]), doublesOf(out["w"])};
}

std::vector<double> random(const Shape &shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> draw(-1, 1);
  size_t size = 1;
  for (int64_t length : shape)
    size *= size_t(length);
  std::vector<double> values(size);
  for (double &value : values)
    value = draw(engine);
  return values;
}

void checkClose(const std::vector<double> &got, const std::vector<double> &expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(expected[i]).epsilon(1e-9).margin(1e-11));
}

} // namespace

TEST_CASE("gradients are those of the same function without devices") {
  Mesh mesh = GENERATE(Mesh{{"x", 4}}, Mesh{{"y", 2}, {"x", 4}});
  unsigned seed = 1;
  for (const Case &c : gradientCases()) {
    INFO(c.name << " on " << mesh.toString());
    std::vector<double> x = random(c.x, ++seed), w = random(c.w, ++seed);
    Array xs = doubles(x, c.x), ws = doubles(w, c.w);
    ValueAndGrads plain = gradientsOf(c.plain, Mesh(), xs, ws);
    ValueAndGrads mapped =
        gradientsOf([&](Value a, Value b) { return c.mapped(mesh, a, b); }, mesh, xs, ws);
    CHECK(mapped.value == Approx(plain.value));
    checkClose(mapped.x, plain.x);
    checkClose(mapped.w, plain.w);
  }
}

TEST_CASE("gradients are differences") {
  unsigned seed = 100;
  for (const Case &c : gradientCases()) {
    INFO(c.name);
    std::vector<double> x = random(c.x, ++seed), w = random(c.w, ++seed);
    ValueAndGrads exact = gradientsOf([&](Value a, Value b) { return c.mapped(line, a, b); }, line,
                                      doubles(x, c.x), doubles(w, c.w));
    auto value = jit([&](Value a, Value b) { return c.mapped(line, a, b); }, {.mesh = line});
    auto difference = [&](std::vector<double> &values, size_t i) {
      double step = 1e-6, old = values[i], sides[2];
      for (int side : {0, 1}) {
        values[i] = old + (side ? step : -step);
        sides[side] = value(doubles(x, c.x), doubles(w, c.w)).leaf().scalar();
      }
      values[i] = old;
      return (sides[1] - sides[0]) / (2 * step);
    };
    for (size_t i : {size_t(0), x.size() - 1})
      CHECK(exact.x[i] == Approx(difference(x, i)).epsilon(1e-6).margin(1e-7));
    for (size_t i : {size_t(0), w.size() - 1})
      CHECK(exact.w[i] == Approx(difference(w, i)).epsilon(1e-6).margin(1e-7));
  }
}

TEST_CASE("a mesh of one device is the function itself") {
  Mesh one{{"x", 1}};
  auto f = [&](Value x) {
    auto inner = [](Value a) {
      Value b = allToAll(allGather(psumScatter(psum(a, "x"), "x"), "x"), "x", 0, 0);
      return pmean(ppermute(b, "x", {{0, 0}}) + convert(axisIndex("x"), f32), "x");
    };
    return shardMap(inner, one, {P("x")}, P())(x);
  };
  CHECK(valuesOf(jit(f)(vector({1, 2}))) == Floats{1, 2});
  CHECK(valuesOf(jit(f, {.mesh = one})(vector({1, 2}))) == Floats{1, 2});
}

TEST_CASE("layers inside, under a spec outside") {
  // The batch comes cut; a layer's parameters are whole; the loss is one.
  struct Net : nn::Module {
    nn::Linear layer{4, 4, {.bias = true}};
    Net() { submodule("layer", layer); }
    Value forward(Value x) const override { return tanh(layer(tanh(layer(x)))); }
  };
  Net net;
  auto loss = [&](const Mesh &mesh) {
    return [&net, mesh](Tree params, Value x) {
      auto local = [&net](Tree p, Value a) {
        Value mine = mean(square(net.apply(p, a)));
        return axisSize("x") == 1 ? mine : pmean(mine, "x");
      };
      return shardMap(local, mesh, {P(), P("x")}, P())(params, x).leaf();
    };
  };
  ArrayTree params = jit([&](Key key) { return net.init(key); })(Key(1));
  Floats x(32);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(float(i));
  auto run = [&](const Mesh &mesh) {
    auto f = jit(
        [&, mesh](Tree p, Value a) {
          return grad([&](Tree q) { return loss(mesh)(q, a); })(p)["layer"]["weight"];
        },
        {.mesh = mesh, .inSpecs = {{"x", P("x")}}, .arguments = {"params", "x"}});
    return valuesOf(f(params, vector(x, {8, 4})));
  };
  Floats many = run(line), one = run(Mesh{{"x", 1}});
  for (size_t i = 0; i < one.size(); ++i)
    CHECK(many[i] == Approx(one[i]).margin(1e-6));
}
