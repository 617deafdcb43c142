//===- MutationJudge.h - who notices a wrong kernel -------------*- C++ -*-===//
//
// Runs every mutation of a module of kernels (`KernelMutations.h`) under several orders of
// blocks and warps, and says how it came out.
//
//   auto run = [&](EmulatedKernels &kernels, uint64_t seed) { …; return Outcome{report, bits}; };
//   for (const Judgement &judged : judgeMutations(text, "softmax", run, /*seeds=*/4))
//     CHECK(judged.verdict != Verdict::differs);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CUDA_MUTATIONJUDGE_H
#define MINIGPTC_TEST_COMPILER_TARGET_CUDA_MUTATIONJUDGE_H

#include "compiler/target/cuda/KernelMutations.h"
#include "test/compiler/target/cuda/EmulationHarness.h"

namespace minigptc::test {

/// Of one run: what was found, and the bytes of the results.
struct Outcome {
  Report report;
  std::vector<unsigned char> results;
};

enum class Verdict {
  reported,  ///< the emulator objects, under every order
  sometimes, ///< the emulator objects under some orders only
  differs,   ///< only the results are others
  harmless,  ///< the same bytes under every order
  idle,      ///< harmless, for no thread would go another way (watchMutation)
};

struct Judgement {
  cuda::emulation::KernelMutation mutation;
  Verdict verdict;
};

using RunKernel = std::function<Outcome(EmulatedKernels &, uint64_t seed)>;

/// Mutations in functions whose name contains `kernel`. The unchanged kernel must be clean and
/// give the same bits under every seed.
std::vector<Judgement> judgeMutations(const std::string &text, const std::string &kernel,
                                      const RunKernel &run, uint64_t seeds);

/// Those of all functions of the module, or of as many as `wanted` says yes to. `run` may take
/// other inputs for each seed.
std::vector<Judgement>
judgeMutations(const llvm::Module &module, const RunKernel &run, uint64_t seeds,
               llvm::function_ref<bool(const cuda::emulation::KernelMutation &)> wanted = {});

/// The bytes of a buffer.
template <typename T> std::vector<unsigned char> bytesOf(const std::vector<T> &values) {
  auto *begin = reinterpret_cast<const unsigned char *>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_MUTATIONJUDGE_H
