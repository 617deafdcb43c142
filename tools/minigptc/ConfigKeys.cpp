//===- ConfigKeys.cpp - every key of a config file ------------------------===//
#include "tools/minigptc/ConfigKeys.h"

#include "runtime/base/Suggest.h"

#include <cmath>
#include <limits>

using namespace minigptc;
using runtime::RunConfig;

namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();

std::string show(const YAML::Node &node) {
  return node.IsScalar() ? "'" + node.Scalar() + "'" : node.IsNull() ? "null" : "a list or map";
}

/// A finite number, also as "6e-4".
std::optional<double> asNumber(const YAML::Node &node) {
  double value;
  if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// A whole number, also as "1e5".
std::optional<int64_t> asInteger(const YAML::Node &node) {
  int64_t integer;
  if (node.IsScalar() && YAML::convert<int64_t>::decode(node, integer))
    return integer;
  std::optional<double> number = asNumber(node);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 9e15)
    return std::nullopt;
  return int64_t(*number);
}

template <typename T> using Place = std::function<T &(RunConfig &)>;

template <typename T> T read(const Place<T> &place, const RunConfig &config) {
  return place(const_cast<RunConfig &>(config));
}

template <typename T>
ConfigKey integer(std::string name, Place<T> place, int64_t low, int64_t high = kMaxInt) {
  return {std::move(name),
          [=](const YAML::Node &node, RunConfig &config) -> std::string {
            std::optional<int64_t> value = asInteger(node);
            if (!value)
              return show(node) + " is not a whole number";
            if (*value < low || *value > high)
              return std::to_string(*value) + " is out of range: " +
                     (*value < low ? "at least " + std::to_string(low) : "at most " + std::to_string(high));
            place(config) = T(*value);
            return "";
          },
          [=](const RunConfig &config) { return YAML::Node(read(place, config)); }};
}

std::string shortest(double value) {
  char text[32];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, nullptr) == value)
      break;
  }
  return text;
}

ConfigKey real(std::string name, Place<double> place, double low, double high, bool openHigh = false) {
  return {std::move(name),
          [=](const YAML::Node &node, RunConfig &config) -> std::string {
            std::optional<double> value = asNumber(node);
            if (!value)
              return show(node) + " is not a finite number";
            if (*value < low || *value > high || (openHigh && *value == high))
              return shortest(*value) + " is out of range: " + shortest(low) + " to " + shortest(high) +
                     (openHigh ? " (exclusive)" : "");
            place(config) = *value;
            return "";
          },
          [=](const RunConfig &config) { return YAML::Node(shortest(read(place, config))); }};
}

ConfigKey choice(std::string name, Place<std::string> place, std::vector<std::string> values) {
  return {std::move(name),
          [=](const YAML::Node &node, RunConfig &config) -> std::string {
            std::string value = node.IsScalar() ? node.Scalar() : "";
            if (std::find(values.begin(), values.end(), value) == values.end())
              return show(node) + " is unknown; " + runtime::suggestion(value, values);
            place(config) = value;
            return "";
          },
          [=](const RunConfig &config) { return YAML::Node(read(place, config)); }};
}

/// A path, or null for none.
ConfigKey path(std::string name, Place<std::string> place) {
  return {std::move(name),
          [=](const YAML::Node &node, RunConfig &config) -> std::string {
            if (!node.IsScalar() && !node.IsNull())
              return show(node) + " is not a path";
            place(config) = node.IsNull() ? "" : node.Scalar();
            return "";
          },
          [=](const RunConfig &config) {
            std::string value = read(place, config);
            return value.empty() ? YAML::Node(YAML::NodeType::Null) : YAML::Node(value);
          }};
}

ConfigKey boolean(std::string name, Place<bool> place) {
  return {std::move(name),
          [=](const YAML::Node &node, RunConfig &config) -> std::string {
            bool value;
            if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value))
              return show(node) + " is neither true nor false";
            place(config) = value;
            return "";
          },
          [=](const RunConfig &config) { return YAML::Node(read(place, config)); }};
}

