// shardMap as it is traced: the IR, and what is refused.
#include "minigptc/trace/ShardMap.h"
#include "minigptc/nn/Layers.h"
#include "minigptc/trace/ControlFlow.h"
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Program.h"

#include <catch2/catch.hpp>

using namespace minigptc;

namespace {

const Mesh mesh{{"data", 4}, {"tensor", 2}};

/// The IR of one entry function of x f32[8,6] and w f32[6,4].
template <typename F> std::string traced(F f, const Mesh &on = mesh) {
  return trace({Entry("f", f, {{"x", TensorSpec(f32, {8, 6})}, {"w", TensorSpec(f32, {6, 4})}},
                      {.mesh = on})})
      .print();
}

/// What tracing it throws.
template <typename F> std::string errorOf(F f, const Mesh &on = mesh) {
  try {
    traced(f, on);
  } catch (const TraceError &error) {
    return error.what();
  }
  return "no error";
}

/// What a shardMap of x alone throws.
template <typename F>
std::string errorOfMapped(F f, PartitionSpec in = P("data"), PartitionSpec out = P("data")) {
  return errorOf([=](Value x, Value) { return shardMap(f, mesh, {in}, out)(x); });
}

auto contains(const std::string &part) { return Catch::Contains(part); }
std::string line(int number) { return "ShardMapTest.cpp:" + std::to_string(number); }

Value same(Value x) { return x; }

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

} // namespace

TEST_CASE("shardMap is a manual op of a function of parts") {
  std::string ir = traced([](Value x, Value w) {
    auto f = [&](Value a) { return psum(matmul(a, w), "data"); };
    return shardMap(f, mesh, {P("data", None)}, P())(x);
  });
  CHECK_THAT(ir, contains("func.func private @shard_map(%arg0: tensor<2x6xf32>"));
  CHECK_THAT(ir,
             contains("dist.manual @shard_map(%arg0, %arg1) over @mesh in = "
                      "[#dist.sharding<@mesh, [{\"data\"}, {}]>, #dist.sharding<@mesh, [{}, {}]>] "
                      "out = [#dist.sharding<@mesh, [{}, {}]>]"));
  // The captured matrix is the same everywhere, and meets what is not.
  CHECK_THAT(ir, contains("dist.vary %arg1 over @mesh [\"data\"] : tensor<6x4xf32>"));
  CHECK_THAT(ir, contains("why = \"the program's own psum\""));
}

TEST_CASE("a value is said to vary once, and only where it must") {
  std::string ir = traced([](Value x, Value w) {
    auto f = [](Value a, Value b) {
      Value twice = b * b;              // the same everywhere
      Value product = matmul(a, twice); // one dist.vary
      return psum(product + matmul(a * 2, twice), {"data"}) + sum(b);
    };
    return shardMap(f, mesh, {P("data"), P()}, P())(x, w);
  });
  CHECK(count(ir, "= dist.vary") == 1);
  // Integers have no gradients.
  ir = traced([](Value x, Value) {
    auto f = [](Value a) { return a * convert(psum(convert(a, i32), "data"), f32); };
    return shardMap(f, mesh, {P("data")}, P("data"))(x);
  });
  CHECK(count(ir, "= dist.vary") == 1);
}

TEST_CASE("layers called twice in a shardMap are one function") {
  struct Layer : nn::Module {
    nn::Linear linear{6, 6};
    Layer() { submodule("linear", linear); }
    Value forward(Value x) const override { return linear(x); }
  };
  Layer a, b;
  std::string ir = traced([&](Value x, Value) {
    Tree params = a.init(Key(1));
    auto f = [&](Value v) { return b.apply(params, a.apply(params, v)); };
    return shardMap(f, mesh, {P("data")}, P("data"))(x);
  });
  INFO(ir);
  CHECK(count(ir, "graph.dot_general") == 1);
}

TEST_CASE("meshes that do not fit") {
  auto map = [](const Mesh &on) {
    return [=](Value x, Value) { return shardMap(same, on, {P()}, P())(x); };
  };
  std::string none = errorOf(map(mesh), Mesh());
  CHECK_THAT(none, contains("shardMap: it is over the mesh"));
  CHECK_THAT(none, contains("and the program has none"));
  CHECK_THAT(none, contains("give it to jit or to the entry of trace, as .mesh"));
  CHECK_THAT(none, contains(line(__LINE__ - 6)));
  CHECK_THAT(errorOf(map(Mesh{{"data", 8}})), contains("a program has one mesh"));
  CHECK_THAT(errorOf(map(Mesh{{"data", 0}})), contains("size"));
}

