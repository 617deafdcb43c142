//===- minigptc-run.cpp - trains, evaluates or times an artifact ----------===//
//
// The runtime alone: no compiler, no LLVM. Model, optimizer, batch and context are
// those that the artifact was compiled for; its metadata has the configuration.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Cancellation.h"
#include "runtime/base/File.h"
#include "runtime/exec/ProcessCheck.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/OutputFolder.h"
#include "runtime/train/SameContents.h"
#include "runtime/train/TrainingSession.h"
#include "tools/common/CommandLine.h"
#include "tools/common/GenerateText.h"
#include "tools/common/Launched.h"
#include "tools/common/ProgressLine.h"
#include "tools/common/RunFlags.h"
#include "tools/minigptc-run/Timing.h"

using namespace minigptc;
using namespace minigptc::runtime;

namespace {

struct Flags {
  std::string artifact, driver;
  int threads = 0;
  int64_t devices = 0;
  bool checkReplicas = false;
  std::optional<int64_t> timedSteps, logInterval, evalInterval, saveInterval;
  std::optional<uint64_t> seed;
  std::string evaluated;
  std::optional<std::string> prompt;
  std::string weights;
  GenerateOptions generation;
  RunFlags run;

  void addTo(CLI::App &app);
  Status apply(RunConfig &config) const;
};

void Flags::addTo(CLI::App &app) {
  app.add_option("artifact", artifact, "The program, from `minigptc compile`")
      ->type_name("FILE.mgx")
      ->required();
  addThreadsOption(app, threads,
                   "CPU threads of a device (default: all cores, or a device's share of them)");
  app.add_option("--driver", driver,
                 "cuda: a program for the emulated device, cuda:test, on a GPU (default: what the "
                 "program is for)")
      ->type_name("NAME");
  app.add_option("--devices", devices,
                 "Number of devices, threads of this process (default: what the program is for)")
      ->type_name("N")
      ->check(between(1, int64_t(1) << 20));
  app.add_flag("--check-replicas", checkReplicas,
               "After each step, compare what devices should hold alike");
  app.add_option("--time", timedSteps, "Time so many steps on random tokens; train nothing")
      ->type_name("N");
  app.add_option("--eval", evaluated,
                 "Evaluate a weight file, or the newest checkpoint of a run, on the data; train "
                 "nothing")
      ->type_name("FILE|DIR");
  app.add_option("--generate", prompt,
                 "Continue this text by the parameters of --weights (a program that was compiled "
                 "with --generation)")
      ->type_name("TEXT");
  app.add_option("--weights", weights, "--generate: a weight file, or a run with a checkpoint")
      ->type_name("FILE|DIR");
  app.add_option("--max-tokens", generation.maxTokens, "--generate: tokens to add at most")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--temperature", generation.sampling.temperature,
                 "--generate: 0: always the most likely token")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--seed", seed, "Of initialisation, data order and dropout")->type_name("N");
  app.add_option("--log-interval", logInterval, "Log every so many steps")->type_name("N");
  app.add_option("--eval-interval", evalInterval, "Evaluate every so many steps; 0: never")
      ->type_name("N");
  app.add_option("--save-interval", saveInterval, "Checkpoint every so many steps; 0: at the end")
      ->type_name("N");
  run.addTo(app);
}

Status notNegative(const char *flag, std::optional<int64_t> value, int64_t least) {
  if (!value || *value >= least)
    return Status::success();
  return Status(StatusCode::invalidArgument, std::string(flag) + " must be at least " +
                                                 std::to_string(least) + ", but is " +
                                                 std::to_string(*value));
}