/// A key whose only value today is `value`; others say what is not there.
ConfigKey only(std::string name, std::vector<std::string> values, std::string otherwise) {
  return {std::move(name),
          [=](const YAML::Node &node, RunConfig &) -> std::string {
            std::string value = node.IsScalar() ? node.Scalar() : node.IsNull() ? "null" : "";
            if (std::find(values.begin(), values.end(), value) == values.end())
              return show(node) + ": " + otherwise;
            return "";
          },
          nullptr};
}

ConfigKey betas() {
  return {"optimizer.betas",
          [](const YAML::Node &node, RunConfig &config) -> std::string {
            if (!node.IsSequence() || node.size() != 2)
              return "a list of two numbers is expected, as [0.9, 0.95]";
            for (int i = 0; i < 2; ++i) {
              std::optional<double> beta = asNumber(node[i]);
              if (!beta || *beta < 0 || *beta >= 1)
                return show(node[i]) + " is not a number in [0, 1)";
              (i ? config.optimizer.beta2 : config.optimizer.beta1) = *beta;
            }
            return "";
          },
          [](const RunConfig &config) {
            YAML::Node node;
            node.push_back(shortest(config.optimizer.beta1));
            node.push_back(shortest(config.optimizer.beta2));
            node.SetStyle(YAML::EmitterStyle::Flow);
            return node;
          }};
}

ConfigKey ignoreIndex() {
  return {"data.ignore_index",
          [](const YAML::Node &node, RunConfig &config) -> std::string {
            if (node.IsNull()) {
              config.data.ignoreIndex.reset();
              return "";
            }
            std::optional<int64_t> value = asInteger(node);
            if (!value || *value < INT32_MIN || *value > INT32_MAX)
              return show(node) + " is not a token id";
            config.data.ignoreIndex = *value;
            return "";
          },
          [](const RunConfig &config) {
            return config.data.ignoreIndex ? YAML::Node(*config.data.ignoreIndex)
                                           : YAML::Node(YAML::NodeType::Null);
          }};
}

#define FIELD(T, member) Place<T>([](RunConfig &c) -> T & { return c.member; })
/// A member of the schedule; naming one brings the schedule into being.
#define SCHEDULE(T, member)                                                                        \
  Place<T>([](RunConfig &c) -> T & {                                                               \
    if (!c.schedule)                                                                               \
      c.schedule.emplace();                                                                        \
    return c.schedule->member;                                                                     \
  })

const std::string kNoSharding = "this build trains on one device; leave the section out or set sharding.enabled=false";

