// Sharding rules mean what they say: for every op of random programs, the op on the parts of
// a factor gives the parts of its results (or their summands), and the op on summands of its
// linear operands gives summands of its result.
#include "compiler/interpreter/Interpreter.h"
#include "compiler/interpreter/Shards.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/Verifier.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"
#include "test/support/RandomProgram.h"
#include "test/support/Shrink.h"

#include <catch2/catch.hpp>
#include <set>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;
using graph::FactorKind;
using graph::Linearity;
using graph::ShardingRule;

namespace {
using Tensors = SmallVector<Tensor>;

/// An op of a program with the values that its operands and results had in a run.
struct Occurrence {
  Operation *op;
  Tensors operands, results;
};

/// What has been compared, as "graph.add pass_through".
std::set<std::string> compared;

void remember(Operation *op, StringRef what) {
  compared.insert((op->getName().getStringRef() + " " + what).str());
}
} // namespace

static std::vector<Occurrence> runWhole(ModuleRunner &runner, ModuleOp module, uint64_t seed) {
  auto function = module.lookupSymbol<func::FuncOp>("f");
  llvm::DenseMap<Value, Tensor> values;
  for (BlockArgument argument : function.getArguments())
    values[argument] = runner.random(cast<RankedTensorType>(argument.getType()),
                                     seed * 16 + argument.getArgNumber());
  std::vector<Occurrence> occurrences;
  for (Operation &op : function.front().without_terminator()) {
    Occurrence here{&op, {}, {}};
    for (Value operand : op.getOperands())
      here.operands.push_back(values.lookup(operand));
    runner.check("evaluating", [&] {
      if (auto evaluable = dyn_cast<graph::EvaluableOp>(op))
        return evaluable.evaluate(here.operands, here.results);
      auto results =
          interpreter::evaluate(module, cast<func::CallOp>(op).getCallee(), here.operands);
      if (failed(results))
        return failure();
      here.results = *results;
      return success();
    });
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), here.results))
      values[value] = tensor;
    if (isa<graph::ShardingRuleOp>(op))
      occurrences.push_back(std::move(here));
  }
  return occurrences;
}

/// The op on operands of other types; nothing if its attributes do not fit these.
static std::optional<Tensors> evaluateLocal(ModuleRunner &runner, Operation *op,
                                            ArrayRef<Tensor> operands,
                                            ArrayRef<RankedTensorType> resultTypes) {
  Block block;
  OpBuilder builder(op->getContext());
  IRMapping mapping;
  SmallVector<Value> arguments;
  for (const Tensor &operand : operands)
    arguments.push_back(block.addArgument(operand.getType(), op->getLoc()));
  Operation *local = op->clone(Operation::CloneOptions::all());
  local->setOperands(arguments);
  for (auto [result, type] : llvm::zip_equal(local->getResults(), resultTypes))
    result.setType(type);
  block.push_back(local);
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  if (failed(verify(local)))
    return std::nullopt;
  Tensors results;
  if (failed(cast<graph::EvaluableOp>(local).evaluate(operands, results)))
    throw std::runtime_error("the local op cannot be evaluated");
  return results;
}

static bool contains(ArrayRef<graph::DimFactors> dims, unsigned factor) {
  return llvm::any_of(dims,
                      [&](const auto &factors) { return llvm::is_contained(factors, factor); });
}

/// Whether all dimensions that have the factor may be cut by it: those before it are of size 1.
static bool isMajor(const ShardingRule &rule, unsigned factor) {
  auto major = [&](ArrayRef<graph::DimFactors> dims) {
    for (const graph::DimFactors &factors : dims)
      for (unsigned other : factors) {
        if (other == factor)
          break;
        if (llvm::is_contained(factors, factor) && rule.factors[other].size > 1)
          return false;
      }
    return true;
  };
  return llvm::all_of(rule.operands, major) && llvm::all_of(rule.results, major);
}

/// Rules give every dimension factors whose sizes multiply to its own, or none.
static void checkSizes(const Occurrence &here, const ShardingRule &rule) {
  auto check = [&](ArrayRef<Tensor> tensors, const auto &dimsOf) {
    REQUIRE(tensors.size() == dimsOf.size());
    for (auto [tensor, dims] : llvm::zip_equal(tensors, dimsOf)) {
      REQUIRE(tensor.getShape().size() == dims.size());
      for (auto [size, factors] : llvm::zip_equal(tensor.getShape(), dims)) {
        int64_t product = factors.empty() ? size : 1;
        for (unsigned factor : factors)
          product *= rule.factors[factor].size;
        CHECK(product == size);
      }
    }
  };
  check(here.operands, rule.operands);
  check(here.results, rule.results);
  CHECK((rule.linear.empty() || rule.linear.size() == here.operands.size()));
}

