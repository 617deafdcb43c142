//===- ModelFlags.cpp - the flags that say what to train ------------------===//
#include "tools/minigptc/ModelFlags.h"

#include "models/ModelSharding.h"
#include "tools/common/CommandLine.h"
#include "tools/minigptc/Config.h"

#include <cstdio>

using namespace minigptc;
using runtime::RunConfig;
using runtime::Status;
using runtime::StatusCode;

void ModelFlags::addTo(CLI::App &app) {
  app.add_option("--preset", preset,
                 "Named configuration: nano, tiny, default, minigpt-tiny, minigpt")
      ->type_name("NAME");
  app.add_option("--config", configFile,
                 "Configuration file (YAML); its keys: `minigptc config show`")
      ->type_name("FILE");
  app.add_option("--set", settings, "One key, as model.d_model=64; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--model", model, "transformer_lm or minigpt")->type_name("NAME");
  app.add_option(
         "--devices", devices,
         "Number of devices: GPUs with --target cuda, else simulated in this process (default: "
         "1; of a run that is resumed or evaluated, its own)")
      ->type_name("N");
  app.add_option(
         "--mesh", mesh,
         "Axes and sizes, as data=4,tensor=2 (minigpt: batch=4,model=2; stages of a pipeline: "
         "stage=2,batch=2,model=2); default: by mode")
      ->type_name("AXES");
  app.add_option("--mode", mode,
                 "How the Transformer LM is sharded: dp, fsdp, tp, fsdp_tp, fsdp_full, tp_sp")
      ->type_name("MODE");
  app.add_option("--bucket-bytes", bucketBytes,
                 "Most bytes of several collectives joined into one (default: no limit)")
      ->type_name("N");
}

Status ModelFlags::applyDevices(ConfigBuilder &builder) const {
  if (devices && *devices < 1)
    return Status(StatusCode::invalidArgument,
                  "--devices must be at least 1, not " + std::to_string(*devices));
  MINIGPTC_RETURN_IF_ERROR(builder.applyDevices(devices.value_or(0), mesh, mode));
  if (bucketBytes.empty())
    return Status::success();
  return builder.applySetting("sharding.bucket_bytes=" + bucketBytes,
                              "--bucket-bytes " + bucketBytes);
}

runtime::StatusOr<RunConfig> ModelFlags::onDevices(const RunConfig &config) const {
  ConfigBuilder builder(config);
  if (choosesDevices())
    builder.dropTrainingLayout();
  MINIGPTC_RETURN_IF_ERROR(applyDevices(builder));
  return builder.finish();
}

static void remarkOn(const RunConfig &config, const ModelSharding &sharding) {
  const StagePlan &plan = *sharding.stages;
  if (plan.pipeline.microBatches == 1)
    printRemark(remarkOnBubble(plan.pipeline, sequencesOfReplica(config, sharding)));
  if (std::string remark = remarkOnBalance(plan); !remark.empty())
    printRemark(remark);
}

runtime::StatusOr<RunConfig> ModelFlags::resolve(bool quiet) const {
  ConfigBuilder builder;
  // A model named without a preset starts from that model's reference run.
  if (!preset.empty())
    MINIGPTC_RETURN_IF_ERROR(builder.applyPreset(preset));
  else if (model == "minigpt")
    MINIGPTC_RETURN_IF_ERROR(builder.applyPreset("minigpt"));
  if (!configFile.empty())
    MINIGPTC_RETURN_IF_ERROR(builder.applyFile(configFile));
  if (!model.empty())
    MINIGPTC_RETURN_IF_ERROR(builder.applySetting("model.type=" + model, "--model " + model));
  for (const std::string &setting : settings)
    MINIGPTC_RETURN_IF_ERROR(builder.applySetting(setting, "--set " + setting));
  MINIGPTC_RETURN_IF_ERROR(applyDevices(builder));
  if (!quiet)
    for (const std::string &remark : builder.remarks())
      printRemark(remark);
  runtime::StatusOr<RunConfig> config = builder.finish();
  if (config && !quiet && countStages(*config) > 1)
    if (runtime::StatusOr<ModelSharding> sharding = shardingOf(*config);
        sharding && sharding->stages)
      remarkOn(*config, *sharding);
  return config;
}