std::vector<ConfigKey> makeKeys() {
  return {
      choice("model.type", FIELD(std::string, model.type), {"transformer_lm", "minigpt"}),
      integer<int64_t>("model.d_model", FIELD(int64_t, model.dModel), 1, 1 << 17),
      integer<int64_t>("model.num_heads", FIELD(int64_t, model.numHeads), 1, 1 << 12),
      integer<int64_t>("model.d_ff", FIELD(int64_t, model.dFf), 1, 1 << 20),
      integer<int64_t>("model.num_layers", FIELD(int64_t, model.numLayers), 1, 4096),
      integer<int64_t>("model.vocab_size", FIELD(int64_t, model.vocabSize), 1, 1 << 24),
      integer<int64_t>("model.context_length", FIELD(int64_t, model.contextLength), 1, 1 << 22),
      real("model.theta", FIELD(double, model.theta), 1e-3, 1e12),
      real("model.dropout", FIELD(double, model.dropout), 0, 1, true),
      choice("model.variant", FIELD(std::string, model.variant), {"full", "simple"}),
      boolean("model.tie_embeddings", FIELD(bool, model.tieEmbeddings)),
      only("sharding.enabled", {"false"}, kNoSharding),
      only("sharding.mode", {"null"}, kNoSharding),
      only("sharding.mesh_shape", {"null"}, kNoSharding),
      only("sharding.mesh_axis_names", {"null"}, kNoSharding),
      choice("optimizer.type", FIELD(std::string, optimizer.type), {"adamw", "adam", "sgd"}),
      real("optimizer.lr", FIELD(double, optimizer.lr), 0, 1e6),
      betas(),
      real("optimizer.weight_decay", FIELD(double, optimizer.weightDecay), 0, 1e6),
      real("optimizer.eps", FIELD(double, optimizer.eps), 0, 1),
      real("optimizer.momentum", FIELD(double, optimizer.momentum), 0, 1, true),
      choice("optimizer.decay", FIELD(std::string, optimizer.decay), {"all", "matrices"}),
      integer<int64_t>("lr_schedule.warmup_iters", SCHEDULE(int64_t, warmupIters), 0),
      real("lr_schedule.max_learning_rate", SCHEDULE(double, maxLr), 0, 1e6),
      real("lr_schedule.min_learning_rate", SCHEDULE(double, minLr), 0, 1e6),
      integer<int64_t>("lr_schedule.cosine_cycle_iters", SCHEDULE(int64_t, cycleIters), 1),
      integer<int64_t>("training.batch_size", FIELD(int64_t, training.batchSize), 1, 1 << 20),
      integer<int64_t>("training.max_iters", FIELD(int64_t, training.maxIters), 0),
      integer<int64_t>("training.eval_interval", FIELD(int64_t, training.evalInterval), 0),
      integer<int64_t>("training.log_interval", FIELD(int64_t, training.logInterval), 1),
      integer<int64_t>("training.perf_warmup_steps", FIELD(int64_t, training.perfWarmupSteps), 0),
      real("training.gradient_clip", FIELD(double, training.gradientClip), 0, 1e30),
      integer<uint64_t>("training.seed", FIELD(uint64_t, training.seed), 0),
      only("training.precision", {"f32"}, "this build trains in f32"),
      only("training.micro_batches", {"1"}, "this build takes a batch whole (1)"),
      only("training.schedule", {"null"}, "this build has no pipeline stages"),
      choice("training.on_nonfinite", FIELD(std::string, training.onNonfinite), {"stop", "skip"}),
      only("training.memory_budget", {"null"}, "this build keeps every activation; leave the budget out"),
      boolean("data.dummy_data", FIELD(bool, data.dummy)),
      path("data.train_path", FIELD(std::string, data.trainPath)),
      path("data.val_path", FIELD(std::string, data.valPath)),
      path("data.text_path", FIELD(std::string, data.textPath)),
      choice("data.order", FIELD(std::string, data.order), {"random", "sequential"}),
      ignoreIndex(),
      integer<int64_t>("checkpoint.save_interval", FIELD(int64_t, checkpoint.saveInterval), 0),
      path("checkpoint.checkpoint_dir", FIELD(std::string, checkpoint.dir)),
      path("checkpoint.resume_from", FIELD(std::string, checkpoint.resumeFrom)),
      integer<int64_t>("eval.eval_iters", FIELD(int64_t, eval.iters), 1),
      integer<int64_t>("eval.eval_batch_size", FIELD(int64_t, eval.batchSize), 0, 1 << 20),
  };
}

} // namespace

const std::vector<ConfigKey> &minigptc::configKeys() {
  static const std::vector<ConfigKey> keys = makeKeys();
  return keys;
}

const ConfigKey *minigptc::findConfigKey(const std::string &name) {
  for (const ConfigKey &key : configKeys())
    if (key.name == name)
      return &key;
  return nullptr;
}

bool minigptc::isIgnoredName(const std::string &name) {
  static const std::vector<std::string> names = {"wandb_project", "distributed", "dummy_num_tokens",
                                                 "warmup_start_factor", "device"};
  return std::find(names.begin(), names.end(), name) != names.end();
}
