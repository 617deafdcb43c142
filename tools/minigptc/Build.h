//===- Build.h - from a configuration to a loaded program -------*- C++ -*-===//
//
// Traces the model that a configuration describes, compiles it in memory and
// loads the artifact into the same runtime that minigptc-run uses.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_BUILD_H
#define MINIGPTC_TOOLS_MINIGPTC_BUILD_H

#include "minigptc/compiler/Compile.h"
#include "minigptc/compiler/Explain.h"
#include "minigptc/runtime/Session.h"
#include "minigptc/trace/Program.h"
#include "models/Registry.h"
#include "runtime/train/RunConfig.h"
#include "tools/common/Launched.h"

#include <CLI/CLI.hpp>

#include <functional>

namespace minigptc {

/// --threads, --target, --cpu, --gpu-arch, --timing: how to compile and run.
struct BuildFlags {
  int threads = 0;
  /// Empty: cuda where a driver and a GPU are found, else cpu.
  std::string target, cpu = "native", gpuArchs, overlap = "auto";
  bool timing = false, noCache = false, verifyEach = false;
  /// Which share the devices of what is loaded; null: this process has all.
  ProcessGroupRef processes = {};

  void addTo(CLI::App &app);
  CompileOptions options() const;
  /// The target, chosen if none is given.
  std::string chosenTarget() const;
  /// A wrong --target, --gpu-arch or --cpu: to be refused before anything is done.
  runtime::Status check() const;
};

/// "cuda:test (a GPU emulated …)": what is printed of a program's target.
std::string describeTarget(const runtime::Session &session);

/// --overlap auto|on|off, of commands that have no BuildFlags too.
void addOverlapOption(CLI::App &app, std::string &overlap);

struct TracedProgram {
  Program program;
  double seconds = 0; ///< that tracing took
};

/// Throws TraceError for a model that can't be built.
TracedProgram traceProgram(const runtime::RunConfig &config, const ProgramOptions &options);

/// The plan of a training step on the configured mesh. Throws as traceProgram and compile.
Explanation explainTraining(const runtime::RunConfig &config, const ExplainOptions &options);

struct LoadedProgram {
  runtime::Session session;
  CompileStats stats; ///< tracing included
};

/// Traces, compiles and loads. Wrong flags are refused first.
runtime::StatusOr<LoadedProgram> buildSession(const runtime::RunConfig &config,
                                              const ProgramOptions &options,
                                              const BuildFlags &flags);

/// Fails if the mesh has more devices than the processes simulate, as a plan may, or the
/// processes cannot share them.
runtime::Status checkDevices(const runtime::RunConfig &config, const BuildFlags &flags,
                             int64_t processes);

/// Fails if training the model with its batch can't fit into this machine's memory.
runtime::Status checkFits(const runtime::RunConfig &config);

/// Runs `body`, turning TraceError and CompileError into a Status.
runtime::Status guardCompile(const std::function<runtime::Status()> &body);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_BUILD_H
