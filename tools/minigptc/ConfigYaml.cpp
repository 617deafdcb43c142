//===- ConfigYaml.cpp - a configuration as a config file ------------------===//
#include "tools/minigptc/Config.h"

#include <charconv>
#include <cmath>
#include <yaml-cpp/yaml.h>

using namespace minigptc;

namespace {

/// The shortest text that reads back as the same number, without an exponent
/// where a person would write none: 0.0006, not 6e-04.
std::string number(double value) {
  double size = std::abs(value);
  auto format = value == 0 || (size >= 1e-5 && size < 1e15) ? std::chars_format::fixed
                                                            : std::chars_format::scientific;
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, value, format).ptr;
  return std::string(text, end);
}

void emit(YAML::Emitter &out, double value) { out << number(value); }
void emit(YAML::Emitter &out, int64_t value) { out << value; }
void emit(YAML::Emitter &out, uint64_t value) { out << value; }
void emit(YAML::Emitter &out, bool value) { out << value; }
void emit(YAML::Emitter &out, const std::string &value) {
  if (value.empty())
    out << YAML::Null;
  else
    out << value;
}
template <typename T> void emit(YAML::Emitter &out, const std::optional<T> &value) {
  if (value)
    emit(out, *value);
  else
    out << YAML::Null;
}
template <typename T> void emit(YAML::Emitter &out, const std::vector<T> &values) {
  if (values.empty()) {
    out << YAML::Null;
    return;
  }
  out << YAML::Flow << YAML::BeginSeq;
  for (const T &value : values)
    emit(out, value);
  out << YAML::EndSeq;
}
void emit(YAML::Emitter &out, const std::tuple<const double &, const double &> &pair) {
  emit(out, std::vector<double>{std::get<0>(pair), std::get<1>(pair)});
}

} // namespace

std::string minigptc::toYaml(const runtime::RunConfig &config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::string current;
  runtime::visitConfig(config, [&](const std::string &section, const char *key, const auto &value) {
    if (section != current) {
      if (!current.empty())
        out << YAML::EndMap;
      out << YAML::Key << section << YAML::Value << YAML::BeginMap;
      current = section;
    }
    out << YAML::Key << key << YAML::Value;
    emit(out, value);
  });
  out << YAML::EndMap;
  if (!config.schedule)
    out << YAML::Key << "lr_schedule" << YAML::Value << YAML::Null;
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}
