#include "runtime/train/TrainingSession.h"

#include "runtime/base/File.h"
#include "runtime/text/TokenFile.h"
#include "runtime/train/SameContents.h"
#include "runtime/train/TrainingLoop.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {
namespace {

bool sameFolder(const std::string &a, const std::string &b) {
  std::error_code error;
  return a == b || std::filesystem::equivalent(a, b, error);
}

} // namespace

struct TrainingSession::Impl {
  RunConfig config;
  TrainingOptions options;
  OutputFolder out{""};
  DataSources data;
  std::optional<Checkpoint> resumed;
  std::optional<uint64_t> initHash; ///< of the weight file to begin with

  TrainingLog silent;
  TrainingLog &log() { return options.log ? *options.log : silent; }

  bool isFirst() const { return !options.processes || options.processes->isFirst(); }
  Status prepare();
  Status prepareHere();
  Status agreeOnRun();
  std::vector<Content> contents() const;
  StatusOr<MetricsFile> openMetrics();
  Status loadResumed();
  Status checkSteps() const;
  Status checkTokenizer();
  Status setState(TrainStep &step, const ProgramMetadata &metadata);
  void useAlgorithms(TrainingProgram &program);
  StatusOr<TrainingResult> run(TrainingProgram &program);
};

Status TrainingSession::Impl::loadResumed() {
  const std::string &from = options.resumeFrom.empty() ? options.outDir : options.resumeFrom;
  OutputFolder source(from);
  if (!source.holdsRun())
    return Status(StatusCode::notFound, "there is no run to resume in '" + from + "'")
        .withHelp("without --resume a new run starts");
  StatusOr<Checkpoint> checkpoint = loadNewestCheckpoint(
      source.checkpoints(), [&](const std::string &text) { log().remark(text); });
  if (checkpoint) {
    resumed = *std::move(checkpoint);
    config.name = resumed->config.name; // not "config", by the file that it has in its folder
    return Status::success();
  }
  if (checkpoint.status().code() != StatusCode::notFound)
    return checkpoint.status();
  log().remark("the run in '" + from + "' ended before its first checkpoint: starting again");
  return Status::success();
}

/// A run does not go back: fewer steps than it has would only replace its configuration.
Status TrainingSession::Impl::checkSteps() const {
  if (!resumed || config.training.maxIters >= resumed->step)
    return Status::success();
  std::string made = std::to_string(resumed->step);
  return Status(StatusCode::invalidArgument, "the run has " + made + " steps, more than the " +
                                                 std::to_string(config.training.maxIters) +
                                                 " that are asked for")
      .withHelp("--steps counts those before the --resume: give --steps N above " + made);
}

/// Tokens mean what they meant: a run keeps its tokenizer.
Status TrainingSession::Impl::checkTokenizer() {
  config.data.tokenizerHash = data.tokenizer ? tokenizerHashText(*data.tokenizer) : "";
  if (!resumed || resumed->config.data.tokenizerHash == config.data.tokenizerHash)
    return Status::success();
  auto name = [](const std::string &hash) {
    return hash.empty() ? std::string("none") : "that of hash " + hash;
  };
  return Status(StatusCode::invalidArgument,
                "the run has another tokenizer: " + name(resumed->config.data.tokenizerHash) +
                    ", not " + name(config.data.tokenizerHash))
      .withHelp("the run's own is in the folder 'tokenizer' of its output");
}

/// The first key that another process has otherwise, or an empty text.
static std::string differingKey(const std::string &a, const std::string &b) {
  using Json = nlohmann::json;
  Json one = Json::parse(a).flatten(), other = Json::parse(b).flatten();
  for (const Json *keys : {&one, &other})
    for (const auto &[key, value] : keys->items()) {
      if (one.contains(key) && other.contains(key) && one[key] == other[key])
        continue;
      std::string name = key.substr(1);
      std::replace(name.begin(), name.end(), '/', '.');
      return name + " is " + (one.contains(key) ? one[key].dump() : "absent") + " here and " +
             (other.contains(key) ? other[key].dump() : "absent") + " there";
    }
  return "";
}