TEST_CASE("specs that do not fit") {
  CHECK_THAT(
      errorOfMapped(same, P("date")),
      contains("shardMap: argument 0: the spec P('date') names axis 'date', which the mesh"));
  CHECK_THAT(errorOfMapped(same, P("date")), contains("did you mean 'data'?"));
  CHECK_THAT(errorOfMapped(same, P("data", "data")), contains("uses axis 'data' twice"));
  CHECK_THAT(errorOfMapped(same, P("data", None, None)),
             contains("has rank 3, the tensor f32[8,6] has rank 2"));
  CHECK_THAT(
      errorOfMapped(same, P(None, "data")),
      contains("cuts f32[8,6] into 4 parts along a dimension of 6, which that does not divide"));
  CHECK_THAT(errorOfMapped(same, P("data"), P("data", None, None)),
             contains("shardMap: the result: the spec"));
  CHECK_THAT(errorOf([](Value x, Value) { return shardMap(same, mesh, {P(), P()}, P())(x); }),
             contains("the function has 1 arguments, and there are specs for 2"));
  auto tree = [](Tree t) { return t["a"].leaf(); };
  CHECK_THAT(errorOf([=](Value x, Value w) {
               return shardMap(tree, mesh, {PathSpecs{{"a", P()}}}, P())(Tree{{"a", x}, {"b", w}});
             }),
             contains("shardMap: argument 0 'b' has no spec"));
}

TEST_CASE("a result that differs is not the same") {
  auto sumOf = [](Value x) { return sum(x); };
  std::string error = errorOfMapped(sumOf, P("data", "tensor"), P());
  CHECK_THAT(error,
             contains("shardMap: the result may differ between devices along 'data', 'tensor', "
                      "but its spec P() says that it is the same on all of them"));
  CHECK_THAT(error, contains("psum, pmean or allGather over 'data', 'tensor' makes it the same"));
  auto half = [](Value x) { return psum(sum(x), "tensor"); };
  CHECK_THAT(errorOfMapped(half, P("data", "tensor"), P()), contains("along 'data', but"));
  auto index = [](Value) { return axisIndex("data"); };
  CHECK_THAT(errorOfMapped(index, P(), P()), contains("along 'data', but"));
  auto scattered = [](Value x) { return psumScatter(x, "data"); };
  CHECK_THAT(errorOfMapped(scattered, P(), P()), contains("along 'data', but"));
  auto through = [](Value x) { return checkpoint([](Value y) { return sum(y); })(x).leaf(); };
  CHECK_THAT(errorOfMapped(through, P("data"), P()), contains("along 'data', but"));
  auto outside = [](Value x, Value) {
    Value y = x * 2;
    return shardMap([=](Value a) { return sum(a) + sum(y); }, mesh, {P()}, P())(x);
  };
  CHECK(errorOf(outside) == "no error");
}

TEST_CASE("collectives that cannot be") {
  CHECK_THAT(errorOf([](Value x, Value) { return psum(x, "data"); }),
             contains("psum over 'data': devices talk to each other in a function of shardMap only"));
  auto unknown = [](Value x) { return psum(x, "model"); };
  CHECK_THAT(errorOfMapped(unknown), contains("psum: there is no axis 'model' in the mesh"));
  CHECK_THAT(errorOfMapped(unknown), contains(line(__LINE__ - 2)));
  CHECK_THAT(errorOfMapped([](Value x) { return pmean(x, {"data", "data"}); }),
             contains("pmean: axis 'data' is named twice"));
  CHECK_THAT(errorOfMapped([](Value x) { return allGather(x, None); }),
             contains("allGather: no axis of the mesh"));
  CHECK_THAT(errorOfMapped([](Value x) { return allGather(x, "data", 2); }),
             contains("there is no dimension 2"));
  CHECK_THAT(errorOfMapped([](Value x) { return psumScatter(x, "data"); }),
             contains("psumScatter: dimension 0 of f32[2,6] has no 4 equal parts"));
  CHECK_THAT(errorOfMapped([](Value x) { return allToAll(x, "data", 1, 0); }),
             contains("allToAll: dimension 1 of f32[2,6] has no 4 equal parts"));
  CHECK_THAT(errorOfMapped([](Value x) { return psum(x > 0, "data"); }), contains("has no sum"));
  CHECK_THAT(errorOfMapped([](Value x) { return pmean(convert(x, i32), "data"); }),
             contains("only floats have"));
  auto permute = [](std::vector<std::pair<int64_t, int64_t>> pairs) {
    return errorOfMapped([=](Value x) { return ppermute(x, "data", pairs); });
  };
  CHECK_THAT(permute({{0, 1}, {2, 1}}), contains("device 1 gets two tensors, of 0 and of 2"));
  CHECK_THAT(permute({{0, 1}, {0, 2}}), contains("device 0 gives its tensor to two, 1 and 2"));
  CHECK_THAT(permute({{0, 4}}), contains("there is no device 4; they are 0 to 3"));
  CHECK(permute({{0, 1}, {1, 0}}) == "no error");
}

