//===- Commands.h - the subcommands of `minigptc` ---------------*- C++ -*-===//
//
// Each function adds one subcommand with its flags to the application; when the
// command line chooses it, it runs and puts its exit status into `exitStatus`.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_COMMANDS_H
#define MINIGPTC_TOOLS_MINIGPTC_COMMANDS_H

#include <CLI/CLI.hpp>

namespace minigptc {

void addTrainCommand(CLI::App &app, int &exitStatus);
void addEvalCommand(CLI::App &app, int &exitStatus);
void addGenerateCommand(CLI::App &app, int &exitStatus);
void addCompileCommand(CLI::App &app, int &exitStatus);
void addExplainCommand(CLI::App &app, int &exitStatus);
void addInspectCommand(CLI::App &app, int &exitStatus);
void addDevicesCommand(CLI::App &app, int &exitStatus);
void addConfigCommand(CLI::App &app, int &exitStatus);
void addDataCommand(CLI::App &app, int &exitStatus);
/// Of `data`.
void addPrepareCommand(CLI::App &parent, int &exitStatus);
void addTokenizerCommand(CLI::App &app, int &exitStatus);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_COMMANDS_H
