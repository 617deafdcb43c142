//===- ConfigKeys.h - every key of a config file ----------------*- C++ -*-===//
//
// The table behind Config.h: a key's name, how a YAML value is checked and put
// into RunConfig, and how it is printed.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_CONFIGKEYS_H
#define MINIGPTC_TOOLS_MINIGPTC_CONFIGKEYS_H

#include "runtime/train/RunConfig.h"

#include <functional>
#include <string>
#include <vector>
#include <yaml-cpp/yaml.h>

namespace minigptc {

/// One key, "section.name".
struct ConfigKey {
  std::string name;
  /// Puts the value into the configuration; returns what is wrong with it, or "".
  std::function<std::string(const YAML::Node &, runtime::RunConfig &)> set;
  /// The value as YAML; absent for keys that are only accepted.
  std::function<YAML::Node(const runtime::RunConfig &)> get;
};

/// All keys, sections in the order of SEMANTICS.
const std::vector<ConfigKey> &configKeys();
/// The key of that name, or null.
const ConfigKey *findConfigKey(const std::string &name);
/// True for the names that the reference's files have and that mean nothing
/// here, in whatever section they stand.
bool isIgnoredName(const std::string &name);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_CONFIGKEYS_H
