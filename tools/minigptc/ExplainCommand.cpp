//===- ExplainCommand.cpp - minigptc explain ------------------------------===//
#include "tools/minigptc/Commands.h"

#include "minigptc/compiler/Explain.h"
#include "models/ModelSharding.h"
#include "tools/common/CommandLine.h"
#include "tools/minigptc/Build.h"
#include "tools/minigptc/ModelFlags.h"

#include <memory>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

namespace {

struct ExplainFlags {
  ModelFlags model;
  ExplainOptions options;
  bool json = false, quiet = false;
};

Status explainModel(const ExplainFlags &flags) {
  runtime::StatusOr<runtime::RunConfig> config = flags.model.resolve(flags.quiet || flags.json);
  if (!config)
    return config.status();
  Explanation plan = explainTraining(*config, flags.options);
  std::string text = flags.json ? toJson(plan) : toText(plan);
  if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout) != 0)
    return Status(StatusCode::resourceExhausted, "can't write to standard output");
  return Status::success();
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
  command->add_flag("--quiet", flags->quiet, "No remarks");
  command->callback([=, &exitStatus] {
    exitStatus = reportStatus(guardCompile([&] { return explainModel(*flags); }));
  });
}
