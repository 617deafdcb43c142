// Random programs and their gradients, compiled against interpreted. Programs are
// compiled many at a time; one that differs is compiled alone to be shrunk.
//
//   compiled_program_test                                       # for the CPU
//   compiled_program_test --target cuda:test --cases 50         # fewer, on the emulated GPU
//   compiled_program_test --target cuda:test --seconds 3600 --first 100000
#define CATCH_CONFIG_RUNNER
#include "dialects/graph/IR/Graph.h"
#include "test/compiler/random/RandomInputs.h"
#include "test/support/CompiledModule.h"
#include "test/support/RandomProgram.h"
#include "test/support/Vjp.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>

using namespace minigptc::test;

namespace {
struct Options {
  std::string target = "cpu";
  uint64_t first = 0, cases = 0; ///< cases: of each test; 0: as many as it says
  double seconds = 0;            ///< of each test, overrides `cases`
} options;

/// What the compiler refuses costs its neighbours a compilation each.
uint64_t batchSize() { return options.target == "cpu" ? 50 : 10; }

/// A program, the function of it that is run, and what it must give.
struct Expectation {
  uint64_t seed;
  mlir::OwningOpRef<mlir::ModuleOp> program; ///< with @f only
  std::vector<Tensor> arguments, results;
};

struct Settings {
  RandomProgramOptions options;
  bool gradient;
  double relative;
  std::string entry() const { return gradient ? "gradient" : "f"; }
};
} // namespace

/// The program with @gradient if that is asked for.
static mlir::OwningOpRef<mlir::ModuleOp> prepared(mlir::ModuleOp program,
                                                  const Settings &settings) {
  mlir::OwningOpRef<mlir::ModuleOp> copy(program.clone());
  if (settings.gradient)
    addGradientFunction(*copy, floatArguments(program));
  return copy;
}

static Expectation expect(ModuleRunner &runner, mlir::ModuleOp program, uint64_t seed,
                          const Settings &settings) {
  Expectation expectation{seed, mlir::OwningOpRef<mlir::ModuleOp>(program.clone()), {}, {}};
  expectation.arguments = randomInputs(runner, program, seed);
  auto module = prepared(program, settings);
  if (settings.gradient) {
    for (Tensor &cotangent : randomCotangents(runner, program, seed))
      expectation.arguments.push_back(cotangent);
    runner.runPasses(*module, "graph-autodiff");
  }
  expectation.results = runner.run(*module, settings.entry(), expectation.arguments);
  return expectation;
}

/// GPUs have no code for some functions, most of f64.
static bool isRefusal(const std::string &message) {
  return options.target != "cpu" && message.find("no CUDA code for ") != std::string::npos;
}

/// What is wrong with the program, compiled alone.
static std::string wrongAlone(ModuleRunner &runner, mlir::ModuleOp program, uint64_t seed,
                              const Settings &settings) {
  try {
    Expectation expectation = expect(runner, program, seed, settings);
    CompiledModule compiled(*prepared(program, settings), options.target);
    return compareAll(compiled.run(settings.entry(), expectation.arguments), expectation.results,
                      settings.relative);
  } catch (const std::runtime_error &error) {
    return isRefusal(error.what()) ? "" : error.what();
  }
}

/// What is wrong with a program of a compiled batch.
static std::string wrongInBatch(CompiledModule &compiled, const Expectation &expectation,
                                const Settings &settings) {
  try {
    std::string entry = settings.entry() + "_" + std::to_string(expectation.seed);
    return compareAll(compiled.run(entry, expectation.arguments), expectation.results,
                      settings.relative);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}

static void checkBatch(ModuleRunner &runner, uint64_t first, const Settings &settings,
                       Coverage &coverage) {
  std::vector<Expectation> expectations;
  mlir::OwningOpRef<mlir::ModuleOp> batch =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&runner.context()));
  for (uint64_t seed = first; seed < first + batchSize(); ++seed) {
    auto program = generateProgram(runner.context(), seed, settings.options);
    coverage.add(*program);
    expectations.push_back(expect(runner, *program, seed, settings));
    moveFunctions(*prepared(*program, settings), *batch, "_" + std::to_string(seed));
  }
  auto checkAlone = [&](const Expectation &expectation) {
    checkProgram(*expectation.program, expectation.seed, [&](mlir::ModuleOp m) {
      return wrongAlone(runner, m, expectation.seed, settings);
    });
  };
  std::optional<CompiledModule> compiled;
  try {
    compiled.emplace(*batch, options.target);
  } catch (const std::runtime_error &) {
    for (const Expectation &expectation : expectations)
      checkAlone(expectation);
    return;
  }
  for (const Expectation &expectation : expectations)
    if (std::string message = wrongInBatch(*compiled, expectation, settings); !message.empty()) {
      checkAlone(expectation);
      FAIL_CHECK("seed " << expectation.seed << " among others: " << message);
    }
}

static void checkPrograms(uint64_t count, const Settings &settings) {
  ModuleRunner runner;
  Coverage coverage;
  auto begin = std::chrono::steady_clock::now();
  auto goesOn = [&](uint64_t done) {
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return options.seconds > 0 ? spent.count() < options.seconds
                               : done < (options.cases > 0 ? options.cases : count);
  };
  uint64_t done = 0;
  for (; goesOn(done); done += batchSize())
    checkBatch(runner, options.first + done, settings, coverage);
  std::cout << done << " programs of " << settings.options.floatType
            << (settings.gradient ? ", gradients" : "") << ", on " << options.target << "\n"
            << coverage.toString();
  CHECK(coverage.count("graph.dot_general", settings.options.floatType) > 0);
}

TEST_CASE("Random programs compute what the interpreter does: f32") {
  checkPrograms(200, {{.floatType = "f32"}, /*gradient=*/false, 1e-4});
}

TEST_CASE("Random programs compute what the interpreter does: f64") {
  checkPrograms(200, {{.floatType = "f64"}, /*gradient=*/false, 1e-6});
}

TEST_CASE("Random programs compute what the interpreter does: bf16") {
  checkPrograms(200, {{.floatType = "bf16"}, /*gradient=*/false, 0.05});
}

TEST_CASE("Gradients of random programs are what the interpreter computes: bf16") {
  checkPrograms(
      200, {{.floatType = "bf16", .steps = 6, .differentiable = true}, /*gradient=*/true, 0.1});
}

TEST_CASE("Gradients of random programs are what the interpreter computes: f32") {
  checkPrograms(
      800, {{.floatType = "f32", .steps = 6, .differentiable = true}, /*gradient=*/true, 2e-4});
}

TEST_CASE("Gradients of random programs are what the interpreter computes: f64") {
  checkPrograms(
      200, {{.floatType = "f64", .steps = 6, .differentiable = true}, /*gradient=*/true, 1e-6});
}

int main(int argc, char **argv) {
  Catch::Session session;
  using namespace Catch::clara;
  auto cli = session.cli() | Opt(options.target, "name")["--target"]("cpu or cuda:test") |
             Opt(options.first, "n")["--first"]("the first program") |
             Opt(options.cases, "n")["--cases"]("programs of each test") |
             Opt(options.seconds, "s")["--seconds"]("of each test, however many programs");
  session.cli(cli);
  if (int status = session.applyCommandLine(argc, argv))
    return status;
  return session.run();
}