/// The sum (max, …) of summands, by the interpreter's `reduce`.
static Tensor combine(ModuleRunner &runner, ArrayRef<Tensor> parts, graph::ReduceKind kind) {
  RankedTensorType type = parts[0].getType();
  SmallVector<int64_t> shape{1};
  llvm::append_range(shape, type.getShape());
  Tensors stacked;
  for (const Tensor &part : parts) {
    Tensor row(type.clone(shape));
    std::memcpy(row.mutableData(), part.data(), part.getNumBytes());
    stacked.push_back(row);
  }
  Tensor whole = interpreter::joined(stacked, 0);
  Block block;
  OpBuilder builder(&runner.context());
  builder.setInsertionPointToEnd(&block);
  Location loc = UnknownLoc::get(&runner.context());
  Value argument = block.addArgument(whole.getType(), loc);
  auto reduce = graph::ReduceOp::create(builder, loc, type, kind, argument, ArrayRef<int64_t>{0});
  Tensors results;
  if (failed(cast<graph::EvaluableOp>(reduce.getOperation()).evaluate({whole}, results)))
    throw std::runtime_error("cannot reduce");
  return results[0];
}

static bool isFloat(const Tensor &tensor) {
  return isa<FloatType>(tensor.getType().getElementType());
}

static std::string differs(const Tensor &actual, const Tensor &expected, double relative = 1e-9) {
  if (!isFloat(expected))
    return difference(actual, expected);
  double scale = normOf({expected});
  return difference(actual, expected,
                    {relative, relative * (1 + (std::isfinite(scale) ? scale : 0))});
}

namespace {
/// Cuts one factor of an op into equal parts.
class FactorCheck {
public:
  FactorCheck(ModuleRunner &runner, const Occurrence &here, const ShardingRule &rule,
              unsigned factor, int64_t parts)
      : runner(runner), here(here), rule(rule), factor(factor), parts(parts),
        mesh(dist::MeshAttr::get(&runner.context(), {StringAttr::get(&runner.context(), "x")},
                                 {parts})) {}

  void run() {
    std::vector<Tensors> results; // [part][result]
    for (int64_t part = 0; part < parts; ++part) {
      Tensors operands;
      for (auto [tensor, dims] : llvm::zip_equal(here.operands, rule.operands))
        operands.push_back(interpreter::shard(tensor, shardingOf(dims), mesh)[part]);
      SmallVector<RankedTensorType> types;
      for (auto [tensor, dims] : llvm::zip_equal(here.results, rule.results))
        types.push_back(shardingOf(dims).localType(tensor.getType(), mesh));
      auto made = evaluateLocal(runner, here.op, operands, types);
      if (!made)
        return; // its attributes hold sizes: `PartitionableOp`
      results.push_back(*made);
    }
    for (size_t i = 0; i < here.results.size(); ++i)
      compareResult(i, llvm::map_to_vector(results, [&](const Tensors &made) { return made[i]; }));
  }

private:
  dist::Sharding shardingOf(ArrayRef<graph::DimFactors> dims) const {
    auto sharding = dist::Sharding::replicated(dims.size());
    for (auto [axes, factors] : llvm::zip_equal(sharding.dims, dims))
      if (llvm::is_contained(factors, factor))
        axes = {0};
    return sharding;
  }

  void compareResult(size_t i, ArrayRef<Tensor> made) {
    const Tensor &expected = here.results[i];
    INFO("result " << i << ", factor " << factor << " in " << parts << " parts");
    bool summed =
        rule.factors[factor].kind == FactorKind::reduction && !contains(rule.results[i], factor);
    remember(here.op, summed ? "reduction" : "pass_through");
    if (summed) {
      CHECK(differs(combine(runner, made, rule.factors[factor].combine), expected) == "");
      return;
    }
    auto whole = interpreter::unshard(here.op->getLoc(), made, shardingOf(rule.results[i]), mesh,
                                      expected.getType());
    REQUIRE(succeeded(whole));
    CHECK(differs(*whole, expected) == "");
  }

  ModuleRunner &runner;
  const Occurrence &here;
  const ShardingRule &rule;
  unsigned factor;
  int64_t parts;
  dist::MeshAttr mesh;
};
} // namespace

/// Ops whose local program is more than the op on local tensors, though it would verify: their
/// results depend on the place in the whole tensor, or an operand counts once.
static bool needsPlace(const Occurrence &here, const ShardingRule &rule, unsigned factor) {
  if (isa<graph::IotaOp, graph::RandomBitsOp>(here.op))
    return true;
  return isa<graph::ScatterOp>(here.op) && rule.factors[factor].kind == FactorKind::reduction;
}

