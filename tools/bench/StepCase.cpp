#include "models/Registry.h"
#include "tools/bench/Cases.h"
#include "tools/bench/Steps.h"

#include <map>

namespace minigptc::bench {
namespace {

using namespace runtime;

RunConfig lm(int64_t d, int64_t heads, int64_t ff, int64_t layers, int64_t vocab, int64_t context,
             int64_t batch, bool tied = false) {
  RunConfig config;
  config.model = {.type = "transformer_lm",
                  .dModel = d,
                  .numHeads = heads,
                  .dFf = ff,
                  .numLayers = layers,
                  .vocabSize = vocab,
                  .contextLength = context,
                  .tieEmbeddings = tied};
  config.training.batchSize = batch;
  return config;
}

RunConfig miniGptTiny() {
  RunConfig config;
  config.model = {.type = "minigpt",
                  .dModel = 64,
                  .numHeads = 8,
                  .dFf = 64,
                  .numLayers = 4,
                  .vocabSize = 256,
                  .contextLength = 64,
                  .dropout = 0.1};
  config.optimizer = {.type = "adam", .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .weightDecay = 0};
  config.schedule.reset();
  config.training.batchSize = 32;
  config.training.gradientClip = 0;
  return config;
}

/// Kernels and products of a profiled step, the most expensive first.
nlohmann::json kernelTable(const StepProfile &profile) {
  struct Sum {
    const InstructionInfo *what;
    double calls = 0, seconds = 0;
  };
  std::map<std::string, Sum> sums;
  double total = 0, steps = double(profile.steps().size());
  for (const ProfiledStep &step : profile.steps()) {
    total += step.seconds();
    for (const ProfiledInstruction &instruction : step.instructions) {
      if (instruction.isCall())
        continue;
      const InstructionInfo &what = *instruction.what;
      Sum &sum =
          sums[std::string(what.kind) + what.name + (what.kind == "gemm" ? what.shapes : "")];
      sum.what = &what;
      ++sum.calls;
      sum.seconds += instruction.seconds();
    }
  }
  auto table = nlohmann::json::array();
  for (const auto &[key, sum] : sums)
    table.push_back({{"kind", sum.what->kind},
                     {"name", sum.what->name},
                     {"shapes", sum.what->shapes},
                     {"lines", sum.what->places},
                     {"at", sum.what->userPlace()},
                     {"calls", sum.calls / steps},
                     {"ms", sum.seconds / steps * 1e3},
                     {"share", sum.seconds / total},
                     {"gflops", sum.what->flops * sum.calls / sum.seconds * 1e-9},
                     {"gbs", sum.what->bytes * sum.calls / sum.seconds * 1e-9}});
  std::sort(table.begin(), table.end(), [](const auto &a, const auto &b) {
    return a.at("ms").template get<double>() > b.at("ms").template get<double>();
  });
  return table;
}

Status measure(Bench &bench, const NamedConfig &named) {
  StatusOr<Session> session = load(buildProgram(named.config, kTrainingOnly), bench);
  if (!session)
    return session.status();
  StatusOr<ProgramMetadata> metadata = ProgramMetadata::fromJson(session->metadata());
  if (!metadata)
    return metadata.status();
  Steps steps(*session, named.config);
  MINIGPTC_RETURN_IF_ERROR(steps.prepare());
  Status status;
  auto step = [&] {
    if (status)
      status = steps.run();
  };
  for (size_t i = 0; i < StepProfile::kWarmupSteps + StepProfile::kSteps; ++i)
    step();
  double peak = session->measureGemmPeak();
  Samples ms = repeat({.seconds = bench.quick() ? 0.0 : 4.0, .least = 3, .most = 40}, step);
  MINIGPTC_RETURN_IF_ERROR(status);
  peak = std::max(peak, session->measureGemmPeak());
  double flops = metadata->modelFlopsPerStep.value_or(0);
  double fraction = flops / (ms.median() * 1e-3) / peak;
  double &known = bench.json()["machine"]["gemm_peak_gflops"].get_ref<double &>();
  known = std::max(known, peak * 1e-9);
  bench.add({.group = "step",
             .name = named.name,
             .unit = "ms",
             .samples = ms,
             .ratio = fraction,
             .of = "GEMM peak",
             .limit = bench.quick() ? 0 : named.limit});
  bench.details()["kernels"][named.name] = kernelTable(steps.profile());
  return Status::success();
}

} // namespace

std::vector<NamedConfig> stepConfigs(bool quick) {
  if (quick)
    return {{"nano", lm(32, 8, 64, 2, 256, 32, 4)}};
  return {{"bench model", lm(256, 8, 1024, 4, 4096, 128, 16), 0.75},
          {"context 1024, batch 2", lm(256, 8, 1024, 4, 4096, 1024, 2), 0.70},
          {"GPT-2-sized, batch 4, context 64", lm(768, 12, 2048, 12, 50257, 64, 4, true), 0.70},
          {"tiny", lm(128, 8, 512, 4, 256, 128, 16), 0.50},
          {"minigpt-tiny", miniGptTiny()}};
}

Status runSteps(Bench &bench) {
  for (const NamedConfig &named : stepConfigs(bench.quick()))
    MINIGPTC_RETURN_IF_ERROR(measure(bench, named));
  return Status::success();
}

} // namespace minigptc::bench
