//===- Weights.cpp - parameters for eval and generate ---------------------===//
#include "tools/minigptc/Weights.h"

#include "runtime/base/File.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/CheckpointManifest.h"
#include "runtime/train/OutputFolder.h"
#include "runtime/train/Safetensors.h"
#include "runtime/train/SameContents.h"
#include "runtime/train/TextTokens.h"
#include "tools/common/CommandLine.h"

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

void WeightFlags::addTo(CLI::App &app) {
  app.add_option("--run", run, "Output folder of a training run: its newest checkpoint is used")
      ->type_name("DIR");
  app.add_option("--weights", weights, "Weight file (safetensors); needs --config or --preset")
      ->type_name("FILE");
  model.addTo(app);
}

namespace {

/// Parameters and configuration, before anything is compiled.
struct Source {
  runtime::RunConfig config;
  std::optional<runtime::Checkpoint> checkpoint;
  runtime::Content content; ///< of the file or the checkpoint
};

/// The content of a weight file is looked at only where several processes compare it.
runtime::StatusOr<Source> findSource(const WeightFlags &flags, bool quiet, bool several) {
  if (flags.run.empty() == flags.weights.empty())
    return Status(StatusCode::invalidArgument, "either --run DIR or --weights FILE is needed");
  if (!flags.weights.empty()) {
    runtime::StatusOr<runtime::RunConfig> config = flags.model.resolve(quiet);
    if (!config)
      return config.status();
    runtime::StatusOr<runtime::SafetensorsFile> file =
        runtime::SafetensorsFile::open(flags.weights);
    if (!file)
      return file.status();
    runtime::Content content;
    if (several)
      content = runtime::contentOf("the weight file '" + flags.weights + "'", file->contentHash());
    return Source{*config, std::nullopt, std::move(content)};
  }
  if (flags.model.chosen() || !flags.model.settings.empty())
    return Status(StatusCode::invalidArgument, "--run brings its own configuration; --preset, "
                                               "--config, --model and --set go with --weights");
  if (!runtime::OutputFolder(flags.run).holdsRun())
    return Status(StatusCode::notFound, "there is no run in '" + flags.run + "'")
        .withHelp("--run names the folder that `minigptc train` prints at its end, its --out");
  runtime::StatusOr<runtime::Checkpoint> checkpoint =
      runtime::loadNewestCheckpoint(flags.run + "/checkpoints", printRemark);
  if (!checkpoint)
    return checkpoint.status();
  runtime::StatusOr<runtime::RunConfig> config = flags.model.onDevices(checkpoint->config);
  if (!config)
    return config.status();
  if (flags.oneDevice && !several && !flags.model.choosesDevices())
    config->sharding = {};
  runtime::Content content = runtime::contentOf(
      "the checkpoint of step " + std::to_string(checkpoint->step) + " in '" + flags.run + "'",
      checkpoint->contentHash);
  return Source{std::move(*config), std::move(*checkpoint), std::move(content)};
}

/// The configuration in the newest checkpoint, if that much of it can be read.
std::optional<runtime::RunConfig> newestConfig(const std::string &run) {
  std::string root = run + "/checkpoints";
  std::vector<int64_t> steps = runtime::listCheckpoints(root);
  if (steps.empty())
    return std::nullopt;
  auto text =
      runtime::readTextFile(root + "/step-" + std::to_string(steps.back()) + "/manifest.json");
  if (!text)
    return std::nullopt;
  auto manifest = runtime::CheckpointManifest::fromJson(*text);
  return manifest ? std::optional(std::move(manifest->config)) : std::nullopt;
}

} // namespace

Status minigptc::checkBeforehand(const WeightFlags &flags, const BuildFlags &build,
                                 int64_t processes) {
  MINIGPTC_RETURN_IF_ERROR(build.check());
  std::optional<runtime::RunConfig> saved;
  if (flags.weights.empty() && !(saved = newestConfig(flags.run)))
    return Status::success();
  runtime::StatusOr<runtime::RunConfig> config =
      saved ? flags.model.onDevices(*saved) : flags.model.resolve(/*quiet=*/true);
  return config ? checkDevices(*config, build, processes) : wrongEverywhere(config.status());
}

runtime::StatusOr<TrainedModel> minigptc::loadTrained(const WeightFlags &flags,
                                                      const BuildFlags &build,
                                                      const ProgramOptions &entries, bool quiet) {
  runtime::StatusOr<Source> source = findSource(flags, quiet, build.processes != nullptr);
  if (!source)
    return source.status();
  if (build.processes)
    MINIGPTC_RETURN_IF_ERROR(runtime::agreeOnContents(*build.processes, {source->content}));
  runtime::StatusOr<LoadedProgram> loaded = buildSession(source->config, entries, build);
  if (!loaded)
    return loaded.status();
  if (!quiet)
    fprintf(stderr, "target: %s\n", describeTarget(loaded->session).c_str());
  if (source->checkpoint)
    return TrainedModel{std::move(source->config), std::move(loaded->session),
                        runtime::parametersOf(source->checkpoint->tensors)};
  runtime::StatusOr<runtime::ProgramMetadata> metadata =
      runtime::ProgramMetadata::fromJson(loaded->session.metadata());
  if (!metadata)
    return metadata.status();
  runtime::StatusOr<runtime::NamedArrays> parameters =
      runtime::loadWeights(flags.weights, metadata->parameters);
  if (!parameters)
    return parameters.status();
  return TrainedModel{std::move(source->config), std::move(loaded->session),
                      std::move(*parameters)};
}

runtime::StatusOr<std::optional<runtime::Tokenizer>>
minigptc::findTokenizer(const WeightFlags &flags, const std::string &given,
                        runtime::RunConfig &config) {
  if (!given.empty())
    config.data.tokenizer = given;
  else if (!flags.run.empty() && !config.data.tokenizerHash.empty())
    config.data.tokenizer = runtime::OutputFolder(flags.run).tokenizer();
  if (config.data.tokenizer.empty())
    return std::optional<runtime::Tokenizer>();
  runtime::StatusOr<runtime::Tokenizer> tokenizer = runtime::openTokenizer(config);
  if (!tokenizer)
    return tokenizer.status();
  return std::optional(*std::move(tokenizer));
}

void minigptc::remarkBytes(const std::optional<runtime::Tokenizer> &tokenizer,
                           const runtime::RunConfig &config) {
  if (!tokenizer && config.model.vocabSize > 256)
    printRemark("the text is taken as bytes: no tokenizer is given, and the run has none; but the "
                "model has " +
                std::to_string(config.model.vocabSize) + " tokens (--tokenizer DIR)");
}
