//===- ConfigRules.h - which values a config key takes ----------*- C++ -*-===//
//
// The keys themselves and their places are listed by `visitConfig`; here are the
// ranges and words that each allows, and how a YAML value is read into a field.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_CONFIGRULES_H
#define MINIGPTC_TOOLS_MINIGPTC_CONFIGRULES_H

#include "runtime/train/RunConfig.h"

#include <limits>
#include <string>
#include <vector>
#include <yaml-cpp/yaml.h>

namespace minigptc {

/// What a key's value must be.
struct ConfigRule {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool highExcluded = false;
  std::vector<std::string> words = {}; ///< for text: the only values, if any
};

/// The rule of "section.key"; keys without one take any value of their type.
const ConfigRule &configRule(const std::string &name);

/// All "section.key" names, in order.
std::vector<std::string> configKeyNames();

/// True for names that the reference's files have and that mean nothing here, in
/// whatever section they stand.
bool isIgnoredName(const std::string &name);

/// Reads a YAML value into the field of `config` that `name` denotes. Returns what
/// is wrong with the value, or "". The name must be a known one.
std::string assignConfig(runtime::RunConfig &config, const std::string &name,
                         const YAML::Node &value);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_CONFIGRULES_H
