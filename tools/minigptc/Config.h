//===- Config.h - config files, presets and --set ---------------*- C++ -*-===//
//
// Brings the sources of a configuration together, weakest first: defaults,
// preset, file, `--set section.key=value`, flags. Every key of a config
// file is known here, with its type, its range and its place in RunConfig.
//
//   ConfigBuilder builder;
//   builder.applyPreset("tiny");
//   builder.applyFile("run.yaml");
//   builder.applySetting("model.d_model=64");
//   StatusOr<RunConfig> config = builder.finish();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_CONFIG_H
#define MINIGPTC_TOOLS_MINIGPTC_CONFIG_H

#include "minigptc/runtime/Status.h"
#include "runtime/train/RunConfig.h"

#include <map>
#include <string>
#include <vector>

namespace minigptc {

class ConfigBuilder {
public:
  ConfigBuilder() = default;
  /// Goes on from a resolved configuration, as a checkpoint has it.
  explicit ConfigBuilder(const runtime::RunConfig &config) : config_(config), resolved_(true) {}
  /// Unknown names fail with the nearest one.
  runtime::Status applyPreset(const std::string &name);
  /// YAML. Fails at the first wrong key or value, naming file and line.
  runtime::Status applyFile(const std::string &path);
  /// "section.key=value", the value in YAML. `place` is what an error names.
  runtime::Status applySetting(const std::string &setting, const std::string &place);
  /// --devices, --mesh and --mode, where given (0 devices, empty): over what was set before.
  runtime::Status applyDevices(int64_t devices, const std::string &mesh, const std::string &mode);
  /// What says how a training step is shared out gets its default: evaluation on other devices
  /// does not ask for it.
  void dropTrainingLayout();
  /// Checks what concerns several keys (heads divide d_model, c > w, …).
  runtime::StatusOr<runtime::RunConfig> finish() const;

  /// Keys that mean nothing here, and were skipped: a remark each.
  const std::vector<std::string> &remarks() const { return remarks_; }
  /// Where a key was last set, for errors; empty if it has its default.
  std::string placeOf(const std::string &key) const;
  runtime::RunConfig &config() { return config_; }

private:
  runtime::Status setDevices(int64_t devices, const std::string &mesh, const std::string &mode);
  runtime::Status finishSharding(runtime::RunConfig &config) const;
  runtime::RunConfig config_;
  bool resolved_ = false; ///< sharding.enabled says whether the model is sharded
  std::map<std::string, std::string> places_;
  std::vector<std::string> remarks_;
};

/// Names of all presets.
std::vector<std::string> presetNames();

/// The configuration as a config file, which loads again and is the same.
std::string toYaml(const runtime::RunConfig &config);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_CONFIG_H
