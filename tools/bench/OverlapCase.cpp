#include "models/Registry.h"
#include "runtime/base/Format.h"
#include "tools/bench/Cases.h"
#include "tools/bench/Steps.h"

namespace minigptc::bench {
namespace {

using namespace runtime;

constexpr int64_t kDevices = 8;

/// Bytes of all state, in its order.
std::vector<std::byte> bytesOf(const NamedArrays &state) {
  std::vector<std::byte> bytes;
  for (const auto &[name, array] : state) {
    Array whole = array.whole();
    const std::byte *data = std::as_const(whole).data();
    bytes.insert(bytes.end(), data, data + whole.type().numBytes());
  }
  return bytes;
}

/// One mode, with collectives beside compute and without, steps in turn. A CPU has no queue for
/// them, so that the ratio says what the other order of ops costs, and nothing of a GPU.
Status measure(Bench &bench, const std::string &mode) {
  RunConfig config = stepConfigs(bench.quick())[0].config;
  if (bench.quick())
    config.training.batchSize = kDevices;
  config.sharding = {true, mode, {kDevices, 1}, {"data", "tensor"}, {}};
  Program program = buildProgram(config, kTrainingOnly);
  std::vector<Session> sessions;
  std::vector<std::unique_ptr<Steps>> steps;
  for (const char *overlap : {"on", "off"}) {
    CompiledProgram compiled = compile(program, {.overlap = overlap, .threads = bench.threads()});
    StatusOr<Session> session = Session::load(compiled.artifact, {.threads = bench.threads()});
    if (!session)
      return session.status();
    sessions.push_back(*std::move(session));
  }
  for (Session &session : sessions) {
    steps.push_back(std::make_unique<Steps>(session, config));
    MINIGPTC_RETURN_IF_ERROR(steps.back()->prepare());
  }
  // The first steps are profiled, and not measured.
  int count = int(StepProfile::kWarmupSteps + StepProfile::kSteps) + (bench.quick() ? 3 : 25);
  Samples on, off, ratios;
  for (int i = 0; i < count; ++i) {
    double ms[2];
    for (int which : {i % 2, 1 - i % 2}) {
      Status status;
      ms[which] = repeat({.seconds = 0, .least = 1, .most = 1, .warmup = 0}, [&] {
                    status = steps[size_t(which)]->run();
                  }).best();
      MINIGPTC_RETURN_IF_ERROR(status);
    }
    if (i < int(StepProfile::kWarmupSteps + StepProfile::kSteps))
      continue;
    on.values.push_back(ms[0]);
    off.values.push_back(ms[1]);
    ratios.values.push_back(ms[0] / ms[1]);
  }
  for (Samples *samples : {&on, &off, &ratios})
    std::sort(samples->values.begin(), samples->values.end());
  std::string name = mode + " on " + std::to_string(kDevices) + " devices";
  if (bytesOf(steps[0]->state()) != bytesOf(steps[1]->state()))
    return Status(StatusCode::internal,
                  name + " leaves another state with collectives beside compute than without");
  bench.add({.group = "overlap", .name = name, .unit = "ms", .samples = off});
  bench.add({.group = "overlap",
             .name = name + ", beside compute",
             .unit = "ms",
             .samples = on,
             .ratio = ratios.median(),
             .of = "time without; same bytes"});
  return Status::success();
}

} // namespace

Status runOverlap(Bench &bench) {
  for (const char *mode : {"dp", "fsdp"})
    MINIGPTC_RETURN_IF_ERROR(measure(bench, mode));
  return Status::success();
}

} // namespace minigptc::bench
