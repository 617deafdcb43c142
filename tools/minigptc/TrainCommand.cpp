//===- TrainCommand.cpp - minigptc train ----------------------------------===//
#include "tools/minigptc/Commands.h"

#include "tools/common/CommandLine.h"
#include "tools/common/RunFlags.h"
#include "tools/minigptc/Build.h"
#include "tools/minigptc/Config.h"
#include "tools/minigptc/ModelFlags.h"

#include <filesystem>
#include <memory>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

namespace {

struct TrainFlags {
  ModelFlags model;
  BuildFlags build;
  RunFlags run;
  bool explain = false;
};

/// A resumed run without a configuration of its own takes that of the run.
void useConfigOfResumedRun(TrainFlags &flags) {
  if (!flags.run.resumes() || flags.model.chosen())
    return;
  std::filesystem::path config = std::filesystem::path(flags.run.resumedFolder()) / "config.yaml";
  std::error_code error;
  if (std::filesystem::exists(config, error))
    flags.model.configFile = config;
}

runtime::CompileReport report(const CompileStats &stats) {
  return {stats.traceSeconds, stats.passesSeconds, stats.codegenSeconds,
          stats.totalSeconds, stats.kernels,       stats.kernelsCompiled};
}

/// A session and its program in one.
class OwnProgram : public runtime::SessionProgram {
public:
  explicit OwnProgram(runtime::Session session)
      : SessionProgram(session_), session_(std::move(session)) {}

private:
  runtime::Session session_;
};

/// The entry `gradients` alone: beside the others it would change what they share.
runtime::StatusOr<std::unique_ptr<runtime::TrainingProgram>>
gradientProgram(const runtime::RunConfig &config, const BuildFlags &build) {
  std::unique_ptr<runtime::TrainingProgram> program;
  Status status = guardCompile([&] {
    runtime::StatusOr<LoadedProgram> loaded = buildSession(
        config, {.training = false, .evaluation = false, .logits = false, .gradients = true},
        build);
    if (loaded)
      program = std::make_unique<OwnProgram>(std::move(loaded->session));
    return loaded.status();
  });
  if (!status)
    return status;
  return program;
}

Status train(TrainFlags &flags, ProcessGroupRef processes) {
  flags.build.processes = processes;
  if (!isFirst(processes.get())) { // The first one speaks for all.
    flags.run.quiet = true;
    flags.run.profile.clear();
    flags.explain = false;
  }
  MINIGPTC_RETURN_IF_ERROR(flags.build.check());
  useConfigOfResumedRun(flags);
  runtime::StatusOr<runtime::RunConfig> config = flags.model.resolve(flags.run.quiet);
  if (!config)
    return config.status();
  MINIGPTC_RETURN_IF_ERROR(flags.run.apply(*config));
  MINIGPTC_RETURN_IF_ERROR(
      checkDevices(*config, flags.build, processes ? processes->count() : 1));
  // What GPUs have is theirs to say, once there is a plan.
  if (flags.build.chosenTarget() == "cpu")
    MINIGPTC_RETURN_IF_ERROR(checkFits(*config));

  if (flags.run.resumes() && flags.model.chosen() && !config->data.isNamed())
    return Status(StatusCode::invalidArgument,
                  "no data to train on: --preset, --config and --model replace the whole "
                  "configuration of the run that is resumed, its data included")
        .withHelp("leave them out, and change single keys with --set; or name the data again");

  auto log = runtime::makeConsoleLog(stderr, flags.run.quiet);
  runtime::TrainingOptions options = flags.run.trainingOptions(*config);
  options.log = log.get();
  options.processes = processes;
  options.target = flags.build.chosenTarget();
  options.configYaml = toYaml(*config);
  // Data, folders and weights are looked at before the compiler takes its seconds.
  runtime::StatusOr<runtime::TrainingSession> training =
      runtime::TrainingSession::prepare(*config, options);
  if (!training)
    return training.status();
  if (flags.explain)
    fputs(toText(explainTraining(*config, {.target = flags.build.chosenTarget(),
                                           .overlap = flags.build.overlap}))
              .c_str(),
          stdout);
  runtime::StatusOr<LoadedProgram> loaded = buildSession(*config, {}, flags.build);
  if (!loaded)
    return loaded.status();
  if (!flags.run.quiet)
    fprintf(stderr, "target: %s\ncompiled in %.2f s (%lld kernels, %lld not in the cache)\n",
            describeTarget(loaded->session).c_str(), loaded->stats.totalSeconds,
            (long long)loaded->stats.kernels, (long long)loaded->stats.kernelsCompiled);

  training->setCompileReport(report(loaded->stats));
  training->setGemmPeak([&] { return loaded->session.measureGemmPeak(); });
  training->setGradientProgram([&] { return gradientProgram(*config, flags.build); });
  runtime::StatusOr<runtime::TrainingResult> result =
      runTraining(*training, loaded->session, flags.run.profile, std::move(log));
  if (!result)
    return result.status();
  if (isFirst(processes.get()))
    printResult(*result, options.outDir, loaded->session.isEmulated());
  return Status::success();
}

/// What this process sees before it waits for others.
Status checkBeforehand(TrainFlags flags, int64_t processes) {
  MINIGPTC_RETURN_IF_ERROR(flags.build.check());
  useConfigOfResumedRun(flags);
  runtime::StatusOr<runtime::RunConfig> config = flags.model.resolve(/*quiet=*/true);
  return config ? checkDevices(*config, flags.build, processes) : wrongEverywhere(config.status());
}

} // namespace

void minigptc::addTrainCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand("train", "Trains a model");
  command->footer("Examples:\n"
                  "  minigptc train --preset tiny --text book.txt --out runs/book\n"
                  "  minigptc train --config run.yaml --data tokens.bin --set optimizer.lr=3e-4\n"
                  "  minigptc train --resume runs/book --steps 1000");
  auto flags = std::make_shared<TrainFlags>();
  flags->model.addTo(*command);
  flags->build.addTo(*command);
  flags->run.addTo(*command);
  command->add_flag("--explain", flags->explain,
                    "Print what the devices send each other, as `minigptc explain`, first");
  command->callback([=, &exitStatus] {
    exitStatus = reportStatus(asOneOfProcesses(
        [&](ProcessGroupRef processes) {
          return guardCompile([&] { return train(*flags, processes); });
        },
        [&](int64_t processes) {
          return guardCompile([&] { return checkBeforehand(*flags, processes); });
        }));
  });
}
