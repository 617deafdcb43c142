//===- ModelFlags.cpp - the flags that say what to train ------------------===//
#include "tools/minigptc/ModelFlags.h"

#include "runtime/base/Suggest.h"
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
  app.add_option("--config", configFile, "Configuration file (YAML)")->type_name("FILE");
  app.add_option("--set", settings, "One key, as model.d_model=64; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--model", model, "transformer_lm or minigpt")->type_name("NAME");
  app.add_option("--devices", devices, "Number of devices (this build: 1)")->type_name("N");
  app.add_option("--mesh", mesh, "Device mesh, as data=4,tensor=2 (this build: one device)")
      ->type_name("AXES");
  app.add_option("--mode", mode, "Sharding mode (this build: none, one device)")->type_name("MODE");
}

/// What concerns several devices is refused: one device is what there is.
static Status checkOneDevice(const ModelFlags &flags) {
  static const std::vector<std::string> modes = {"dp",      "fsdp",      "tp",
                                                 "fsdp_tp", "fsdp_full", "tp_sp"};
  if (flags.devices < 1)
    return Status(StatusCode::invalidArgument,
                  "--devices must be at least 1, not " + std::to_string(flags.devices));
  if (!flags.mode.empty() && std::find(modes.begin(), modes.end(), flags.mode) == modes.end())
    return Status(StatusCode::invalidArgument, "unknown sharding mode '" + flags.mode + "'")
        .withHelp(runtime::suggestion(flags.mode, modes));
  const char *flag = flags.devices != 1    ? "--devices"
                     : !flags.mesh.empty() ? "--mesh"
                     : !flags.mode.empty() ? "--mode"
                                           : nullptr;
  if (flag)
    return Status(StatusCode::invalidArgument,
                  std::string(flag) + ": this build trains on one device; it can't shard a model")
        .withHelp("leave --devices, --mesh and --mode out");
  return Status::success();
}

runtime::StatusOr<RunConfig> ModelFlags::resolve(bool quiet) const {
  MINIGPTC_RETURN_IF_ERROR(checkOneDevice(*this));
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
  if (!quiet)
    for (const std::string &remark : builder.remarks())
      printRemark(remark);
  return builder.finish();
}