/// All train the same, and go on from the same step.
Status TrainingSession::Impl::agreeOnRun() {
  nlohmann::json text = nlohmann::json::parse(config.toJson());
  text["--out"] = options.outDir;
  text["--resume"] = options.resume ? options.resumeFrom : "no";
  text["--init-from"] = options.initFrom;
  text["--save-weights"] = options.saveWeights;
  text["--dump-grads"] = options.dumpGrads;
  const std::string mine = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  ProcessGroup &group = *options.processes;
  StatusOr<std::vector<std::string>> all = group.allGather("the start of training", mine);
  if (!all)
    return all.status();
  for (size_t rank = 0; rank < all->size(); ++rank)
    if ((*all)[rank] != mine)
      return Status(StatusCode::invalidArgument,
                    "the processes are to train different things: " +
                        differingKey(mine, (*all)[rank]) + ", in " + group.nameOf(int64_t(rank)))
          .withHelp("give all the same flags and files");
  return {};
}

Status TrainingSession::Impl::prepare() {
  if (!options.processes)
    return prepareHere();
  MINIGPTC_RETURN_IF_ERROR(agreeOnRun());
  MINIGPTC_RETURN_IF_ERROR(options.processes->allWell("data and folders", prepareHere()));
  return agreeOnContents(*options.processes, contents());
}

/// What the files that are read have to have in common in all processes.
std::vector<Content> TrainingSession::Impl::contents() const {
  auto quoted = [](const std::string &path) { return path.empty() ? path : " '" + path + "'"; };
  const std::string &from = options.resumeFrom.empty() ? options.outDir : options.resumeFrom;
  const DataConfig &names = config.data;
  std::vector<Content> all = {
      {"the tokenizer" + quoted(names.tokenizer),
       data.tokenizer ? "hash " + names.tokenizerHash : "none"},
      contentOf("the training data" + quoted(names.textPath + names.trainPath), data.train.get()),
      contentOf("the validation data" + quoted(names.textPath + names.valPath), data.val.get()),
      {"the checkpoint that is gone on from, in '" + from + "',", "none"},
      {"the weight file" + quoted(options.initFrom), "none"}};
  if (resumed) {
    Content &checkpoint = all[3];
    checkpoint.value = "that of step " + std::to_string(resumed->step) + ", of " +
                       contentOf("", resumed->contentHash).value;
  }
  if (initHash)
    all[4] = contentOf(all[4].name, *initHash);
  return all;
}

Status TrainingSession::Impl::prepareHere() {
  if (options.resume)
    MINIGPTC_RETURN_IF_ERROR(loadResumed());
  MINIGPTC_RETURN_IF_ERROR(checkSteps());
  // A run that goes on elsewhere needs an empty folder like a new one.
  bool inPlace = options.resume &&
                 (options.resumeFrom.empty() || sameFolder(options.resumeFrom, options.outDir));
  StatusOr<DataSources> sources = openData(config);
  if (!sources)
    return sources.status();
  data = *std::move(sources);
  MINIGPTC_RETURN_IF_ERROR(checkTokenizer());
  if (!options.initFrom.empty()) {
    StatusOr<SafetensorsFile> weights = SafetensorsFile::open(options.initFrom);
    if (!weights)
      return weights.status();
    if (options.processes)
      initHash = weights->contentHash();
  }
  for (const std::string &path : {options.saveWeights, options.dumpGrads})
    if (!path.empty() && isFirst())
      MINIGPTC_RETURN_IF_ERROR(checkWritable(path));
  if (!isFirst()) {
    out = OutputFolder(options.outDir);
    return Status::success();
  }
  StatusOr<OutputFolder> folder = OutputFolder::open(options.outDir, inPlace);
  if (!folder)
    return folder.status();
  out = *std::move(folder);
  return Status::success();
}

/// State from a checkpoint, or from `init` and a weight file.
Status TrainingSession::Impl::setState(TrainStep &step, const ProgramMetadata &metadata) {
  if (resumed) {
    Status status = step.setState(resumed->tensors);
    return status.ok()
               ? status
               : Status(status.code(), "the checkpoint is of another model: " + status.message())
                     .withHelp("resume with the configuration that the run has in its config.yaml");
  }
  MINIGPTC_RETURN_IF_ERROR(step.initialize(seedKey(config.training.seed)));
  if (options.initFrom.empty())
    return Status::success();
  StatusOr<NamedArrays> weights = loadWeights(options.initFrom, metadata.parameters);
  return weights ? step.setParameters(*weights) : weights.status();
}

