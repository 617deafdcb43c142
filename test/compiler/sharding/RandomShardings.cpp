//===- RandomShardings.cpp - random meshes and annotations ----------------===//
#include "test/compiler/sharding/RandomShardings.h"
#include "dialects/graph/IR/Graph.h"
#include "test/compiler/sharding/RandomLoop.h"
#include "test/compiler/sharding/SummedChain.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

static int64_t number(std::mt19937_64 &random, int64_t low, int64_t high) {
  return low + int64_t(random() % uint64_t(high - low + 1));
}

static bool chance(std::mt19937_64 &random, double probability) {
  return double(random() >> 11) * 0x1p-53 < probability;
}

static dist::MeshAttr randomMesh(std::mt19937_64 &random, MLIRContext *context) {
  static const std::vector<std::vector<int64_t>> meshes = {
      {2},    {2},    {2},    {3},       {4},       {4},       {5},       {6},
      {8},    {7},    {1},    {2, 2},    {2, 2},    {2, 3},    {3, 2},    {4, 2},
      {2, 4}, {1, 2}, {2, 1}, {2, 2, 2}, {2, 2, 2}, {1, 3, 2}, {2, 1, 3}, {2, 3, 2}};
  const std::vector<int64_t> &sizes = meshes[size_t(number(random, 0, int64_t(meshes.size()) - 1))];
  SmallVector<StringAttr> names;
  for (size_t i = 0; i < sizes.size(); ++i)
    names.push_back(StringAttr::get(context, StringRef("xyz").substr(i, 1)));
  return dist::MeshAttr::get(context, names, sizes);
}

dist::Sharding test::randomSharding(std::mt19937_64 &random, RankedTensorType type,
                                    dist::MeshAttr mesh, const AnnotationOptions &options) {
  auto sharding = dist::Sharding::replicated(type.getRank());
  auto fits = [&](int64_t size, int64_t parts) {
    return options.even ? size % parts == 0 : size >= parts;
  };
  SmallVector<unsigned> axes = llvm::to_vector(llvm::seq<unsigned>(0, mesh.getSizes().size()));
  std::shuffle(axes.begin(), axes.end(), random);
  for (unsigned axis : axes) {
    if (type.getRank() == 0 || chance(random, 0.25))
      continue;
    for (int attempt = 0; attempt < 4; ++attempt) {
      unsigned dim = unsigned(number(random, 0, type.getRank() - 1));
      int64_t parts = mesh.getSize(sharding.dims[dim]) * mesh.getSizes()[axis];
      if (!fits(type.getDimSize(dim), parts))
        continue;
      sharding.dims[dim].push_back(axis);
      break;
    }
  }
  return sharding;
}

/// Some dimensions open, and some axes that are not to be added to them.
static dist::ShardingAttr annotation(std::mt19937_64 &random, const dist::Sharding &sharding,
                                     dist::MeshOp mesh) {
  auto freedom = dist::Freedom::none(sharding.dims.size());
  if (chance(random, 0.7))
    return sharding.toAttr(mesh, freedom);
  for (bool &open : freedom.open)
    open = chance(random, 0.6);
  for (unsigned axis = 0; axis < mesh.getMesh().getNames().size(); ++axis)
    if (!sharding.uses(axis) && chance(random, 0.2))
      freedom.replicated.push_back(axis);
  return sharding.toAttr(mesh, freedom);
}

static void addConstraints(std::mt19937_64 &random, func::FuncOp function, dist::MeshOp mesh,
                           const AnnotationOptions &options) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    if (op.getNumResults() > 0)
      ops.push_back(&op);
  for (Operation *op : ops) {
    if (!chance(random, 0.1))
      continue;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value value = op->getResult(0);
    auto sharding =
        randomSharding(random, cast<RankedTensorType>(value.getType()), mesh.getMesh(), options);
    auto constraint = dist::ConstraintOp::create(builder, op->getLoc(), value,
                                                 annotation(random, sharding, mesh));
    value.replaceAllUsesExcept(constraint, constraint);
  }
}

/// Some functions forget what their backward passes read.
static void addCheckpoints(std::mt19937_64 &random, ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPrivate() && chance(random, 0.3)) {
      auto policy = chance(random, 0.5) ? graph::RematPolicy::nothing : graph::RematPolicy::dots;
      function->setAttr(graph::attr::kRemat,
                        graph::RematPolicyAttr::get(module.getContext(), policy));
    }
}

void test::annotate(ModuleOp module, uint64_t seed, const AnnotationOptions &options) {
  std::mt19937_64 random(seed * 7919 + 11);
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto mesh = dist::MeshOp::create(builder, module.getLoc(), "mesh",
                                   randomMesh(random, module.getContext()));
  auto function = module.lookupSymbol<func::FuncOp>("f");
  for (BlockArgument argument : function.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (chance(random, 0.8))
      function.setArgAttr(
          argument.getArgNumber(), dist::attr::kSharding,
          annotation(random, randomSharding(random, type, mesh.getMesh(), options), mesh));
  }
  if (chance(random, 0.3))
    addSummedChain(module, random);
  if (chance(random, 0.4))
    addLoop(module, random, options);
  addCheckpoints(random, module);
  addConstraints(random, function, mesh, options);
}
