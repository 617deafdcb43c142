// Tensors of many devices: cutting and putting together, one mesh axis and two, even and not.
#include "compiler/interpreter/Shards.h"
#include "compiler/interpreter/Devices.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace minigptc;
using namespace minigptc::test;
using namespace minigptc::interpreter;

static dist::MeshAttr mesh(ModuleRunner &runner, llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<mlir::StringAttr> names;
  for (size_t i = 0; i < sizes.size(); ++i)
    names.push_back(mlir::StringAttr::get(&runner.context(), "a" + std::to_string(i)));
  return dist::MeshAttr::get(&runner.context(), names, sizes);
}

static dist::Sharding sharding(llvm::ArrayRef<dist::Axes> dims) {
  dist::Sharding sharding;
  sharding.dims.assign(dims.begin(), dims.end());
  return sharding;
}

static Tensor iota(ModuleRunner &runner, llvm::StringRef type) {
  Tensor tensor = runner.tensor(type, {0});
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor.setFloat(i, double(i));
  return tensor;
}

TEST_CASE("Devices hold the parts of a tensor, major axis first") {
  ModuleRunner runner;
  Tensor whole = iota(runner, "4x2xf32");
  auto parts = shard(whole, sharding({{1, 0}, {}}), mesh(runner, {2, 2}));
  REQUIRE(parts.size() == 4);
  CHECK(difference(parts[0], runner.tensor("1x2xf32", {0, 1})) == "");
  CHECK(difference(parts[1], runner.tensor("1x2xf32", {4, 5})) == ""); // coordinate (0, 1): part 2
  CHECK(difference(parts[2], runner.tensor("1x2xf32", {2, 3})) == "");
  CHECK(difference(parts[3], runner.tensor("1x2xf32", {6, 7})) == "");
}

TEST_CASE("What lies beyond the end is poison") {
  ModuleRunner runner;
  auto parts = shard(iota(runner, "5xf32"), sharding({{0}}), mesh(runner, {4}));
  CHECK(difference(parts[2], runner.tensor("2xf32", {4, NAN})) == "");
  CHECK(difference(parts[3], runner.tensor("2xf32", {NAN, NAN})) == "");
  auto numbers = shard(runner.tensor("1xi32", {7}), sharding({{0}}), mesh(runner, {2}));
  CHECK(numbers[1].getInt(0) == INT32_MAX);
}

TEST_CASE("Parts make the whole again") {
  ModuleRunner runner;
  for (int64_t size : {1, 4, 5, 8}) {
    Tensor whole = iota(runner, std::to_string(size) + "x3xf64");
    for (const dist::Sharding &cut :
         {sharding({{}, {}}), sharding({{0}, {}}), sharding({{0}, {1}}), sharding({{1, 0}, {}}),
          sharding({{}, {0, 1}}), sharding({{1}, {0}})}) {
      auto on = mesh(runner, {4, 2});
      auto again = unshard(mlir::UnknownLoc::get(&runner.context()), shard(whole, cut, on), cut, on,
                           whole.getType());
      REQUIRE(mlir::succeeded(again));
      CHECK(difference(*again, whole) == "");
    }
  }
}

static std::string errorOf(ModuleRunner &runner, llvm::ArrayRef<Tensor> parts,
                           const dist::Sharding &cut) {
  try {
    runner.check("unsharding", [&] {
      return llvm::LogicalResult(unshard(mlir::UnknownLoc::get(&runner.context()), parts, cut,
                                         mesh(runner, {2}), runner.type("2xf32")));
    });
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "";
}

TEST_CASE("Devices that disagree, and sums that are not made, are errors") {
  ModuleRunner runner;
  std::vector<Tensor> parts{runner.tensor("2xf32", {1, 2}), runner.tensor("2xf32", {1, 3})};
  CHECK_THAT(errorOf(runner, parts, sharding({{}})),
             Catch::Contains("device 1 holds other elements than those before it at [0]"));
  dist::Sharding partial = sharding({{}});
  partial.partial = {0};
  CHECK_THAT(errorOf(runner, parts, partial), Catch::Contains("still to be combined"));
  CHECK_THAT(errorOf(runner, parts, sharding({{0}})),
             Catch::Contains("instead of 'tensor<1xf32>'"));
}

TEST_CASE("Halves are summed in f32 and rounded once") {
  ModuleRunner runner;
  auto module = runner.parse(R"(
    dist.mesh @mesh = <["x"=3]>
    func.func @f(%x: tensor<bf16>) -> tensor<bf16> {
      %0 = dist.all_reduce %x over @mesh ["x"] combine = sum : (tensor<bf16>) -> tensor<bf16>
      return %0 : tensor<bf16>
    })");
  auto scalar = [&](double value) {
    return llvm::SmallVector<Tensor>{runner.tensor("bf16", {value})};
  };
  auto results = evaluateOnDevices(*module, "f", {scalar(256), scalar(1), scalar(1)});
  REQUIRE(mlir::succeeded(results));
  for (const auto &mine : *results)
    CHECK(mine[0].getFloat(0) == 258); // 256 + 1 rounds to 256 in bf16
}

TEST_CASE("Calls are checked") {
  ModuleRunner runner;
  auto module = runner.parse(R"(
    dist.mesh @mesh = <["x"=2]>
    func.func @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> })");
  auto call = [&](llvm::StringRef name, const DeviceTensors &arguments) {
    return std::string([&] {
      try {
        runner.check("calling", [&] {
          return llvm::LogicalResult(evaluateOnDevices(*module, name, arguments));
        });
      } catch (const std::runtime_error &error) {
        return std::string(error.what());
      }
      return std::string();
    }());
  };
  Tensor good = runner.tensor("f32", {1}), bad = runner.tensor("f64", {1});
  CHECK(call("f", {{good}, {good}}) == "");
  CHECK_THAT(call("g", {{good}, {good}}), Catch::Contains("no function @g"));
  CHECK_THAT(call("f", {{good}}), Catch::Contains("called on 1 devices; the mesh has 2"));
  CHECK_THAT(call("f", {{good}, {}}), Catch::Contains("called with 0 arguments, takes 1"));
  CHECK_THAT(call("f", {{good}, {bad}}), Catch::Contains("argument 0 of device 1"));
}