Status Flags::apply(RunConfig &config) const {
  MINIGPTC_RETURN_IF_ERROR(run.apply(config));
  MINIGPTC_RETURN_IF_ERROR(notNegative("--time", timedSteps, 1));
  MINIGPTC_RETURN_IF_ERROR(notNegative("--log-interval", logInterval, 1));
  MINIGPTC_RETURN_IF_ERROR(notNegative("--eval-interval", evalInterval, 0));
  MINIGPTC_RETURN_IF_ERROR(notNegative("--save-interval", saveInterval, 0));
  if (timedSteps.has_value() + !evaluated.empty() + prompt.has_value() > 1)
    return Status(StatusCode::invalidArgument, "--time, --eval and --generate exclude each other");
  if (prompt.has_value() != !weights.empty())
    return Status(StatusCode::invalidArgument, "--generate and --weights need each other");
  config.training.seed = seed.value_or(config.training.seed);
  config.training.logInterval = logInterval.value_or(config.training.logInterval);
  config.training.evalInterval = evalInterval.value_or(config.training.evalInterval);
  config.checkpoint.saveInterval = saveInterval.value_or(config.checkpoint.saveInterval);
  return Status::success();
}

/// Parameters of a weight file, or of the newest checkpoint in a run's folder, and what tells
/// them from others.
StatusOr<NamedArrays> loadParameters(const std::string &path, const ProgramMetadata &metadata,
                                     Content *content = nullptr) {
  OutputFolder folder(path);
  if (!folder.holdsRun()) {
    if (content) {
      StatusOr<SafetensorsFile> file = SafetensorsFile::open(path);
      if (!file)
        return file.status();
      *content = contentOf("the weight file '" + path + "'", file->contentHash());
    }
    return loadWeights(path, metadata.parameters);
  }
  StatusOr<Checkpoint> checkpoint = loadNewestCheckpoint(folder.checkpoints(), printRemark);
  if (!checkpoint)
    return checkpoint.status();
  if (content)
    *content = contentOf("the newest checkpoint in '" + path + "'", checkpoint->contentHash);
  return parametersOf(checkpoint->tensors);
}

Status evaluate(Session &session, const Flags &flags, const RunConfig &config,
                const ProgramMetadata &metadata) {
  cancelOnSignals();
  SessionProgram program(session);
  ProcessGroup *processes = session.processes();
  Content weights;
  StatusOr<NamedArrays> parameters =
      loadParameters(flags.evaluated, metadata, processes ? &weights : nullptr);
  if (!parameters)
    return parameters.status();
  StatusOr<DataSources> data = openData(config);
  if (!data)
    return data.status();
  if (processes)
    MINIGPTC_RETURN_IF_ERROR(agreeOnContents(
        *processes, {std::move(weights), contentOf("the training data", data->train.get()),
                     contentOf("the validation data", data->val.get())}));
  StatusOr<Evaluator> evaluator = Evaluator::create(program, *parameters);
  if (!evaluator)
    return evaluator.status();
  for (auto [split, source] :
       {std::pair("train", data->train.get()), std::pair("val", data->val.get())}) {
    if (!source)
      continue;
    ProgressLine line(flags.run.quiet || !isFirst(processes));
    StatusOr<LossReport> report = evaluator->wholeLoss(*source, [&](int64_t done, int64_t all) {
      line.showTokens(done, all, session.isEmulated());
    });
    line.close();
    if (!report)
      return report.status();
    if (!isFirst(processes))
      continue;
    std::printf("%s: loss %.9g, perplexity %.6g, %.6g bits a token, %lld tokens\n", split,
                report->loss, report->perplexity(), report->bitsPerToken(),
                static_cast<long long>(report->tokens));
  }
  return Status::success();
}

Status generateText(Session &session, const Flags &flags, const ProgramMetadata &metadata) {
  Content weights;
  StatusOr<NamedArrays> parameters =
      loadParameters(flags.weights, metadata, session.processes() ? &weights : nullptr);
  if (!parameters)
    return parameters.status();
  if (session.processes())
    MINIGPTC_RETURN_IF_ERROR(agreeOnContents(*session.processes(), {std::move(weights)}));
  GenerateOptions options = flags.generation;
  options.sampling.seed = flags.seed.value_or(options.sampling.seed);
  return printContinuation(session, *parameters, ByteCodec(), *flags.prompt, options);
}

