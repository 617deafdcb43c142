//===- ConfigRules.cpp - which values a config key takes ------------------===//
#include "tools/minigptc/ConfigRules.h"

#include "runtime/base/Suggest.h"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>

using namespace minigptc;
using runtime::RunConfig;

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

static ConfigRule range(double low, double high = std::numeric_limits<double>::infinity()) {
  return {.low = low, .high = high};
}
static ConfigRule belowOne() { return {.low = 0, .high = 1, .highExcluded = true}; }
static ConfigRule words(std::vector<std::string> list) { return {.words = std::move(list)}; }

static std::map<std::string, ConfigRule> makeRules() {
  return {
      {"model.type", words({"transformer_lm", "minigpt"})},
      {"model.d_model", range(1, 1 << 17)},
      {"model.num_heads", range(1, 1 << 12)},
      {"model.d_ff", range(1, 1 << 20)},
      {"model.num_layers", range(1, 1 << 12)},
      {"model.vocab_size", range(1, 1 << 24)},
      {"model.context_length", range(1, 1 << 22)},
      {"model.theta", range(1e-3, 1e12)},
      {"model.dropout", belowOne()},
      {"model.variant", words({"full", "simple"})},
      {"model.annotations", words({"default", "reference"})},
      {"sharding.mesh_shape", range(1)},
      {"sharding.bucket_bytes", range(1)},
      {"sharding.stage_blocks", range(0)},
      {"sharding.stage_balance", words({"count", "cost"})},
      {"sharding.stage_costs", range(0, 1e12)},
      {"sharding.stage_chunks", range(1, 1 << 12)},
      {"optimizer.type", words({"adamw", "adam", "sgd"})},
      {"optimizer.lr", range(0, 1e30)},
      {"optimizer.betas", belowOne()},
      {"optimizer.weight_decay", range(0, 1e6)},
      {"optimizer.eps", range(0, 1)},
      {"optimizer.momentum", belowOne()},
      {"optimizer.decay", words({"all", "matrices"})},
      {"lr_schedule.warmup_iters", range(0)},
      {"lr_schedule.max_learning_rate", range(0, 1e30)},
      {"lr_schedule.min_learning_rate", range(0, 1e30)},
      {"lr_schedule.cosine_cycle_iters", range(1)},
      {"training.batch_size", range(1, 1 << 20)},
      {"training.max_iters", range(0)},
      {"training.eval_interval", range(0)},
      {"training.log_interval", range(1)},
      {"training.perf_warmup_steps", range(0)},
      {"training.gradient_clip", range(0)},
      {"training.seed", range(0)},
      {"training.precision", words({"f32", "bf16"})},
      {"training.matmul_precision", words({"f32", "tf32"})},
      {"training.micro_batches", range(1, 1 << 20)},
      {"training.schedule", words({"gpipe", "1f1b", "interleaved"})},
      {"training.on_nonfinite", words({"stop", "skip"})},
      {"training.memory_budget", range(1)},
      {"data.order", words({"random", "sequential"})},
      {"data.rows", words({"packed", "documents"})},
      {"data.separator", range(0, 2147483647.0)},
      {"data.ignore_index", range(-2147483648.0, 2147483647.0)},
      {"checkpoint.save_interval", range(0)},
      {"checkpoint.keep", range(0)},
      {"eval.eval_iters", range(1)},
      {"eval.eval_batch_size", range(0, 1 << 20)},
  };
}

const ConfigRule &minigptc::configRule(const std::string &name) {
  static const std::map<std::string, ConfigRule> rules = makeRules();
  static const ConfigRule any;
  auto found = rules.find(name);
  return found == rules.end() ? any : found->second;
}

std::vector<std::string> minigptc::configKeyNames() {
  RunConfig config;
  config.schedule.emplace();
  std::vector<std::string> names;
  runtime::visitConfig(config, [&](std::string section, const char *key, auto &&) {
    names.push_back(section + "." + key);
  });
  return names;
}

