#include "test/compiler/target/cuda/MutationJudge.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <catch2/catch.hpp>

using namespace minigptc;
using namespace minigptc::test;
using namespace minigptc::cuda::emulation;

static Verdict judge(std::unique_ptr<llvm::Module> module, const RunKernel &run, uint64_t seeds,
                     const std::vector<std::vector<unsigned char>> &expected) {
  EmulatedKernels kernels(std::move(module));
  uint64_t reported = 0;
  bool differs = false;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Outcome outcome = run(kernels, seed);
    reported += !outcome.report.clean();
    differs |= outcome.results != expected[seed];
  }
  if (reported)
    return reported == seeds ? Verdict::reported : Verdict::sometimes;
  return differs ? Verdict::differs : Verdict::harmless;
}

/// Whether the edit of a guard or a bound changes what no thread decides.
static bool isIdle(const llvm::Module &module, size_t number, const RunKernel &run,
                   uint64_t seeds) {
  std::unique_ptr<llvm::Module> watched = llvm::CloneModule(module);
  if (!watchMutation(*watched, number))
    return false;
  EmulatedKernels kernels(std::move(watched));
  for (uint64_t seed = 0; seed < seeds; ++seed)
    if (!run(kernels, seed).report.clean())
      return false;
  return true;
}

/// Only this kernel, so that a mutation costs no more than it must.
static void dropOthers(llvm::Module &module, const std::string &kernel) {
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (!function.isDeclaration() && function.getName() != kernel && function.use_empty())
      function.eraseFromParent();
}

std::vector<Judgement> test::judgeMutations(const std::string &text, const std::string &kernel,
                                            const RunKernel &run, uint64_t seeds) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parseKernels(context, text);
  dropOthers(*module, kernel);
  EmulatedKernels kernels(llvm::CloneModule(*module));
  std::vector<unsigned char> first = run(kernels, 0).results;
  for (uint64_t seed = 1; seed < seeds; ++seed)
    REQUIRE((run(kernels, seed).results == first));
  return judgeMutations(*module, run, seeds);
}

std::vector<Judgement>
test::judgeMutations(const llvm::Module &module, const RunKernel &run, uint64_t seeds,
                     llvm::function_ref<bool(const KernelMutation &)> wanted) {
  std::vector<std::vector<unsigned char>> expected;
  {
    EmulatedKernels kernels(llvm::CloneModule(module));
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      Outcome outcome = run(kernels, seed);
      INFO((outcome.report.clean() ? "" : outcome.report.findings.front().toString()));
      REQUIRE(outcome.report.clean());
      expected.push_back(outcome.results);
    }
  }
  std::vector<Judgement> judgements;
  std::vector<KernelMutation> mutations = findMutations(*llvm::CloneModule(module));
  for (size_t i = 0; i < mutations.size(); ++i) {
    if (wanted && !wanted(mutations[i]))
      continue;
    std::unique_ptr<llvm::Module> wrong = llvm::CloneModule(module);
    applyMutation(*wrong, i);
    Verdict verdict = judge(std::move(wrong), run, seeds, expected);
    if (verdict == Verdict::harmless && isIdle(module, i, run, seeds))
      verdict = Verdict::idle;
    judgements.push_back({mutations[i], verdict});
  }
  return judgements;
}
