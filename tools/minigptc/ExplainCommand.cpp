//===- ExplainCommand.cpp - minigptc explain ------------------------------===//
#include "tools/minigptc/Commands.h"

#include "minigptc/compiler/Explain.h"
#include "models/ModelSharding.h"
#include "runtime/base/File.h"
#include "tools/common/CommandLine.h"
#include "tools/minigptc/Build.h"
#include "tools/minigptc/ModelFlags.h"
#include "tools/minigptc/ScheduleReport.h"

#include <memory>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

namespace {

struct ExplainFlags {
  ModelFlags model;
  ExplainOptions options;
  bool json = false, quiet = false, schedule = false;
  std::string svg, costs; ///< files
};

Status print(const std::string &text) {
  if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout) != 0)
    return Status(StatusCode::resourceExhausted, "can't write to standard output");
  return Status::success();
}

/// The order in which a pipeline's stages work.
Status explainSchedule(const ExplainFlags &flags) {
  runtime::StatusOr<runtime::RunConfig> config = flags.model.resolve(flags.quiet || flags.json);
  if (!config)
    return config.status();
  runtime::StatusOr<ModelSharding> sharding = shardingOf(*config);
  if (!sharding)
    return sharding.status();
  if (!sharding->stages)
    return Status(StatusCode::invalidArgument,
                  "there is no schedule: the mesh has no axis 'stage' of size 2 or more")
        .withHelp(config->model.type == "minigpt" ? "as in --mesh stage=2,batch=2,model=2"
                                                  : "as in --mesh stage=2,data=2,tensor=2 --mode "
                                                    "fsdp_tp");
  ScheduleReport report(*sharding, *config);
  if (!flags.costs.empty()) {
    runtime::StatusOr<runtime::PipelineCosts> costs = runtime::readPipelineCosts(flags.costs);
    if (!costs)
      return costs.status();
    if (Status status = report.measure(*costs); !status)
      return Status(status.code(), "'" + flags.costs + "': " + status.message())
          .withHelp(status.help());
  }
  if (!flags.svg.empty())
    MINIGPTC_RETURN_IF_ERROR(runtime::writeFileAtomically(flags.svg, report.svg()));
  return print(flags.json ? report.json() : report.text());
}

Status explainModel(const ExplainFlags &flags) {
  runtime::StatusOr<runtime::RunConfig> config = flags.model.resolve(flags.quiet || flags.json);
  if (!config)
    return config.status();
  Explanation plan = explainTraining(*config, flags.options);
  return print(flags.json ? toJson(plan) : toText(plan));
}

} // namespace

Explanation minigptc::explainTraining(const runtime::RunConfig &config,
                                      const ExplainOptions &options) {
  ProgramOptions onlyTraining{.training = true, .evaluation = false, .logits = false};
  Explanation plan = explain(traceProgram(config, onlyTraining).program, options);
  plan.mesh = meshOf(config.sharding); // With the axes of size 1, which a program does not have.
  return plan;
}

void minigptc::addExplainCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand(
      "explain", "What the devices of a mesh send each other in a training step, and why");
  command->footer("Examples:\n"
                  "  minigptc explain --preset tiny --devices 8 --mode fsdp_tp\n"
                  "  minigptc explain --preset minigpt --mesh batch=4,model=2 --json\n"
                  "  minigptc explain --preset tiny --devices 8 --mode fsdp --target cuda\n"
                  "  minigptc explain --preset minigpt --mesh stage=2,batch=2,model=2 --set "
                  "training.micro_batches=4 --schedule\n"
                  "The devices need not exist: a mesh of 512 is explained as fast as one of 8.");
  auto flags = std::make_shared<ExplainFlags>();
  flags->model.addTo(*command);
  command
      ->add_option("--target", flags->options.target,
                   "cpu, or cuda, where collectives go on beside compute")
      ->type_name("TARGET")
      ->capture_default_str();
  addOverlapOption(*command, flags->options.overlap);
  command->add_flag("--json", flags->json, "Print a JSON object");
  command->add_flag("--schedule", flags->schedule,
                    "In which order the stages of a pipeline work, and how long they wait");
  command
      ->add_option("--svg", flags->svg, "Write the schedule's picture to a file, too (--schedule)")
      ->type_name("FILE");
  command
      ->add_option("--costs", flags->costs,
                   "With times that train --profile FILE has measured (--schedule)")
      ->type_name("FILE");
  command->add_flag("--quiet", flags->quiet, "No remarks");
  command->callback([=, &exitStatus] {
    bool schedule = flags->schedule || !flags->svg.empty() || !flags->costs.empty();
    exitStatus = reportStatus(
        guardCompile([&] { return schedule ? explainSchedule(*flags) : explainModel(*flags); }));
  });
}
