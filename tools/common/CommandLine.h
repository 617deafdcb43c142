//===- CommandLine.h - errors, exit statuses and flag parsing ---*- C++ -*-===//
//
// What the tools have in common. No LLVM: `minigptc-run` uses it as well.
//
//   int main(int argc, char **argv) {
//     reportInterruption();
//     CLI::App app("...");
//     int exitStatus = 0;
//     ... add options, a callback that sets exitStatus
//     return parseCommandLine(app, argc, argv, exitStatus);
//   }
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_COMMON_COMMANDLINE_H
#define MINIGPTC_TOOLS_COMMON_COMMANDLINE_H

#include "minigptc/runtime/Status.h"

#include <CLI/CLI.hpp>

namespace minigptc {

/// 0 success; 1 the run failed; 2 usage or configuration; 3 not finite; 130
/// interrupted.
int exitStatusOf(const runtime::Status &status);

/// Prints "minigptc: error: WHAT", "  at …", "  help: …" to stderr, and gives the
/// exit status.
int reportError(const runtime::Status &status);
/// Prints "minigptc: remark: WHAT" to stderr.
void printRemark(const std::string &text);
/// 0, or `reportError`.
int reportStatus(const runtime::Status &status);

/// From now on Ctrl-C and SIGTERM end the process with "minigptc: error: interrupted" and exit
/// status 130, until a run that has something to save takes them over. First thing of `main`.
void reportInterruption();

/// Parses and runs the chosen callback. Unknown flags and subcommands name the
/// nearest valid one (exit 2); exceptions of a callback become errors (exit 1).
int parseCommandLine(CLI::App &app, int argc, char **argv, int &exitStatus);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_COMMON_COMMANDLINE_H
