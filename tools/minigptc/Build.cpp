//===- Build.cpp - from a configuration to a loaded program ---------------===//
#include "tools/minigptc/Build.h"

#include "compiler/target/cuda/Arch.h"
#include "minigptc/trace/TraceError.h"
#include "models/ModelSharding.h"
#include "runtime/base/Format.h"
#include "runtime/base/MemoryLimits.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/exec/DriverThreads.h"
#include "runtime/hal/Driver.h"
#include "tools/common/CommandLine.h"

#include <algorithm>
#include <chrono>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void minigptc::addOverlapOption(CLI::App &app, std::string &overlap) {
  app.add_option("--overlap", overlap,
                 "Collectives beside compute: on, off, or auto: where the target's devices do both "
                 "at once")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
}

void BuildFlags::addTo(CLI::App &app) {
  addThreadsOption(app, threads, "Threads to compile and run with (default: all cores)");
  app.add_option("--target", target,
                 "cpu, cuda, or cuda:test, which emulates a GPU and is slow (default: cuda where "
                 "a driver and a GPU are found, else cpu)")
      ->type_name("TARGET");
  app.add_option("--gpu-arch", gpuArchs,
                 "cuda: machine code for these GPUs besides PTX: sm_80,sm_90a")
      ->type_name("LIST");
  app.add_option("--cpu", cpu,
                 "native (vectors of this machine) or baseline (AVX2 and FMA: runs on "
                 "other machines, too)")
      ->type_name("LEVEL")
      ->capture_default_str();
  addOverlapOption(app, overlap);
  app.add_flag("--timing", timing, "Report the time of each pass and kernel on stderr");
  app.add_flag("--no-cache", noCache, "Compile every kernel anew");
  app.add_flag("--verify-each", verifyEach, "Verify the IR after each pass");
}

CompileOptions BuildFlags::options() const {
  return {.target = chosenTarget(),
          .cpu = cpu,
          .gpuArchs = gpuArchs,
          .overlap = overlap,
          .threads = threads,
          .verifyEach = verifyEach,
          .useCache = !noCache,
          .timing = timing};
}

/// The driver that runs what is compiled for a target.
static std::string driverOf(const std::string &target) { return target == "cpu" ? "host" : target; }

std::string BuildFlags::chosenTarget() const {
  if (!target.empty())
    return target;
  runtime::registerBuiltinDrivers();
  const runtime::Driver *gpus = runtime::findDriver("cuda");
  runtime::StatusOr<int> count = gpus ? gpus->countDevices() : 0;
  return count && *count > 0 ? "cuda" : "cpu";
}

std::string minigptc::describeTarget(const runtime::Session &session) {
  return session.target() +
         (session.isEmulated() ? " (a GPU emulated on the CPU; times say nothing of a GPU)" : "");
}

Status BuildFlags::check() const {
  std::vector<std::string> targets = targetNames();
  if (!target.empty() && std::ranges::find(targets, target) == targets.end()) {
    std::string all;
    for (const std::string &name : targets)
      all += (all.empty() ? "" : ", ") + name;
    return Status(StatusCode::invalidArgument, "this build has no target '" + target + "'")
        .withHelp("targets: " + all + "; --devices says how many devices");
  }
  if (!gpuArchs.empty()) {
    std::string wrong;
    if (!cuda::Arch::parseList(gpuArchs, wrong))
      return Status(StatusCode::invalidArgument, "--gpu-arch: " + wrong);
    if (chosenTarget() == "cpu")
      return Status(StatusCode::invalidArgument, "--gpu-arch is for target cuda, not cpu")
          .withHelp("add --target cuda");
  }
  if (cpu != "native" && cpu != "baseline")
    return Status(StatusCode::invalidArgument,
                  "--cpu must be native or baseline, not '" + cpu + "'");
  return Status::success();
}

TracedProgram minigptc::traceProgram(const runtime::RunConfig &config,
                                     const ProgramOptions &options) {
  double start = now();
  Program program = buildProgram(config, options);
  return {std::move(program), now() - start};
}

