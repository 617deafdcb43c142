//===- ReshardPlanTest.cpp - paths between shardings ----------------------===//
#include "dialects/dist/Transforms/ReshardPlan.h"

#include "catch2/catch.hpp"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
constexpr unsigned data = 0, tensor = 1;

struct Fixture {
  Fixture() {
    context.loadDialect<DistDialect>();
    auto name = [&](StringRef text) { return StringAttr::get(&context, text); };
    mesh = MeshAttr::get(&context, {name("data"), name("tensor"), name("more")}, {4, 2, 2});
  }
  void useManyAxes() {
    SmallVector<StringAttr> names;
    for (char axis = 'a'; axis <= 'i'; ++axis)
      names.push_back(StringAttr::get(&context, StringRef(&axis, 1)));
    mesh = MeshAttr::get(&context, names, SmallVector<int64_t>(9, 2));
  }

  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }

  /// "gather data,tensor 0; slice data 1".
  std::string path(ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to) {
    FailureOr<ReshardPlan> plan = planReshard(type(shape), from, to, mesh);
    if (failed(plan))
      return "none";
    std::string text;
    Sharding here = from;
    for (const ReshardStep &step : plan->steps) {
      constexpr const char *names[] = {"slice",  "exchange", "permute",
                                       "gather", "scatter",  "reduce"};
      text += (text.empty() ? "" : "; ") + std::string(names[size_t(step.kind)]) + " ";
      text += llvm::join(
          llvm::map_range(step.axes, [&](unsigned axis) { return mesh.getNames()[axis].str(); }),
          ",");
      if (step.kind == ReshardKind::permute) {
        llvm::raw_string_ostream stream(text += " ");
        llvm::interleaveComma(permuteSources(step, here, mesh), stream);
      } else if (step.kind == ReshardKind::allToAll) {
        text += " " + std::to_string(step.otherDim) + "->" + std::to_string(step.dim);
      } else if (step.kind != ReshardKind::allReduce) {
        text += " " + std::to_string(step.dim);
      }
      here = step.after;
    }
    CHECK(here == to);
    return text;
  }

  double bytes(ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to) {
    return planReshard(type(shape), from, to, mesh)->bytes;
  }

  MLIRContext context;
  MeshAttr mesh;
};

Sharding cut(SmallVector<Axes, 4> dims, Axes partial = {}) {
  Sharding sharding;
  sharding.dims = std::move(dims);
  sharding.partial = std::move(partial);
  return sharding;
}
} // namespace

TEST_CASE_METHOD(Fixture, "one step where one is enough") {
  CHECK(path({8, 4}, cut({{}, {}}), cut({{}, {}})) == "");
  CHECK(path({8, 4}, cut({{data}, {}}), cut({{}, {}})) == "gather data 0");
  CHECK(path({8, 4}, cut({{}, {}}), cut({{}, {data}})) == "slice data 1");
  CHECK(path({8, 4}, cut({{}, {}}, {data}), cut({{}, {}})) == "reduce data");
  CHECK(path({8, 4}, cut({{}, {}}, {data, tensor}), cut({{}, {}})) == "reduce data,tensor");
  CHECK(path({8, 4}, cut({{}, {}}, {data}), cut({{data}, {}})) == "scatter data 0");
  CHECK(path({8, 8}, cut({{data}, {}}), cut({{}, {data}})) == "exchange data 0->1");
  CHECK(path({8, 8}, cut({{data, tensor}, {}}), cut({{}, {}})) == "gather data,tensor 0");
  CHECK(path({8, 8}, cut({{}, {}}), cut({{tensor, data}, {}})) == "slice tensor,data 0");
}

TEST_CASE_METHOD(Fixture, "bytes are those of a ring") {
  CHECK(bytes({8, 4}, cut({{data}, {}}), cut({{}, {}})) == 3 * 8 * 4);
  CHECK(bytes({8, 4}, cut({{}, {}}, {data}), cut({{}, {}})) == 2 * 3 * 8 * 4);
  CHECK(bytes({8, 4}, cut({{}, {}}, {data}), cut({{data}, {}})) == 3 * 8 * 4);
  CHECK(bytes({8, 4}, cut({{data}, {}}), cut({{}, {data}})) == 3 * 8);
  CHECK(bytes({8, 4}, cut({{}, {}}), cut({{}, {data}})) == 0);
}

