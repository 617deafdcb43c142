// Functions of many examples against the same functions called for each example: random
// programs, their gradients before and after, in the interpreter and compiled.
#include "dialects/graph/IR/Batching.h"
#include "mlir/IR/Verifier.h"
#include "test/compiler/random/RandomInputs.h"
#include "test/support/Compare.h"
#include "test/support/CompiledModule.h"
#include "test/support/RandomProgram.h"
#include "test/support/Vjp.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace minigptc;
using namespace minigptc::test;

namespace {

constexpr int64_t kExamples = 3;

mlir::func::FuncOp find(mlir::ModuleOp module, llvm::StringRef name) {
  return module.lookupSymbol<mlir::func::FuncOp>(name);
}

/// Adds a public function of all examples of `name`; all of its results are batched.
void addBatched(ModuleRunner &runner, mlir::ModuleOp module, const std::string &name,
                const std::string &newName, llvm::ArrayRef<bool> isBatched) {
  runner.check("vmap", [&]() -> llvm::LogicalResult {
    int number = 0;
    graph::Batcher batcher(module, kExamples, "",
                           [&](mlir::func::FuncOp function, llvm::StringRef) {
                             function.setSymName("batched_" + std::to_string(number++) + newName);
                             module.push_back(function);
                             return function;
                           });
    mlir::func::FuncOp function = find(module, name);
    auto all =
        batcher.batch(function, isBatched, llvm::SmallVector<bool>(function.getNumResults(), true));
    if (failed(all))
      return llvm::failure();
    all->function.setPublic();
    all->function.setSymName(newName);
    return mlir::verify(module);
  });
}

/// The elements of example k of [B, …], and of tensors of all examples.
Tensor exampleOf(const Tensor &all, int64_t k) {
  Tensor one(
      mlir::RankedTensorType::get(all.getShape().drop_front(), all.getType().getElementType()));
  int64_t count = one.getNumElements();
  bool isFloat = mlir::isa<mlir::FloatType>(one.getType().getElementType());
  for (int64_t i = 0; i < count; ++i)
    if (isFloat)
      one.setFloat(i, all.getFloat(k * count + i));
    else
      one.setInt(i, all.getInt(k * count + i));
  return one;
}
Tensor together(llvm::ArrayRef<Tensor> examples) {
  llvm::SmallVector<int64_t> shape{int64_t(examples.size())};
  llvm::append_range(shape, examples[0].getShape());
  mlir::Type element = examples[0].getType().getElementType();
  Tensor all(mlir::RankedTensorType::get(shape, element));
  int64_t next = 0;
  for (const Tensor &example : examples)
    for (int64_t i = 0; i < example.getNumElements(); ++i, ++next)
      if (mlir::isa<mlir::FloatType>(element))
        all.setFloat(next, example.getFloat(i));
      else
        all.setInt(next, example.getInt(i));
  return all;
}

/// Which arguments are batched: all for every other seed, else some.
llvm::SmallVector<bool> randomFlags(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  llvm::SmallVector<bool> flags;
  for (size_t i = 0; i < count; ++i)
    flags.push_back(seed % 2 == 0 || random() % 2 == 0);
  if (count && !llvm::is_contained(flags, true))
    flags[random() % count] = true;
  return flags;
}

/// Arguments of each example, and of all.
struct Arguments {
  std::vector<std::vector<Tensor>> examples;
  std::vector<Tensor> all;
};
Arguments argumentsOf(llvm::ArrayRef<std::vector<Tensor>> random, llvm::ArrayRef<bool> flags) {
  Arguments made;
  made.examples.resize(kExamples);
  for (size_t i = 0; i < flags.size(); ++i) {
    std::vector<Tensor> each;
    for (int64_t k = 0; k < kExamples; ++k) {
      each.push_back(random[size_t(flags[i] ? k : 0)][i]);
      made.examples[size_t(k)].push_back(each.back());
    }
    made.all.push_back(flags[i] ? together(each) : each[0]);
  }
  return made;
}

std::vector<std::vector<Tensor>> inputsOfExamples(ModuleRunner &runner, mlir::ModuleOp module,
                                                  uint64_t seed, bool cotangents) {
  std::vector<std::vector<Tensor>> random;
  for (int64_t k = 0; k < kExamples; ++k) {
    random.push_back(randomInputs(runner, module, seed + 7919 * uint64_t(k)));
    if (cotangents)
      for (const Tensor &t : randomCotangents(runner, module, seed + 7919 * uint64_t(k)))
        random.back().push_back(t);
  }
  return random;
}

/// What a loop over the examples gives.
std::vector<Tensor> loop(ModuleRunner &runner, mlir::ModuleOp module, const std::string &name,
                         const Arguments &arguments) {
  std::vector<std::vector<Tensor>> results;
  for (const std::vector<Tensor> &example : arguments.examples)
    results.push_back(runner.run(module, name, example));
  std::vector<Tensor> all;
  for (size_t i = 0; i < results[0].size(); ++i) {
    std::vector<Tensor> each;
    for (const std::vector<Tensor> &result : results)
      each.push_back(result[i]);
    all.push_back(together(each));
  }
  return all;
}

/// What is wrong with the program, or with its gradient function, for many examples.
std::string wrongBatched(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed, bool gradient,
                         double relative) {
  try {
    mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
    std::string name = gradient ? "gradient" : "f";
    if (gradient)
      addGradientFunction(*copy, floatArguments(*copy));
    auto flags = randomFlags(find(*copy, name).getNumArguments(), seed);
    Arguments arguments = argumentsOf(inputsOfExamples(runner, *copy, seed, gradient), flags);
    addBatched(runner, *copy, name, "all", flags);
    if (gradient)
      runner.runPasses(*copy, "graph-autodiff");
    return compareAll(runner.run(*copy, "all", arguments.all), loop(runner, *copy, name, arguments),
                      relative);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}

/// The gradient of what is made for many examples: of an argument that all share, the sum.
std::string wrongGradientOfBatched(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed) {
  try {
    mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
    std::vector<int64_t> wrt = floatArguments(*copy);
    size_t count = find(*copy, "f").getNumArguments(), outputs = find(*copy, "f").getNumResults();
    auto flags = randomFlags(count, seed);
    flags.append(outputs, true); // cotangents
    Arguments arguments = argumentsOf(inputsOfExamples(runner, *copy, seed, true), flags);
    mlir::OwningOpRef<mlir::ModuleOp> one(copy->clone());
    addGradientFunction(*one, wrt);
    runner.runPasses(*one, "graph-autodiff");
    std::vector<Tensor> expected = loop(runner, *one, "gradient", arguments);
    for (auto [i, number] : llvm::enumerate(wrt)) {
      Tensor &gradient = expected[outputs + i];
      if (flags[size_t(number)])
        continue;
      Tensor sum = exampleOf(gradient, 0);
      for (int64_t k = 1; k < kExamples; ++k)
        for (int64_t e = 0; e < sum.getNumElements(); ++e)
          sum.setFloat(e, sum.getFloat(e) + exampleOf(gradient, k).getFloat(e));
      gradient = sum;
    }
    addBatched(runner, *copy, "f", "all", llvm::ArrayRef<bool>(flags).take_front(count));
    find(*copy, "f").setSymName("example");
    find(*copy, "all").setSymName("f");
    addGradientFunction(*copy, wrt);
    runner.runPasses(*copy, "graph-autodiff");
    return compareAll(runner.run(*copy, "gradient", arguments.all), expected, 1e-8);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}

/// Ops of later stages, of which no traced program has one, and what is no computation.
bool isExempt(llvm::StringRef op) {
  static const std::set<llvm::StringRef> ops = {
      "graph.dot_accumulate", "graph.dot_bias", "graph.dot_sums", "graph.fusion",
      "graph.yield",          "dist.mesh",      "dist.reshard",   "dist.wait",
      "dist.transfer",        "dist.share",     "dist.send",      "dist.recv",
      "dist.absent"};
  return ops.count(op);
}

} // namespace

TEST_CASE("every op that a traced program may have works on many examples") {
  ModuleRunner runner;
  int count = 0;
  for (mlir::RegisteredOperationName op : runner.context().getRegisteredOperations()) {
    llvm::StringRef dialect = op.getDialectNamespace();
    if (dialect != "graph" && dialect != "dist" && op.getStringRef() != "func.call")
      continue;
    INFO(op.getStringRef().str());
    CHECK(op.hasInterface<graph::BatchableOp>() != isExempt(op.getStringRef()));
    ++count;
  }
  CHECK(count > 90);
}

TEST_CASE("random programs of many examples are those of each") {
  ModuleRunner runner;
  Coverage coverage;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    auto module = generateProgram(runner.context(), seed, {.floatType = seed % 3 ? "f64" : "f32"});
    coverage.add(*module);
    checkProgram(*module, seed, [&](mlir::ModuleOp m) {
      return wrongBatched(runner, m, seed, false, seed % 3 ? 1e-9 : 2e-4);
    });
  }
  for (const char *op : {"gather", "scatter", "dynamic_slice", "dynamic_update_slice", "pad",
                         "random_bits", "fold_in", "dropout", "attention", "rope", "dot_general",
                         "linear_cross_entropy", "adamw_update", "embedding"}) {
    INFO(op);
    CHECK(coverage.count(std::string("graph.") + op) > 0);
  }
}

TEST_CASE("random gradients of many examples are those of each") {
  ModuleRunner runner;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    auto module = generateProgram(runner.context(), seed,
                                  {.floatType = "f64", .steps = 6, .differentiable = true});
    checkProgram(*module, seed,
                 [&](mlir::ModuleOp m) { return wrongBatched(runner, m, seed, true, 1e-8); });
    checkProgram(*module, seed,
                 [&](mlir::ModuleOp m) { return wrongGradientOfBatched(runner, m, seed); });
  }
}

TEST_CASE("random programs of many examples, compiled") {
  ModuleRunner runner;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    auto module = generateProgram(runner.context(), seed, {.floatType = "f32", .steps = 12});
    checkProgram(*module, seed, [&](mlir::ModuleOp m) -> std::string {
      try {
        mlir::OwningOpRef<mlir::ModuleOp> copy(m.clone());
        auto flags = randomFlags(find(*copy, "f").getNumArguments(), seed);
        Arguments arguments = argumentsOf(inputsOfExamples(runner, *copy, seed, false), flags);
        addBatched(runner, *copy, "f", "all", flags);
        std::vector<Tensor> expected = runner.run(*copy, "all", arguments.all);
        find(*copy, "f").erase();
        return compareAll(CompiledModule(*copy).run("all", arguments.all), expected, 3e-4);
      } catch (const std::runtime_error &error) {
        return error.what();
      }
    });
  }
}
