//===- ModelFlags.h - the flags that say what to train ----------*- C++ -*-===//
//
// --preset, --config, --set, --model and what stands for a key of its own: shared
// by train, compile, config and generate.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_MODELFLAGS_H
#define MINIGPTC_TOOLS_MINIGPTC_MODELFLAGS_H

#include "minigptc/runtime/Status.h"
#include "runtime/train/RunConfig.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace minigptc {

class ConfigBuilder;

struct ModelFlags {
  std::string preset, configFile, model;
  std::vector<std::string> settings;
  std::optional<int64_t> devices;
  std::string mesh, mode, bucketBytes;

  /// Adds the flags to a subcommand.
  void addTo(CLI::App &app);
  /// Whether any flag names a configuration.
  bool chosen() const { return !preset.empty() || !configFile.empty() || !model.empty(); }
  /// Whether --devices, --mesh, --mode or --bucket-bytes is given.
  bool choosesDevices() const {
    return devices || !mesh.empty() || !mode.empty() || !bucketBytes.empty();
  }
  /// A run's configuration to evaluate it, on the devices that the flags choose.
  runtime::StatusOr<runtime::RunConfig> onDevices(const runtime::RunConfig &config) const;
  /// The resolved configuration: --set over --config over --preset over defaults.
  /// Remarks go to stderr unless `quiet`.
  runtime::StatusOr<runtime::RunConfig> resolve(bool quiet) const;

private:
  runtime::Status applyDevices(ConfigBuilder &builder) const;
};

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_MODELFLAGS_H
