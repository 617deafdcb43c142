#include "test/compiler/target/cuda/MutationJudge.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <catch2/catch.hpp>

using namespace minigptc;
using namespace minigptc::test;
using namespace minigptc::cuda::emulation;

static Verdict judge(std::unique_ptr<llvm::Module> module, const RunKernel &run, uint64_t seeds,
                     const std::vector<unsigned char> &expected) {
  EmulatedKernels kernels(std::move(module));
  uint64_t reported = 0;
  bool differs = false;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Outcome outcome = run(kernels, seed);
    reported += !outcome.report.clean();
    differs |= outcome.results != expected;
  }
  if (reported)
    return reported == seeds ? Verdict::reported : Verdict::sometimes;
  return differs ? Verdict::differs : Verdict::harmless;
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
  std::vector<unsigned char> expected;
  {
    EmulatedKernels kernels(llvm::CloneModule(*module));
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      Outcome outcome = run(kernels, seed);
      INFO((outcome.report.clean() ? "" : outcome.report.findings.front().toString()));
      REQUIRE(outcome.report.clean());
      REQUIRE((seed == 0 || outcome.results == expected));
      expected = outcome.results;
    }
  }
  std::vector<Judgement> judgements;
  std::vector<KernelMutation> mutations = findMutations(*module);
  for (size_t i = 0; i < mutations.size(); ++i) {
    std::unique_ptr<llvm::Module> wrong = llvm::CloneModule(*module);
    applyMutation(*wrong, i);
    judgements.push_back({mutations[i], judge(std::move(wrong), run, seeds, expected)});
  }
  return judgements;
}
