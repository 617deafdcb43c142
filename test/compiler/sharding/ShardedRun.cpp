//===- ShardedRun.cpp - a program on the devices of its mesh --------------===//
#include "test/compiler/sharding/ShardedRun.h"
#include "compiler/interpreter/Devices.h"
#include "compiler/interpreter/Shards.h"
#include "compiler/pipelines/Pipelines.h"
#include "dialects/graph/IR/Graph.h"
#include "test/compiler/random/RandomInputs.h"
#include "test/compiler/sharding/RandomShardings.h"
#include "test/compiler/sharding/Stability.h"
#include "test/support/Vjp.h"

#include <stdexcept>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

static RankedTensorType tensorType(Type type) { return cast<RankedTensorType>(type); }

ShardedRun::ShardedRun(ModuleRunner &runner, ModuleOp program, uint64_t seed, bool gradient)
    : runner(runner), module(program.clone()), seed(seed), entry(gradient ? "gradient" : "f") {
  inputs = randomInputs(runner, *module, seed);
  if (gradient) {
    for (Tensor &cotangent : randomCotangents(runner, *module, seed))
      inputs.push_back(cotangent);
    addGradientFunction(*module, floatArguments(*module));
    auto primal = module->lookupSymbol<func::FuncOp>("f");
    auto derivative = module->lookupSymbol<func::FuncOp>(entry);
    for (unsigned i = 0; i < primal.getNumArguments(); ++i)
      if (Attribute sharding = primal.removeArgAttr(i, dist::attr::kSharding))
        derivative.setArgAttr(i, dist::attr::kSharding, sharding);
    primal.setPrivate();
  }
  markEntry();
}

/// Names and, for the parameters of a gradient, donation: a gradient is returned in place of
/// what it is the gradient of, and so is stored like it.
void ShardedRun::markEntry() {
  auto function = module->lookupSymbol<func::FuncOp>(entry);
  Builder builder(module->getContext());
  function->setAttr(graph::attr::kEntry, builder.getUnitAttr());
  auto name = [&](const std::string &text) { return builder.getStringAttr(text); };
  std::vector<std::string> results;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    results.push_back("r" + std::to_string(i));
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string argument = "a" + std::to_string(i);
    for (unsigned j = 0; j < function.getNumResults(); ++j)
      if ((seed + i) % 3 == 0 && results[j][0] == 'r' &&
          function.getArgumentTypes()[i] == function.getResultTypes()[j]) {
        argument = results[j] = "state.params." + argument;
        function.setArgAttr(i, graph::attr::kDonate, builder.getI64IntegerAttr(j));
        function.setArgAttr(i, dist::attr::kStored, name(argument));
        break;
      }
    function.setArgAttr(i, graph::attr::kName, name(argument));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.setResultAttr(i, graph::attr::kName, name(results[i]));
}

static dist::Sharding shardingOf(Attribute attribute, Type type, dist::MeshAttr mesh) {
  if (!attribute)
    return dist::Sharding::replicated(tensorType(type).getRank());
  return dist::Sharding::fromAttr(cast<dist::ShardingAttr>(attribute), mesh);
}

std::vector<Tensor> ShardedRun::runOnDevices(func::FuncOp whole, ModuleOp spmd) {
  dist::MeshAttr mesh = dist::findMesh(spmd).getMesh();
  auto local = spmd.lookupSymbol<func::FuncOp>(entry);
  interpreter::DeviceTensors arguments(mesh.getNumDevices());
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto sharding = shardingOf(local.getArgAttr(i, dist::attr::kSharding), input.getType(), mesh);
    for (auto [mine, part] : llvm::zip_equal(arguments, interpreter::shard(input, sharding, mesh)))
      mine.push_back(part);
  }
  std::vector<Tensor> results;
  runner.check("running on devices", [&]() -> LogicalResult {
    auto made = interpreter::evaluateOnDevices(spmd, entry, arguments);
    if (failed(made))
      return failure();
    for (auto [i, type] : llvm::enumerate(whole.getResultTypes())) {
      auto parts = llvm::map_to_vector(*made, [&](auto &mine) { return mine[i]; });
      auto sharding = shardingOf(local.getResultAttr(i, dist::attr::kSharding), type, mesh);
      auto result = interpreter::unshard(local.getLoc(), parts, sharding, mesh, tensorType(type));
      if (failed(result))
        return emitError(local.getLoc()) << "in result " << i;
      results.push_back(*result);
    }
    return success();
  });
  return results;
}

/// To stage `step` without inlining: random functions are small.
static const char *kKeepingCalls =
    "graph-simplify-functions,graph-autodiff,func.func(canonicalize,cse),graph-simplify-functions";

std::string ShardedRun::wrong(llvm::function_ref<void(ModuleOp)> see) {
  try {
    runner.runPasses(*module, seed % 3 == 0 ? kKeepingCalls : "minigptc-to-step");
    module->getOperation()->setAttr(kStageAttr, StringAttr::get(module->getContext(), "step"));
    std::vector<Tensor> expected = runner.run(*module, entry, inputs);
    OwningOpRef<ModuleOp> spmd(module->clone());
    runner.runPasses(*spmd, "minigptc-to-shard");
    if (see)
      see(*spmd);
    runner.runPasses(*spmd, "minigptc-to-spmd");
    auto whole = module->lookupSymbol<func::FuncOp>(entry);
    std::string difference = compareAll(runOnDevices(whole, *spmd), expected, toleranceOf(*module));
    unstable = !difference.empty() && isUnstable(runner, *module, entry, inputs);
    return unstable ? "" : difference;
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}