/// Products as the run before computed them: so that a resumed run has the bits of one that
/// never stopped.
void TrainingSession::Impl::useAlgorithms(TrainingProgram &program) {
  std::string now = program.productAlgorithms().library, before = resumed->products.library;
  auto nameOf = [](const std::string &library) {
    return library.empty() ? std::string("another kind of device") : library;
  };
  if (now != before)
    return log().remark("matrix products were computed by " + nameOf(before) + ", now by " +
                        nameOf(now) + ": results may differ in the last bits");
  if (now.empty())
    return;
  StatusOr<int64_t> others = program.useProductAlgorithms(resumed->products);
  if (!others)
    log().remark("the algorithms of matrix products are not those before: " +
                 others.status().message() + "; results may differ in the last bits");
  else if (*others > 0)
    log().remark(std::to_string(*others) +
                 " matrix products are computed by another algorithm than before: results may "
                 "differ in the last bits");
}

/// The first process writes; all have to know what has been evaluated.
StatusOr<MetricsFile> TrainingSession::Impl::openMetrics() {
  StatusOr<MetricsFile> file = !isFirst() ? MetricsFile::none(-1)
                               : resumed  ? MetricsFile::resume(out.metrics(), resumed->step)
                                          : MetricsFile::create(out.metrics());
  if (!file || !options.processes)
    return file;
  auto evaluated = options.processes->fromFirst("the metrics", std::to_string(file->evaluatedAt()));
  if (!evaluated)
    return evaluated.status();
  return isFirst() ? std::move(file) : MetricsFile::none(std::atoll(evaluated->c_str()));
}

StatusOr<TrainingResult> TrainingSession::Impl::run(TrainingProgram &program) {
  StatusOr<ProgramMetadata> metadata = ProgramMetadata::fromJson(program.metadata());
  if (!metadata)
    return metadata.status();
  StatusOr<TrainStep> step = TrainStep::bind(program);
  if (!step)
    return step.status();
  if (data.train->size() <= step->contextLength())
    return Status(StatusCode::failedPrecondition,
                  "the training data is shorter than the program's context + 1");
  for (const std::string &remark : data.remarks)
    log().remark(remark);
  std::string tight;
  const EntryInfo &trainStep = *program.entry("train_step");
  if (std::optional<MemorySize> memory = program.deviceMemory())
    MINIGPTC_RETURN_IF_ERROR(checkDeviceMemory(
        memoryOf(trainStep), trainStep.queueBytes + trainStep.collectiveBytes, *memory));
  else
    MINIGPTC_RETURN_IF_ERROR(
        checkMemory(memoryOf(trainStep), program.devices(), memoryLimits(), tight));
  if (!tight.empty())
    log().remark(tight);
  // Before anything is written: weights or a checkpoint that do not fit leave the folder
  // as it was.
  MINIGPTC_RETURN_IF_ERROR(setState(*step, *metadata));
  if (data.tokenizer && isFirst())
    MINIGPTC_RETURN_IF_ERROR(data.tokenizer->save(out.tokenizer()));
  nlohmann::json keys = nlohmann::json::parse(config.toJson());
  keys.erase("name"); // Not a key of a configuration file.
  std::string yaml = options.configYaml.empty() ? keys.dump(2) + "\n" : options.configYaml;
  if (isFirst())
    MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(out.config(), std::string_view(yaml)));
  StatusOr<MetricsFile> metrics = openMetrics();
  if (!metrics)
    return metrics.status();
  TrainingLoop loop(config, options, out, data, log(), program, *std::move(step),
                    *std::move(metadata), *std::move(metrics));
  if (resumed)
    useAlgorithms(program), loop.goOnFrom(*resumed);
  resumed.reset(); // The state lives in the loop, once.
  return loop.run();
}

TrainingSession::TrainingSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrainingSession::TrainingSession(TrainingSession &&) noexcept = default;
TrainingSession &TrainingSession::operator=(TrainingSession &&) noexcept = default;
TrainingSession::~TrainingSession() = default;

StatusOr<TrainingSession> TrainingSession::prepare(RunConfig config, TrainingOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->config = std::move(config);
  impl->options = std::move(options);
  MINIGPTC_RETURN_IF_ERROR(impl->prepare());
  return TrainingSession(std::move(impl));
}

void TrainingSession::setCompileReport(CompileReport report) { impl_->options.compile = report; }
void TrainingSession::setGemmPeak(std::function<double()> measure) {
  impl_->options.gemmPeak = std::move(measure);
}
void TrainingSession::setGradientProgram(
    std::function<StatusOr<std::unique_ptr<TrainingProgram>>()> make) {
  impl_->options.gradientProgram = std::move(make);
}

StatusOr<TrainingResult> TrainingSession::run(TrainingProgram &program) {
  return impl_->run(program);
}

} // namespace minigptc::runtime
