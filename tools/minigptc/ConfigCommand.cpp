//===- ConfigCommand.cpp - minigptc config --------------------------------===//
#include "tools/minigptc/Commands.h"

#include "tools/common/CommandLine.h"
#include "tools/minigptc/Config.h"
#include "tools/minigptc/ModelFlags.h"

#include <memory>

using namespace minigptc;

/// `config show`: prints the resolved configuration; `config check`: only says
/// whether it is one.
static void addAction(CLI::App &parent, const char *name, const char *summary, bool print,
                      int &exitStatus) {
  CLI::App *command = parent.add_subcommand(name, summary);
  auto flags = std::make_shared<ModelFlags>();
  flags->addTo(*command);
  command->add_option("FILE", flags->configFile, "Configuration file (YAML), as --config");
  command->callback([=, &exitStatus] {
    if (!print && !flags->chosen() && flags->settings.empty() && !flags->choosesDevices()) {
      exitStatus = reportError(runtime::Status(runtime::StatusCode::invalidArgument,
                                               "there is no configuration to check")
                                   .withHelp("name a file: `minigptc config check run.yaml`"));
      return;
    }
    runtime::StatusOr<runtime::RunConfig> config = flags->resolve(/*quiet=*/false);
    if (!config) {
      exitStatus = reportError(config.status());
      return;
    }
    std::string text = print ? toYaml(*config) : "ok\n";
    exitStatus = fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
  });
}

void minigptc::addConfigCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command = app.add_subcommand("config", "Shows or checks a configuration");
  command->footer("Example:\n  minigptc config show --preset tiny --set model.num_layers=6\n  "
                  "minigptc config check run.yaml");
  command->require_subcommand(1);
  addAction(*command, "show", "Prints the resolved configuration", true, exitStatus);
  addAction(*command, "check", "Says what is wrong with a configuration", false, exitStatus);
}
