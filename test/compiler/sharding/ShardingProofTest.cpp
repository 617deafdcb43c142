// Partitioned programs compute what the program for one device does: random programs, forward
// and gradients, on random meshes with random annotations. A failure prints the seed and the
// smallest program that still fails.
//
//   sharding_proof_test --first 0 --cases 6000      # the test
//   sharding_proof_test --hours 1                   # as many as go into an hour, with a line a
//   minute sharding_proof_test --first 7 --cases 1 --print # program 7, as text, too
#define CATCH_CONFIG_RUNNER
#include "test/compiler/sharding/RandomShardings.h"
#include "test/compiler/sharding/ShardedRun.h"
#include "test/compiler/sharding/ShardingCoverage.h"
#include "test/support/BatchedProgram.h"
#include "test/support/RandomProgram.h"
#include "test/support/Shrink.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>

using namespace minigptc;
using namespace minigptc::test;

namespace {
struct Options {
  uint64_t first = 0, cases = 1000;
  double hours = 0; ///< overrides `cases`
  bool print = false;
} options;

/// Shrinking takes many runs: a few are enough to see what is wrong.
constexpr int kShrunk = 3;
constexpr uint64_t kProgramsPerContext = 200;
} // namespace

/// Annotations are taken away one by one as long as the program still fails.
static void dropAnnotations(mlir::OwningOpRef<mlir::ModuleOp> &module,
                            llvm::function_ref<bool(mlir::ModuleOp)> fails) {
  auto tryWithout = [&](auto drop) {
    mlir::OwningOpRef<mlir::ModuleOp> copy(module->clone());
    drop(copy->lookupSymbol<mlir::func::FuncOp>("f"));
    if (fails(*copy))
      module = std::move(copy);
  };
  auto function = [&] { return module->lookupSymbol<mlir::func::FuncOp>("f"); };
  for (unsigned i = 0, count = function().getNumArguments(); i < count; ++i)
    tryWithout([&](mlir::func::FuncOp f) { f.removeArgAttr(i, dist::attr::kSharding); });
  auto constraints = [](mlir::func::FuncOp f) {
    return llvm::to_vector(f.getOps<dist::ConstraintOp>());
  };
  for (size_t i = constraints(function()).size(); i-- > 0;)
    tryWithout([&](mlir::func::FuncOp f) {
      dist::ConstraintOp op = constraints(f)[i];
      op.getResult().replaceAllUsesWith(op.getInput());
      op.erase();
    });
}

static void report(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed, bool gradient,
                   const std::string &message) {
  static int shrunk = 0;
  std::string what = "seed " + std::to_string(seed) + (gradient ? ", gradient: " : ": ") + message;
  if (++shrunk > kShrunk) {
    FAIL_CHECK(what);
    return;
  }
  auto fails = [&](mlir::ModuleOp m) {
    return !ShardedRun(runner, m, seed, gradient).wrong().empty();
  };
  auto smallest = shrinkProgram(module, fails);
  dropAnnotations(smallest, fails);
  FAIL_CHECK(what << "\nat its smallest: " << ShardedRun(runner, *smallest, seed, gradient).wrong()
                  << "\n"
                  << printModule(*smallest));
}

/// Most are of f64, where the least mistake shows.
static std::string floatTypeOf(uint64_t seed) {
  static const char *const others[] = {"f32", "bf16", "f32", "f16", "f32", "bf16"};
  return seed % 16 < 10 ? "f64" : others[seed % 16 - 10];
}

/// Failures after which more of them tell nothing new.
static constexpr uint64_t kEnough = 10;

namespace {
struct Counts {
  uint64_t programs = 0, failures = 0;
  uint64_t jumps = 0; ///< programs that rounding decides; too few to hide a mistake
};
std::ostream &operator<<(std::ostream &os, const Counts &counts) {
  return os << counts.programs << " programs, " << counts.failures << " failures, " << counts.jumps
            << " that jump";
}
} // namespace

static void checkCase(ModuleRunner &runner, uint64_t seed, ShardingCoverage &coverage,
                      Counts &counts) {
  bool gradient = seed % 2 == 1;
  auto module = generateProgram(runner.context(), seed,
                                {.floatType = floatTypeOf(seed),
                                 .steps = gradient ? 5 : 7,
                                 .differentiable = gradient,
                                 .callTwice = true});
  if (seed % 10 == 4 || seed % 10 == 5)
    batchProgram(*module, seed);
  annotate(*module, seed, {.even = seed % 5 < 3, .differentiable = gradient});
  if (options.print)
    std::cout << printModule(*module) << std::endl;
  ShardedRun run(runner, *module, seed, gradient);
  std::string message = run.wrong([&](mlir::ModuleOp shard) { coverage.add(shard); });
  ++counts.programs;
  counts.jumps += run.isJump();
  if (message.empty())
    return;
  ++counts.failures;
  report(runner, *module, seed, gradient, message);
}

TEST_CASE("Partitioned programs compute what the whole does") {
  // A context keeps every type and attribute that it has seen: from time to time a new one.
  std::unique_ptr<ModuleRunner> runner;
  ShardingCoverage coverage;
  auto start = std::chrono::steady_clock::now();
  Counts counts;
  auto goesOn = [&] {
    if (counts.failures == kEnough)
      return false;
    std::chrono::duration<double, std::ratio<3600>> passed =
        std::chrono::steady_clock::now() - start;
    return options.hours > 0 ? passed.count() < options.hours : counts.programs < options.cases;
  };
  auto lastLine = start;
  while (goesOn()) {
    if (counts.programs % kProgramsPerContext == 0) {
      runner = std::make_unique<ModuleRunner>();
      runner->context().printOpOnDiagnostic(false);
    }
    checkCase(*runner, options.first + counts.programs, coverage, counts);
    if (auto now = std::chrono::steady_clock::now(); now - lastLine >= std::chrono::minutes(1)) {
      std::cout << counts << std::endl;
      lastLine = now;
    }
  }
  std::cout << coverage.toString() << counts << ", from seed " << options.first << "\n";
  CHECK(counts.jumps <= 2 + counts.programs / 500);
  if (counts.programs >= 6000) // enough for all of them
    for (const std::string &cell : coverage.emptyCells())
      FAIL_CHECK("no program had " << cell);
}

int main(int argc, char **argv) {
  Catch::Session session;
  using Catch::clara::Opt;
  session.cli(session.cli() | Opt(options.first, "seed")["--first"]("the first program") |
              Opt(options.cases, "number")["--cases"]("how many programs") |
              Opt(options.hours, "hours")["--hours"]("run that long instead") |
              Opt(options.print)["--print"]("print each program first"));
  if (int status = session.applyCommandLine(argc, argv))
    return status;
  return session.run();
}