bool minigptc::isIgnoredName(const std::string &name) {
  for (const char *ignored :
       {"wandb_project", "distributed", "dummy_num_tokens", "warmup_start_factor", "device"})
    if (name == ignored)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Reading values
//===----------------------------------------------------------------------===//

namespace {

std::string show(const YAML::Node &node) {
  return node.IsScalar() ? "'" + node.Scalar() + "'" : node.IsNull() ? "null" : "a list or map";
}

std::string number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::string checkRange(double value, const ConfigRule &rule) {
  if (value < rule.low)
    return number(value) + " is too small: at least " + number(rule.low);
  if (value > rule.high || (rule.highExcluded && value == rule.high))
    return number(value) + " is too large: " + (rule.highExcluded ? "less than " : "at most ") +
           number(rule.high);
  return "";
}

std::string assign(double &field, const YAML::Node &node, const ConfigRule &rule) {
  double value;
  if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) || !std::isfinite(value))
    return show(node) + " is not a finite number";
  std::string wrong = checkRange(value, rule);
  if (wrong.empty())
    field = value;
  return wrong;
}

/// A whole number, also as "1e5".
template <typename Int>
std::string assignInteger(Int &field, const YAML::Node &node, const ConfigRule &rule) {
  Int value;
  if (!node.IsScalar())
    return show(node) + " is not a whole number";
  if (!YAML::convert<Int>::decode(node, value)) {
    double wide;
    if (!YAML::convert<double>::decode(node, wide) || std::isnan(wide) || wide != std::floor(wide))
      return show(node) + " is not a whole number";
    if (std::abs(wide) > 9e15)
      return show(node) + " is out of range";
    value = Int(wide);
    if (double(value) != wide)
      return show(node) + " is out of range";
  }
  std::string wrong = checkRange(double(value), rule);
  if (wrong.empty())
    field = value;
  return wrong;
}
std::string assign(int64_t &field, const YAML::Node &node, const ConfigRule &rule) {
  return assignInteger(field, node, rule);
}
std::string assign(uint64_t &field, const YAML::Node &node, const ConfigRule &rule) {
  if (node.IsScalar() && !node.Scalar().empty() && node.Scalar()[0] == '-')
    return node.Scalar() + " is too small: at least 0";
  return assignInteger(field, node, rule);
}

std::string assign(bool &field, const YAML::Node &node, const ConfigRule &) {
  return node.IsScalar() && YAML::convert<bool>::decode(node, field)
             ? ""
             : show(node) + " is neither true nor false";
}

/// Text; null is empty where any text is allowed.
std::string assign(std::string &field, const YAML::Node &node, const ConfigRule &rule) {
  if (node.IsNull() && rule.words.empty()) {
    field.clear();
    return "";
  }
  if (!node.IsScalar())
    return show(node) + " is not a text";
  const std::string value = node.Scalar();
  if (!rule.words.empty() &&
      std::find(rule.words.begin(), rule.words.end(), value) == rule.words.end())
    return show(node) + " is unknown; " + runtime::suggestion(value, rule.words);
  field = value;
  return "";
}

template <typename T>
std::string assign(std::optional<T> &field, const YAML::Node &node, const ConfigRule &rule) {
  if (node.IsNull()) {
    field.reset();
    return "";
  }
  T value{};
  std::string wrong = assign(value, node, rule);
  if (wrong.empty())
    field = value;
  return wrong;
}

template <typename T>
std::string assign(std::vector<T> &field, const YAML::Node &node, const ConfigRule &rule) {
  if (!node.IsNull() && !node.IsSequence())
    return show(node) + " is not a list";
  std::vector<T> values;
  for (const YAML::Node &item : node)
    if (std::string wrong = assign(values.emplace_back(), item, rule); !wrong.empty())
      return wrong;
  field = std::move(values);
  return "";
}

std::string assign(std::tuple<double &, double &> field, const YAML::Node &node,
                   const ConfigRule &rule) {
  if (!node.IsSequence() || node.size() != 2)
    return "a list of two numbers is expected, as [0.9, 0.95]";
  std::string wrong = assign(std::get<0>(field), node[0], rule);
  return wrong.empty() ? assign(std::get<1>(field), node[1], rule) : wrong;
}

} // namespace

std::string minigptc::assignConfig(RunConfig &config, const std::string &name,
                                   const YAML::Node &value) {
  if (name.rfind("lr_schedule.", 0) == 0 && !config.schedule)
    config.schedule.emplace(); // Naming a key of the schedule brings it into being.
  const ConfigRule &rule = configRule(name);
  std::string wrong;
  runtime::visitConfig(config, [&](std::string section, const char *key, auto &&field) {
    if (section + "." + key == name)
      wrong = assign(std::forward<decltype(field)>(field), value, rule);
  });
  return wrong;
}
