// The CUDA kernels that models, modes and precisions are made of, at small odd sizes: in the
// emulator, under several orders of threads, against the interpreter; and each barrier, bounds
// test and shuffle of them made wrong, which must be noticed or change nothing.
//
//   kernel_proof_test --models 2                       # the kernels of the first models
//   kernel_proof_test                                  # all kernels
//   kernel_proof_test --mutations --every 40           # each 40th edit
//   kernel_proof_test --mutations --seconds 3600 --list  # and names those that change nothing
//   kernel_proof_test --kernel multiply_reduce         # kernels with such names only
#define CATCH_CONFIG_RUNNER
#include "compiler/pipelines/Pipelines.h"
#include "compiler/target/common/KernelText.h"
#include "dialects/exec/IR/Exec.h"
#include "test/compiler/target/cuda/KernelCase.h"
#include "test/compiler/target/cuda/ModelCases.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <set>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;
using namespace minigptc::cuda::emulation;

namespace {
struct Options {
  uint64_t firstModel = 0, models = ~uint64_t(0), seeds = 4, every = 1;
  double seconds = 1e9;
  std::string kernel;
  bool mutations = false, list = false, barriers = false;
} options;

/// How the edits of a kind came out.
struct Count {
  int all = 0, tried = 0, reported = 0, differs = 0, idle = 0, harmless = 0;
};

const std::pair<MutationKind, const char *> kKinds[] = {
    {MutationKind::removeBarrier, "barrier of the block removed"},
    {MutationKind::removeWarpBarrier, "barrier of the warp removed"},
    {MutationKind::openGuard, "guard opened"},
    {MutationKind::raiseBound, "bound raised"},
    {MutationKind::lowerBound, "bound lowered"},
    {MutationKind::changeShuffle, "shuffle's lane changed"},
    {MutationKind::waitLess, "wait for copies cut short"}};

const auto started = std::chrono::steady_clock::now();
bool timeIsUp() {
  return std::chrono::steady_clock::now() - started > std::chrono::duration<double>(options.seconds);
}
} // namespace

/// How many groups some launch of each kernel has, at the most.
static llvm::StringMap<int64_t> findGroups(ModuleOp module) {
  llvm::StringMap<int64_t> groups;
  module.walk([&](exec::LaunchOp launch) {
    int64_t &most = groups[launch.getKernel()];
    most = std::max<int64_t>(most, int64_t(launch.getGroups()));
  });
  return groups;
}

/// Calls `visit(model, kernel, groups)` for every distinct kernel of the chosen models; two
/// groups stand for many.
static void forKernels(
    llvm::function_ref<void(const ModelCase &, func::FuncOp, int64_t)> visit) {
  std::set<std::pair<std::string, bool>> known;
  std::vector<ModelCase> models = modelCases();
  DialectRegistry registry;
  registerAllDialects(registry);
  for (uint64_t i = options.firstModel; i < models.size() && i - options.firstModel < options.models;
       ++i) {
    INFO(models[i].name);
    MLIRContext context(registry);
    context.loadAllAvailableDialects();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(blocksOf(models[i]), &context);
    REQUIRE(module);
    llvm::StringMap<int64_t> groups = findGroups(*module);
    for (func::FuncOp kernel : target::findKernels(*module)) {
      if (timeIsUp())
        return;
      if (!kernel.getSymName().contains(options.kernel))
        continue;
      bool grouped = groups.lookup(kernel.getSymName()) > 1;
      if (known.insert({target::printKernel(kernel), grouped}).second)
        visit(models[i], kernel, grouped ? 2 : 1);
    }
  }
}

TEST_CASE("kernels of the models in the emulator", "[values]") {
  if (options.mutations)
    return;
  std::mt19937 generator(7);
  std::map<std::string, int> kinds;
  uint64_t threads = 0;
  int kernels = 0;
  forKernels([&](const ModelCase &model, func::FuncOp function, int64_t groups) {
    INFO(model.name << "\n" << target::printKernel(function));
    KernelCase kernel(function, groups, /*sets=*/1, generator);
    INFO(kernel.refusal());
    REQUIRE(kernel.refusal().empty());
    EmulatedKernels code(llvm::CloneModule(kernel.module()));
    std::vector<unsigned char> first;
    for (uint64_t seed = 0; seed < options.seeds; ++seed) {
      Outcome outcome = kernel.run(code, seed);
      threads += outcome.report.threads;
      INFO((outcome.report.clean() ? "" : outcome.report.findings.front().toString()));
      REQUIRE(outcome.report.clean());
      if (seed == 0) {
        first = outcome.results;
        REQUIRE(kernel.difference(first) == "");
      }
      INFO("under order " << seed);
      REQUIRE((outcome.results == first));
    }
    ++kinds[(kernel.plan().kind() + (groups > 1 ? ", grouped" : "")).str()];
    ++kernels;
  });
  std::cout << kernels << " kernels, " << threads << " threads emulated";
  for (auto [kind, count] : kinds)
    std::cout << "; " << kind << ": " << count;
  std::cout << "\n";
  CHECK(kernels > 20);
}

