//===- minigptc.cpp - the command line ------------------------------------===//
#include "compiler/target/cuda/NvJitLink.h"
#include "tools/common/CommandLine.h"
#include "tools/minigptc/Commands.h"

using namespace minigptc;

/// With the CUDA toolkit that makes machine code of GPUs, if one is found.
static std::string describeVersion() {
  std::string toolkit = cuda::nvJitLinkVersion();
  return "minigptc " MINIGPTC_VERSION ", MLIR " MINIGPTC_MLIR_VERSION ", " +
         (toolkit.empty() ? "no CUDA toolkit" : "CUDA toolkit " + toolkit);
}

int main(int argc, char **argv) {
  prepareSignals();
  CLI::App app("minigptc traces a model written in C++, differentiates it and compiles the whole "
               "train step.",
               "minigptc");
  app.set_version_flag("--version", describeVersion);
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
  addTokenizerCommand(app, exitStatus);
  return parseCommandLine(app, argc, argv, exitStatus);
}
