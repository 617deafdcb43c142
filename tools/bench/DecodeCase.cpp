#include "models/Registry.h"
#include "runtime/train/Generator.h"
#include "runtime/train/TrainStep.h"
#include "tools/bench/Cases.h"

namespace minigptc::bench {

using namespace runtime;

Status runDecode(Bench &bench) {
  RunConfig config = stepConfigs(bench.quick())[0].config;
  config.model.vocabSize = 256; // text as bytes
  Program program = buildProgram(config, {.evaluation = false, .decoding = true});
  StatusOr<Session> session = load(program, bench);
  if (!session)
    return session.status();
  SessionProgram entries(*session);
  StatusOr<TrainStep> step = TrainStep::bind(entries);
  if (!step)
    return step.status();
  MINIGPTC_RETURN_IF_ERROR(step->initialize(seedKey(1)));
  GenerateOptions options;
  options.maxTokens = config.model.contextLength / 2; // the window does not slide
  Status status;
  Samples ms = repeat({.seconds = bench.quick() ? 0.0 : 2.0, .least = 3, .most = 20}, [&] {
    Status run = generate(entries, step->parameters(), ByteCodec(), "It was", options,
                          [](std::string_view) { return true; });
    if (!run)
      status = run;
  });
  MINIGPTC_RETURN_IF_ERROR(status);
  Samples rate;
  for (double value : ms.values)
    rate.values.push_back(double(options.maxTokens) / value * 1e3);
  std::reverse(rate.values.begin(), rate.values.end());
  bench.add({.group = "decode", .name = "bench model, bytes", .unit = "tokens/s", .samples = rate});
  return Status::success();
}

} // namespace minigptc::bench
