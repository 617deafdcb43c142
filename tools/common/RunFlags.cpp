//===- RunFlags.cpp - flags of a training run -----------------------------===//
#include "tools/common/RunFlags.h"

#include "runtime/base/File.h"
#include "runtime/base/Suggest.h"
#include "runtime/text/DataFolder.h"
#include "runtime/train/StepProfile.h"
#include "runtime/train/TokenSource.h"

#include <cmath>
#include <cstdio>

using namespace minigptc;
using runtime::RunConfig;
using runtime::Status;
using runtime::StatusCode;

static Status usage(std::string message, std::string help = "") {
  return Status(StatusCode::invalidArgument, std::move(message)).withHelp(std::move(help));
}

void DataFlags::addTo(CLI::App &app) {
  app.add_option("--text", text,
                 "A text, used as bytes if there is no tokenizer; its last tenth is held out")
      ->type_name("FILE");
  app.add_option("--tokenizer", tokenizer, "Folder or tokenizer.json, to encode the text with")
      ->type_name("DIR");
  app.add_option(
         "--data", data,
         "Token file (raw little-endian uint16, or uint32 for large vocabularies; llm.c's), "
         "or folder of `data prepare`. Given several times: all of them, each as often as "
         "its =WEIGHT says, if there is one")
      ->type_name("FILE[=WEIGHT]")
      ->expected(1, 1 << 20)
      ->allow_extra_args(false);
  app.add_option("--val", val, "Token file held out for evaluation")->type_name("FILE");
  app.add_flag("--dummy-data", dummy, "Random tokens");
  app.add_option("--order", order, "random or sequential")->type_name("ORDER");
}

/// A folder stands for its files.
Status DataFlags::applyFiles(runtime::DataConfig &config) const {
  std::vector<std::string> files;
  for (const std::string &entry : data) {
    auto [path, weight] = runtime::splitWeight(entry);
    runtime::DataFolder folder(path);
    if (!folder.exists()) {
      files.push_back(entry);
      continue;
    }
    MINIGPTC_RETURN_IF_ERROR(folder.checkComplete());
    files.push_back(folder.train() + entry.substr(path.size()));
    if (config.valPath.empty())
      config.valPath = folder.valIfThere();
    if (tokenizer.empty() && !folder.tokenizerIfThere().empty())
      config.tokenizer = folder.tokenizer();
  }
  config.trainPath.clear();
  config.mixture.clear();
  if (files.size() == 1 && !runtime::splitWeight(files.front()).second)
    config.trainPath = files.front();
  else
    config.mixture = files;
  return Status::success();
}

Status DataFlags::apply(RunConfig &config) const {
  if ((text.empty() ? 0 : 1) + (data.empty() ? 0 : 1) + (dummy ? 1 : 0) > 1)
    return usage("--text, --data and --dummy-data exclude each other");
  if (!val.empty() && !text.empty())
    return usage("--val goes with --data: of a text, the last tenth is held out");
  if (!text.empty() || !data.empty() || dummy) {
    config.data.textPath = text;
    config.data.valPath.clear();
    config.data.dummy = dummy;
    MINIGPTC_RETURN_IF_ERROR(applyFiles(config.data));
  }
  if (!tokenizer.empty())
    config.data.tokenizer = tokenizer;
  if (!val.empty())
    config.data.valPath = val;
  if (!order.empty()) {
    if (order != "random" && order != "sequential")
      return usage("unknown order '" + order + "'",
                   runtime::suggestion(order, {"random", "sequential"}));
    config.data.order = order;
  }
  return Status::success();
}

