//===- PartitionTest.cpp - the partitioner, whatever is cut ---------------===//
//
// Random programs whose ops are cut at random (RandomFactors.h), on all devices, against
// the program for one.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Devices.h"
#include "compiler/interpreter/Shards.h"
#include "test/compiler/random/RandomInputs.h"
#include "test/dialects/dist/Transforms/RandomFactors.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"
#include "test/support/RandomProgram.h"
#include "test/support/Shrink.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

namespace {
dist::MeshOp addMesh(ModuleOp module, uint64_t seed) {
  static const std::vector<std::vector<int64_t>> meshes = {{2},    {3},    {4},       {2, 2},
                                                           {2, 3}, {3, 2}, {2, 2, 2}, {1, 2}};
  ArrayRef<int64_t> sizes = meshes[seed % meshes.size()];
  SmallVector<StringAttr> names;
  for (size_t i = 0; i < sizes.size(); ++i)
    names.push_back(StringAttr::get(module.getContext(), StringRef("xyz").substr(i, 1)));
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return dist::MeshOp::create(builder, module.getLoc(), "mesh",
                              dist::MeshAttr::get(module.getContext(), names, sizes));
}

/// The function on all devices; inputs are cut as its arguments say.
std::vector<Tensor> runOnDevices(ModuleRunner &runner, ModuleOp module, TypeRange types,
                                 ArrayRef<Tensor> inputs) {
  dist::MeshAttr mesh = dist::findMesh(module).getMesh();
  auto function = module.lookupSymbol<func::FuncOp>("f");
  auto shardingOf = [&](Attribute attribute) {
    return dist::Sharding::fromAttr(cast<dist::ShardingAttr>(attribute), mesh);
  };
  interpreter::DeviceTensors arguments(mesh.getNumDevices());
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto sharding = shardingOf(function.getArgAttr(i, dist::attr::kSharding));
    for (auto [mine, part] : llvm::zip_equal(arguments, interpreter::shard(input, sharding, mesh)))
      mine.push_back(part);
  }
  std::vector<Tensor> results;
  runner.check("running on devices", [&]() -> LogicalResult {
    auto made = interpreter::evaluateOnDevices(module, "f", arguments);
    if (failed(made))
      return failure();
    for (auto [i, type] : llvm::enumerate(types)) {
      auto parts = llvm::map_to_vector(*made, [&](auto &mine) { return mine[i]; });
      auto whole = interpreter::unshard(
          function.getLoc(), parts, shardingOf(function.getResultAttr(i, dist::attr::kSharding)),
          mesh, cast<RankedTensorType>(type));
      if (failed(whole))
        return failure();
      results.push_back(*whole);
    }
    return success();
  });
  return results;
}

void checkCut(ModuleRunner &runner, uint64_t seed) {
  auto module = generateProgram(runner.context(), seed, {.floatType = "f64", .steps = 6});
  std::vector<Tensor> inputs = randomInputs(runner, *module, seed);
  runner.runPasses(*module, "minigptc-to-step,dist-decompose");
  std::vector<Tensor> expected = runner.run(*module, "f", inputs);
  auto types = SmallVector<Type>(module->lookupSymbol<func::FuncOp>("f").getResultTypes());
  dist::MeshOp mesh = addMesh(*module, seed);
  cutAtRandom(*module, mesh, seed);
  std::string before = printModule(*module), message;
  try {
    runner.runPasses(*module, "dist-check,dist-partition,dist-bucket");
    message = compareAll(runOnDevices(runner, *module, types, inputs), expected, 1e-9);
  } catch (const std::runtime_error &error) {
    message = error.what();
  }
  if (!message.empty())
    FAIL_CHECK("seed " << seed << ": " << message << "\n" << before << printModule(*module));
}
} // namespace

TEST_CASE("Ops that are cut at random compute what the whole does") {
  ModuleRunner runner;
  for (uint64_t seed = 0; seed < 2000; ++seed)
    checkCut(runner, seed);
}