static bool isBarrier(MutationKind kind) {
  return kind == MutationKind::removeBarrier || kind == MutationKind::removeWarpBarrier;
}

static void add(Count &count, const Judgement &judged, const std::string &where) {
  INFO(judged.mutation.description);
  ++count.tried;
  switch (judged.verdict) {
  case Verdict::reported:
  case Verdict::sometimes: ++count.reported; break;
  case Verdict::differs: ++count.differs; break;
  case Verdict::idle: ++count.idle; break;
  case Verdict::harmless: ++count.harmless; break;
  }
  // Without a barrier that matters, results may be right by luck: not so the report, which
  // needs no luck.
  if (isBarrier(judged.mutation.kind))
    CHECK(judged.verdict != Verdict::differs);
  if (options.list && judged.verdict == Verdict::harmless)
    std::cout << "changes nothing: " << where << ": " << judged.mutation.description << "\n";
}

static void print(const std::map<MutationKind, Count> &counts) {
  std::cout << "edit | all | tried | reported | other results | no thread decides otherwise | "
               "same bits\n";
  for (auto [kind, name] : kKinds)
    if (auto found = counts.find(kind); found != counts.end()) {
      const Count &count = found->second;
      std::cout << name << " | " << count.all << " | " << count.tried << " | " << count.reported
                << " | " << count.differs << " | " << count.idle << " | " << count.harmless << "\n";
    }
}

TEST_CASE("kernels of the models made wrong", "[mutations]") {
  if (!options.mutations)
    return;
  std::mt19937 generator(7);
  std::map<MutationKind, Count> counts;
  int kernels = 0;
  uint64_t edits = 0;
  forKernels([&](const ModelCase &model, func::FuncOp function, int64_t groups) {
    KernelCase kernel(function, groups, /*sets=*/2, generator);
    INFO(model.name << "\n" << target::printKernel(function));
    REQUIRE(kernel.refusal().empty());
    EmulatedKernels right(llvm::CloneModule(kernel.module()));
    kernel.shareMemory(right, options.seeds);
    // Other inputs, and results in the memory of inputs, which needs more barriers.
    auto run = [&](EmulatedKernels &code, uint64_t seed) {
      return kernel.run(code, seed, seed % 2, seed / 2 % 2);
    };
    auto wanted = [&](const KernelMutation &mutation) {
      ++counts[mutation.kind].all;
      return (options.barriers && isBarrier(mutation.kind)) || edits++ % options.every == 0;
    };
    std::string where = (function.getSymName() + " (" + kernel.plan().kind() + ")").str();
    for (const Judgement &judged : judgeMutations(kernel.module(), run, options.seeds, wanted))
      add(counts[judged.mutation.kind], judged, where);
    ++kernels;
  });
  std::cout << kernels << " kernels\n";
  print(counts);
  CHECK(llvm::count_if(counts, [](const auto &kind) { return kind.second.tried > 0; }) >= 5);
  // Half of the barriers order nothing at these sizes: see docs/design/cuda.md.
  Count barriers = counts[MutationKind::removeBarrier];
  CHECK(barriers.reported >= 1);
  CHECK(barriers.harmless <= barriers.reported);
}

int main(int argc, char **argv) {
  Catch::Session session;
  using namespace Catch::clara;
  auto cli = session.cli() |
             Opt(options.firstModel, "n")["--first-model"]("the first model") |
             Opt(options.models, "n")["--models"]("so many models") |
             Opt(options.seeds, "n")["--orders"]("so many orders of threads") |
             Opt(options.mutations)["--mutations"]("wrong kernels instead of right ones") |
             Opt(options.every, "n")["--every"]("each nth edit") |
             Opt(options.barriers)["--barriers"]("all barriers nevertheless") |
             Opt(options.seconds, "s")["--seconds"]("no further kernel after so many") |
             Opt(options.kernel, "name")["--kernel"]("only kernels whose names contain this") |
             Opt(options.list)["--list"]("name the edits that change nothing");
  session.cli(cli);
  if (int status = session.applyCommandLine(argc, argv))
    return status;
  return session.run();
}