TEST_CASE("what has no place in a shardMap") {
  auto nested = [](Value x) { return shardMap(same, mesh, {P("data")}, P("data"))(x).leaf(); };
  CHECK_THAT(errorOfMapped(nested), contains("this is in the function of another shardMap"));
  auto pinned = [](Value x) { return withShardingConstraint(x, P("data")); };
  CHECK_THAT(errorOfMapped(pinned), contains("tensors are one device's parts"));
  // A cotangent of one number that differs.
  auto cotangents = [](Value x) {
    auto [value, pullback] = vjp([](Value y) { return psum(sum(y), "data"); })(x);
    return pullback(sum(x))["0"].leaf();
  };
  CHECK_THAT(errorOfMapped(cotangents), contains("a cotangent differs between devices"));
}

TEST_CASE("a collective in a branch needs a predicate that is the same on all its devices") {
  auto branch = [](Value predicate, Value a) -> Value {
    return cond(predicate, [](Value a) { return psum(a, "data"); }, same, a);
  };
  int place = __LINE__ - 2;
  std::string error = errorOfMapped([=](Value a) { return branch(sum(a) > 0, a); });
  CHECK_THAT(error, contains("cond: the predicate may differ between devices along 'data', and in it "
                             "devices along 'data' would wait for each other"));
  CHECK_THAT(error, contains("the collective is at") && contains(line(place)));
  CHECK(errorOfMapped([=](Value a) { return branch(psum(sum(a), "data") > 0, a); }) == "no error");
  // Devices along another axis take the same side.
  CHECK(errorOfMapped([](Value a) {
          return cond(sum(a) > 0, [](Value a) { return psum(a, "tensor"); }, same, a).leaf();
        }) == "no error");
  error = errorOfMapped([](Value a) {
    return whileLoop([](Value a) { return sum(a) > 0; }, [](Value a) { return psum(a, "data"); }, a).leaf();
  });
  CHECK_THAT(error, contains("whileLoop: how often it runs may differ between devices along 'data'"));
  error = errorOfMapped([](Value a) {
    Value rounds = convert(sum(a), i32);
    return foriLoop(0, rounds, [](Value, Value a) { return psum(a, "data"); }, a);
  });
  CHECK_THAT(error, contains("foriLoop: how often it runs may differ between devices along 'data'"));
}

TEST_CASE("what a branch takes from outside is said to vary before it") {
  // Its gradient is summed where all devices are.
  std::string ir = traced([](Value x, Value w) {
    auto f = [&](Value a) {
      return cond(sum(a) > 0, [&](Value a) { return matmul(a, w); },
                  [&](Value a) { return matmul(a, -w); }, a).leaf();
    };
    return shardMap(f, mesh, {P("data")}, P("data"))(x);
  });
  CHECK(count(ir, "dist.vary") == 1);
  CHECK(ir.find("dist.vary") > ir.find("func.func private @shard_map("));
  CHECK(ir.find("dist.vary") < ir.find("graph.cond"));
}

TEST_CASE("what a loop carries varies where what it becomes does") {
  std::string ir = traced([](Value x, Value w) {
    auto f = [&](Value a) {
      return scan([&](Value c, Value row) { return std::pair(c + sum(row) * sum(w), c); }, zeros({}), a).ys.leaf();
    };
    return shardMap(f, mesh, {P("data")}, P("data"))(x);
  });
  CHECK_THAT(ir, contains("graph.scan @scan("));
}