static void checkFactors(ModuleRunner &runner, const Occurrence &here, const ShardingRule &rule) {
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
    FactorKind kind = rule.factors[factor].kind;
    if ((kind != FactorKind::passThrough && kind != FactorKind::reduction) ||
        !isMajor(rule, factor) || needsPlace(here, rule, factor))
      continue;
    for (int64_t parts : {2, 3})
      if (rule.factors[factor].size % parts == 0)
        FactorCheck(runner, here, rule, factor, parts).run();
  }
}

/// Splits operands into summands, each as random as the other.
static void checkLinearity(ModuleRunner &runner, const Occurrence &here, const ShardingRule &rule,
                           ArrayRef<unsigned> split) {
  for (unsigned operand : split)
    if (!isFloat(here.operands[operand]))
      return;
  Tensors first = here.operands, second = here.operands;
  for (unsigned operand : split) {
    Tensor summand = runner.random(here.operands[operand].getType(), 77 + operand), rest = summand;
    for (int64_t i = 0; i < rest.getNumElements(); ++i)
      rest.setFloat(i, here.operands[operand].getFloat(i) - summand.getFloat(i));
    first[operand] = summand;
    second[operand] = rest;
  }
  Tensors a, b;
  auto evaluable = cast<graph::EvaluableOp>(here.op);
  REQUIRE(succeeded(evaluable.evaluate(first, a)));
  REQUIRE(succeeded(evaluable.evaluate(second, b)));
  bool narrow = !here.operands[split[0]].getType().getElementType().isF64();
  for (size_t i = 0; i < here.results.size(); ++i) {
    INFO("linear in operand " << split[0]);
    Tensor sum = combine(runner, {a[i], b[i]}, graph::ReduceKind::sum);
    CHECK(differs(sum, here.results[i], narrow ? 1e-6 : 1e-9) == "");
  }
  remember(here.op, "linear");
}

static void checkLinearity(ModuleRunner &runner, const Occurrence &here, const ShardingRule &rule) {
  SmallVector<unsigned> linear;
  for (unsigned operand = 0; operand < here.operands.size(); ++operand)
    if (rule.linear.empty() || rule.linear[operand])
      linear.push_back(operand);
  if (rule.linearity == Linearity::joint)
    checkLinearity(runner, here, rule, linear);
  if (rule.linearity == Linearity::each)
    for (unsigned operand : linear)
      checkLinearity(runner, here, rule, operand);
}

/// What must have been compared for the test to mean something.
static void checkCoverage(ModuleRunner &runner) {
  static const std::set<std::string> elsewhere = {
      // Partitioned by programs of their own, which are tested as such.
      "graph.constant",
      "graph.iota",
      "graph.random_bits",
      "graph.slice",
      "graph.dynamic_slice",
      "dist.manual",
      // Made by a pass; between stages elementwise.
      "graph.dot_accumulate",
      "dist.transfer",
      "dist.share",
  };
  for (RegisteredOperationName op : runner.context().getRegisteredOperations()) {
    std::string name = op.getStringRef().str();
    INFO(name);
    if (op.hasInterface<graph::ShardingRuleOp>() && !elsewhere.count(name))
      CHECK((compared.count(name + " pass_through") || compared.count(name + " reduction")));
  }
  for (const char *op : {"add",
                         "subtract",
                         "negate",
                         "multiply",
                         "divide",
                         "select",
                         "convert",
                         "broadcast_in_dim",
                         "reshape",
                         "transpose",
                         "slice",
                         "dynamic_slice",
                         "dynamic_update_slice",
                         "concatenate",
                         "pad",
                         "reduce",
                         "dot_general",
                         "gather",
                         "scatter",
                         "rope",
                         "embedding"})
    CHECK(compared.count("graph." + std::string(op) + " linear"));
  for (const char *op : {"reduce", "dot_general", "attention_grad", "linear_cross_entropy"})
    CHECK(compared.count("graph." + std::string(op) + " reduction"));
}

TEST_CASE("Rules of the ops of random programs") {
  ModuleRunner runner;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    auto module = generateProgram(runner.context(), seed, {.floatType = "f64", .steps = 12});
    for (const Occurrence &here : runWhole(runner, *module, seed)) {
      std::string text;
      llvm::raw_string_ostream(text) << *here.op;
      INFO("seed " << seed << ": " << text);
      ShardingRule rule = cast<graph::ShardingRuleOp>(here.op).getShardingRule();
      checkSizes(here, rule);
      checkFactors(runner, here, rule);
      checkLinearity(runner, here, rule);
    }
  }
  checkCoverage(runner);
}
