//===- Cases.h - what the benchmark measures --------------------*- C++ -*-===//
#ifndef MINIGPTC_TOOLS_BENCH_CASES_H
#define MINIGPTC_TOOLS_BENCH_CASES_H

#include "minigptc/compiler/Compile.h"
#include "minigptc/runtime/Session.h"
#include "minigptc/trace/Program.h"
#include "runtime/train/RunConfig.h"
#include "tools/bench/Measure.h"

namespace minigptc::bench {

/// Products of a model's shapes against the library's peak.
runtime::Status runGemm(Bench &bench);
/// Elementwise kernels, softmax, norms, an update, against the triad.
runtime::Status runKernels(Bench &bench);
/// Train steps of several models against the products' peak, and their kernels.
runtime::Status runSteps(Bench &bench);
/// Steps on eight devices, with collectives beside compute against without.
runtime::Status runOverlap(Bench &bench);
/// Compile times: with an empty cache, with a full one, with many layers.
runtime::Status runCompile(Bench &bench);
/// Tokens a second of generation.
runtime::Status runDecode(Bench &bench);
/// The bench model in other frameworks, side by side; see peers/.
runtime::Status runPeers(Bench &bench);
/// Encoding of text and learning of tokenizers, and other tokenizers side by side.
runtime::Status runText(Bench &bench);

/// A model by the name that the tables use.
struct NamedConfig {
  std::string name;
  runtime::RunConfig config;
  double limit = 0; ///< least fraction of the products' peak
};
/// The first is the bench model.
std::vector<NamedConfig> stepConfigs(bool quick);

/// Compiles and loads on the bench's threads.
runtime::StatusOr<runtime::Session> load(const Program &program, const Bench &bench);

/// The page of docs/reference, from a run's JSON.
std::string performancePage(const nlohmann::json &run);
/// A page that was written before, with the numbers of this run's cases in place of its own.
/// failedPrecondition if it is of another machine or build.
runtime::StatusOr<std::string> updatedPage(const std::string &page, const nlohmann::json &run);

} // namespace minigptc::bench

#endif // MINIGPTC_TOOLS_BENCH_CASES_H