TEST_CASE_METHOD(Fixture, "the order of axes matters") {
  // Device (d, t) has part 2d + t and wants part 4t + d.
  CHECK(path({64, 64}, cut({{data, tensor}, {}}), cut({{tensor, data}, {}})) ==
        "permute data,tensor 0, 4, 1, 5, 2, 6, 3, 7");
  // The major axis goes: the minor one is moved before.
  CHECK(path({256, 256}, cut({{data, tensor}, {}}), cut({{tensor}, {}})) ==
        "permute data,tensor 0, 4, 1, 5, 2, 6, 3, 7; gather data 0");
  CHECK(path({256, 256}, cut({{data, tensor}, {}}), cut({{data}, {}})) == "gather tensor 0");
  // Another axis of the same size, along which all hold the same.
  CHECK(path({256, 256}, cut({{1}, {}}), cut({{2}, {}})) == "permute tensor,more 0, 2, 1, 3");
}

TEST_CASE_METHOD(Fixture, "a whole tensor is never in between if that can be") {
  FailureOr<ReshardPlan> plan =
      planReshard(type({64, 64}), cut({{data}, {tensor}}), cut({{tensor}, {data}}), mesh);
  REQUIRE(succeeded(plan));
  CHECK(plan->peakElements <= 64 * 64 / 4);
}

TEST_CASE_METHOD(Fixture, "partial over one axis, cut by another") {
  CHECK(path({8, 8}, cut({{data}, {}}, {tensor}), cut({{data}, {tensor}})) == "scatter tensor 1");
  CHECK(path({8, 8}, cut({{data}, {}}, {tensor}), cut({{data, tensor}, {}})) == "scatter tensor 0");
  CHECK(path({256, 256}, cut({{data}, {}}, {tensor}), cut({{}, {}}, {tensor})) == "gather data 0");
  CHECK(path({8, 8}, cut({{}, {}}), cut({{}, {}}, {tensor})) == "none");
}

TEST_CASE_METHOD(Fixture, "parts that do not lie in parts of fewer axes are made whole first") {
  // 10 in 8 parts of 2, of which two are 4; 10 in 4 parts of 3.
  CHECK(path({10}, cut({{data, tensor}}), cut({{data}})) == "gather data,tensor 0; slice data 0");
  CHECK(path({12}, cut({{data, tensor}}), cut({{data}})) == "gather data,tensor 0; slice data 0");
  CHECK(path({16}, cut({{data, tensor}}), cut({{data}})) == "gather tensor 0");
  CHECK(path({10}, cut({{}}, {data}), cut({{data}})) == "scatter data 0");
}

// All orders of nine axes at all places would take hours.
TEST_CASE_METHOD(Fixture, "a mesh of many short axes is planned as quickly as one of few") {
  useManyAxes();
  Axes all = {0, 1, 2, 3, 4, 5, 6, 7, 8}, others = {1, 2, 3, 4, 5, 6, 7, 8};
  Axes reversed(llvm::reverse(all));
  CHECK(path({512, 512}, cut({all, {}}), cut({{}, {}})) == "gather a,b,c,d,e,f,g,h,i 0");
  CHECK(path({512, 512}, cut({{}, {}}), cut({{}, reversed})) == "slice i,h,g,f,e,d,c,b,a 1");
  CHECK(path({512, 512}, cut({all, {}}), cut({{}, all})) == "exchange a,b,c,d,e,f,g,h,i 0->1");
  CHECK(path({512, 512}, cut({all, {}}), cut({{0, 1}, {}})) == "gather c,d,e,f,g,h,i 0");
  CHECK(path({512, 512}, cut({{0}, others}), cut({{0}, {1, 2}})) == "gather d,e,f,g,h,i 1");
  CHECK(path({512, 512}, cut({{}, {}}, all), cut({{0}, {1}})) ==
        "scatter a 0; scatter b 1; reduce c,d,e,f,g,h,i");
  CHECK(path({512, 512}, cut({{0}, {}}, others), cut({{}, others})) ==
        "scatter b,c,d,e,f,g,h,i 1; gather a 0");
  CHECK(planReshard(type({512, 512}), cut({all, {}}), cut({{}, reversed}), mesh)->steps.size() ==
        2);
}
