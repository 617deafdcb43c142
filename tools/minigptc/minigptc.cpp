//===- minigptc.cpp - the command line ------------------------------------===//
#include "tools/common/CommandLine.h"
#include "tools/minigptc/Commands.h"

using namespace minigptc;

int main(int argc, char **argv) {
  reportInterruption();
  CLI::App app("minigptc traces a model written in C++, differentiates it and compiles the whole "
               "train step.",
               "minigptc");
  app.set_version_flag("--version", std::string("minigptc " MINIGPTC_VERSION
                                                ", MLIR " MINIGPTC_MLIR_VERSION ", without CUDA"));
  app.footer("Example:\n  minigptc train --preset tiny --text book.txt\n\n`minigptc COMMAND "
             "--help` shows a command's flags.");
  app.require_subcommand(1);
  int exitStatus = 0;
  addTrainCommand(app, exitStatus);
  addEvalCommand(app, exitStatus);
  addGenerateCommand(app, exitStatus);
  addCompileCommand(app, exitStatus);
  addExplainCommand(app, exitStatus);
  addInspectCommand(app, exitStatus);
  addDevicesCommand(app, exitStatus);
  addConfigCommand(app, exitStatus);
  addDataCommand(app, exitStatus);
  return parseCommandLine(app, argc, argv, exitStatus);
}
