//===- CommandLine.h - errors, exit statuses and flag parsing ---*- C++ -*-===//
//
// What the tools have in common. No LLVM: `minigptc-run` uses it as well.
//
//   int main(int argc, char **argv) {
//     prepareSignals();
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
/// status 130, until a run that has something to save takes them over; and a file that grows
/// beyond the limit (`ulimit -f`) is an error of its write, after which temporary files are
/// removed, instead of the process's end. First thing of `main`.
void prepareSignals();

/// A whole number in these bounds, said so if it is not.
CLI::Validator between(int64_t least, int64_t most);
/// --threads N, from 1 to 1024. `threads` is 0, the default, only if the flag is not given.
void addThreadsOption(CLI::App &app, int &threads, const std::string &what);

/// Parses and runs the chosen callback. Values that are empty are refused, but of type TEXT.
/// Unknown flags and subcommands name the nearest valid one (exit 2); exceptions of a callback
/// become errors (exit 1).
int parseCommandLine(CLI::App &app, int argc, char **argv, int &exitStatus);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_COMMON_COMMANDLINE_H