Status minigptc::checkDevices(const runtime::RunConfig &config, const BuildFlags &flags,
                              int64_t processes) {
  Mesh mesh = meshOf(config.sharding);
  if (processes > 1)
    MINIGPTC_RETURN_IF_ERROR(
        checkDriver(processes, driverOf(flags.chosenTarget()), mesh.numDevices()));
  const int64_t most = runtime::kMaxDriverThreads * processes;
  if (mesh.numDevices() <= most)
    return Status::success();
  return Status(StatusCode::invalidArgument, "sharding.mesh_shape: the mesh " + mesh.toString() +
                                                 " has " + std::to_string(mesh.numDevices()) +
                                                 " devices; there are " + std::to_string(most) +
                                                 " at most")
      .withHelp("choose a mesh of " + std::to_string(most) +
                " devices or fewer; `explain` takes any");
}

static int64_t devicesOnMachine(const runtime::RunConfig &config, const BuildFlags &flags) {
  int64_t devices = meshOf(config.sharding).numDevices();
  const runtime::ProcessGroup *group = flags.processes.get();
  return group ? devices / group->count() * group->localCount() : devices;
}

runtime::StatusOr<LoadedProgram> minigptc::buildSession(const runtime::RunConfig &config,
                                                        const ProgramOptions &options,
                                                        const BuildFlags &flags) {
  MINIGPTC_RETURN_IF_ERROR(flags.check());
  // An artifact for the emulated device may go to a GPU; what runs here does not.
  if (!flags.gpuArchs.empty() && flags.target == "cuda:test")
    return Status(StatusCode::invalidArgument,
                  "--gpu-arch is for target cuda, not cuda:test, where no machine code is run")
        .withHelp("leave it out; `minigptc compile` takes both");
  MINIGPTC_RETURN_IF_ERROR(
      checkDevices(config, flags, flags.processes ? flags.processes->count() : 1));
  // What cannot run here is not compiled first.
  runtime::registerBuiltinDrivers();
  if (const runtime::Driver *driver = runtime::findDriver(driverOf(flags.chosenTarget())))
    MINIGPTC_RETURN_IF_ERROR(driver->provide(devicesOnMachine(config, flags)));
  double start = now();
  TracedProgram traced = traceProgram(config, options);
  CompiledProgram compiled = compile(traced.program, flags.options());
  runtime::StatusOr<runtime::Session> session =
      runtime::Session::load(compiled.artifact, {.driver = driverOf(flags.chosenTarget()),
                                                 .threads = flags.threads,
                                                 .processes = flags.processes});
  if (!session)
    return session.status();
  compiled.stats.traceSeconds = traced.seconds;
  compiled.stats.totalSeconds = now() - start;
  return LoadedProgram{std::move(*session), compiled.stats};
}

Status minigptc::guardCompile(const std::function<Status()> &body) {
  try {
    return body();
  } catch (const TraceError &error) {
    return Status(StatusCode::invalidArgument, error.what());
  } catch (const MemoryBudgetError &error) {
    return Status(StatusCode::invalidArgument, error.what())
        .withHelp("a smaller training.batch_size or model.context_length takes less, and so does a "
                  "larger training.micro_batches");
  } catch (const CompileError &error) {
    return Status(StatusCode::failedPrecondition, error.what());
  } catch (const std::invalid_argument &error) {
    return Status(StatusCode::invalidArgument, error.what());
  }
}

Status minigptc::checkFits(const runtime::RunConfig &config) {
  const auto &model = config.model;
  double memory = double(runtime::memoryLimits().total);
  double gib = 1 << 30;
  // Parameters, their gradients and two moments, in f32: the least a step needs.
  double state = 4.0 * 4.0 * double(countParameters(config));
  if (state > memory) {
    return Status(StatusCode::invalidArgument,
                  runtime::format(
                      "%.4g parameters need at least %.1f GiB to train; this machine has %.1f GiB",
                      double(countParameters(config)), state / gib, memory / gib))
        .withHelp("make model.d_model, model.d_ff, model.num_layers or model.vocab_size smaller");
  }
  // What backward can't do without: each block's input. Logits are made some rows at a time.
  int64_t batch = config.training.batchSize / std::max<int64_t>(config.training.microBatches, 1);
  double positions = double(batch) * double(model.contextLength);
  double bytes = config.training.precision == "bf16" ? 2 : 4;
  double activations = bytes * positions * double(model.numLayers) * double(model.dModel);
  if (state + activations <= memory)
    return Status::success();
  return Status(StatusCode::invalidArgument,
                runtime::format("a batch of %lld x %lld tokens needs at least %.1f GiB to train; "
                                "this machine has %.1f GiB",
                                (long long)batch, (long long)model.contextLength,
                                (state + activations) / gib, memory / gib))
      .withHelp("make training.batch_size or model.context_length smaller, or "
                "training.micro_batches larger");
}