Status train(Session &session, const Flags &flags, const RunConfig &config,
             ProcessGroupRef processes) {
  if (!flags.run.dumpGrads.empty() && !session.entry("gradients"))
    return Status(StatusCode::invalidArgument,
                  "--dump-grads needs a program with an entry 'gradients', which '" +
                      flags.artifact + "' does not have")
        .withHelp("`minigptc train --dump-grads` compiles one of its own");
  auto log = makeConsoleLog(stderr, flags.run.quiet);
  TrainingOptions options = flags.run.trainingOptions(config);
  options.log = log.get();
  options.processes = std::move(processes);
  options.target = session.target();
  options.gemmPeak = [&] { return session.measureGemmPeak(); };
  StatusOr<TrainingSession> training = TrainingSession::prepare(config, options);
  if (!training)
    return training.status();
  StatusOr<TrainingResult> result =
      runTraining(*training, session, flags.run.profile, std::move(log));
  if (!result)
    return result.status();
  if (isFirst(session.processes()))
    printResult(*result, options.outDir, session.isEmulated());
  return Status::success();
}

Status runArtifact(Flags &flags, ProcessGroupRef processes) {
  if (!isFirst(processes.get())) { // The first one speaks for all.
    flags.run.quiet = true;
    flags.run.profile.clear();
  }
  if (flags.timedSteps)
    MINIGPTC_RETURN_IF_ERROR(requireOneProcess("--time"));
  StatusOr<Session> session = Session::open(flags.artifact, {.driver = flags.driver,
                                                             .threads = flags.threads,
                                                             .devices = flags.devices,
                                                             .checkReplicas = flags.checkReplicas,
                                                             .processes = processes});
  if (!session && session.status().code() == StatusCode::invalidArgument && flags.devices != 0)
    return Status(session.status()).at("--devices " + std::to_string(flags.devices));
  if (!session)
    return session.status();
  if (processes)
    MINIGPTC_RETURN_IF_ERROR(agree(processes.get(), "what is to be done",
                                   flags.prompt              ? "generation"
                                   : flags.evaluated.empty() ? "training"
                                                             : "evaluation of " + flags.evaluated));
  StatusOr<ProgramMetadata> metadata = ProgramMetadata::fromJson(session->metadata());
  if (!metadata)
    return metadata.status();
  RunConfig config = metadata->config;
  MINIGPTC_RETURN_IF_ERROR(flags.apply(config));
  if (!flags.run.quiet && session->target() != "cpu")
    fprintf(stderr, "target: %s, %s\n", session->target().c_str(), session->deviceName().c_str());
  if (flags.timedSteps)
    return timeSteps(*session, config, *flags.timedSteps, flags.run.profile, flags.run.peakFlops);
  if (flags.prompt)
    return generateText(*session, flags, *metadata);
  if (!flags.evaluated.empty())
    return evaluate(*session, flags, config, *metadata);
  return train(*session, flags, config, std::move(processes));
}

/// What this process sees before it waits for others.
Status checkBeforehand(const Flags &flags, int64_t processes) {
  if (flags.timedSteps)
    return requireOneProcess("--time");
  StatusOr<std::vector<std::byte>> artifact = readFile(flags.artifact);
  // One that cannot be read is told to the others, who may have it.
  return artifact ? checkProcesses(*artifact, flags.driver, processes) : Status::success();
}

} // namespace

int main(int argc, char **argv) {
  prepareSignals();
  CLI::App app("Trains, evaluates or times a compiled program");
  app.name("minigptc-run");
  app.set_version_flag("--version",
                       "minigptc-run " MINIGPTC_VERSION " (artifacts of this version only)");
  app.footer("Examples:\n"
             "  minigptc-run step.mgx --text book.txt --steps 500 --out runs/book\n"
             "  minigptc-run step.mgx --text book.txt --eval runs/book\n"
             "  minigptc-run step.mgx --time 20 --threads 2\n"
             "  minigptc-run generation.mgx --generate \"Once\" --weights runs/book");
  Flags flags;
  flags.addTo(app);
  int exitStatus = 0;
  app.callback([&] {
    exitStatus = reportStatus(asOneOfProcesses(
        [&](ProcessGroupRef processes) { return runArtifact(flags, std::move(processes)); },
        [&](int64_t processes) { return checkBeforehand(flags, processes); }));
  });
  return parseCommandLine(app, argc, argv, exitStatus);
}