void RunFlags::addTo(CLI::App &app) {
  data.addTo(app);
  app.add_option("--steps", steps, "Updates to make in total, those before a --resume included")
      ->type_name("N");
  app.add_option("--out", out,
                 "Output folder (default: runs/ and the name of preset or config file)")
      ->type_name("DIR");
  resume_ = app.add_option("--resume", resumeFrom_,
                           "Go on from the newest checkpoint of DIR (default: of --out)")
                ->type_name("[DIR]")
                ->expected(0, 1);
  app.add_option("--init-from", initFrom, "First parameters (safetensors)")->type_name("FILE");
  app.add_option("--save-weights", saveWeights, "Parameters after the last step (safetensors)")
      ->type_name("FILE");
  app.add_option("--dump-grads", dumpGrads,
                 "The first step's gradients, before clipping (safetensors)")
      ->type_name("FILE");
  app.add_option("--peak-flops", peakFlops, "The device's peak in FLOP/s: metrics get `mfu`")
      ->type_name("F");
  app.add_option(
         "--profile", profile,
         "Time every instruction of a few steps: a trace for Perfetto, and tables on stderr")
      ->type_name("FILE");
  app.add_flag("--quiet", quiet, "Errors only");
}

Status RunFlags::apply(RunConfig &config) const {
  MINIGPTC_RETURN_IF_ERROR(data.apply(config));
  if (steps) {
    if (*steps < 0)
      return usage("--steps must not be negative, but is " + std::to_string(*steps));
    config.training.maxIters = *steps;
  }
  if (!(peakFlops >= 0))
    return usage("--peak-flops must be a positive number");
  if (!profile.empty())
    MINIGPTC_RETURN_IF_ERROR(runtime::checkWritable(profile));
  return Status::success();
}

bool RunFlags::resumes() const { return resume_->count() > 0; }

std::string RunFlags::resumedFolder() const { return resumeFrom_.empty() ? out : resumeFrom_; }

runtime::TrainingOptions RunFlags::trainingOptions(const RunConfig &config) const {
  runtime::TrainingOptions options;
  options.outDir = !out.empty()                     ? out
                   : !resumeFrom_.empty()           ? resumeFrom_
                   : !config.checkpoint.dir.empty() ? config.checkpoint.dir
                                                    : "runs/" + config.name;
  options.resume = resumes() || !config.checkpoint.resumeFrom.empty();
  options.resumeFrom = !resumeFrom_.empty() ? resumeFrom_
                       : resumes()          ? ""
                                            : config.checkpoint.resumeFrom;
  options.initFrom = initFrom;
  options.saveWeights = saveWeights;
  options.dumpGrads = dumpGrads;
  options.peakFlops = peakFlops;
  if (const runtime::ShardingConfig &sharding = config.sharding; sharding.enabled) {
    options.mode = sharding.mode;
    for (size_t i = 0; i < sharding.meshShape.size(); ++i) {
      options.mesh[sharding.meshAxisNames[i]] = sharding.meshShape[i];
      options.devices *= sharding.meshShape[i];
    }
  }
  return options;
}

runtime::StatusOr<runtime::TrainingResult>
minigptc::runTraining(runtime::TrainingSession &training, runtime::Session &session,
                      const std::string &profile, std::unique_ptr<runtime::TrainingLog> log) {
  if (profile.empty()) {
    runtime::SessionProgram program(session);
    return training.run(program);
  }
  runtime::StepProfile program(session);
  runtime::StatusOr<runtime::TrainingResult> result = training.run(program);
  log.reset(); // Ends the live line.
  Status written = writeProfile(program, profile);
  return result && !written ? runtime::StatusOr<runtime::TrainingResult>(written) : result;
}

void minigptc::printResult(const runtime::TrainingResult &result, const std::string &outDir,
                           bool emulated) {
  long long steps = (long long)result.steps;
  if (result.made > 0 && !std::isfinite(result.finalLoss))
    std::printf("steps %lld, last loss not finite, updates skipped: %lld, run in %s\n", steps,
                (long long)result.skipped, outDir.c_str());
  else if (result.made == 0)
    std::printf("steps %lld, none of them now, run in %s\n", steps, outDir.c_str());
  else
    std::printf("steps %lld, final loss %.6g, %.0f tokens/s%s, run in %s\n", steps,
                result.finalLoss, result.tokensPerSecond, emulated ? " emulated" : "",
                outDir.c_str());
}
