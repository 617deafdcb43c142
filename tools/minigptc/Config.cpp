//===- Config.cpp - config files and --set --------------------------------===//
#include "tools/minigptc/Config.h"

#include "runtime/base/Suggest.h"
#include "tools/minigptc/ConfigRules.h"

#include <filesystem>
#include <set>

using namespace minigptc;
using runtime::RunConfig;
using runtime::Status;
using runtime::StatusCode;

namespace {

Status invalid(std::string message, std::string place) {
  return Status(StatusCode::invalidArgument, std::move(message)).at(std::move(place));
}

std::set<std::string> sections() {
  std::set<std::string> names;
  for (const std::string &name : configKeyNames())
    names.insert(name.substr(0, name.find('.')));
  return names;
}

Status unknownKey(const std::string &name, const std::string &place) {
  std::string nearest = runtime::nearestName(name, configKeyNames());
  return invalid("unknown key '" + name + "'", place)
      .withHelp(nearest.empty() ? "`minigptc config show` lists all keys"
                                : "did you mean '" + nearest + "'?");
}

} // namespace

/// Sets one key; shared by files and --set.
static Status setKey(const std::string &name, const YAML::Node &value, const std::string &place,
                     RunConfig &config, std::map<std::string, std::string> &places,
                     std::vector<std::string> &remarks) {
  if (isIgnoredName(name.substr(name.rfind('.') + 1))) {
    remarks.push_back("'" + name + "' means nothing here and is skipped (" + place + ")");
    return Status::success();
  }
  if (name == "lr_schedule" && value.IsNull()) {
    config.schedule.reset();
    places[name] = place;
    return Status::success();
  }
  const std::vector<std::string> names = configKeyNames();
  if (std::find(names.begin(), names.end(), name) == names.end())
    return unknownKey(name, place);
  if (std::string wrong = assignConfig(config, name, value); !wrong.empty())
    return invalid(name + ": " + wrong, place);
  places[name] = place;
  return Status::success();
}

Status ConfigBuilder::applyFile(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return Status(StatusCode::invalidArgument, "no such config file: " + path);
  if (!std::filesystem::is_regular_file(path, error))
    return Status(StatusCode::invalidArgument, "not a file: " + path);
  YAML::Node root;
  try {
    root = YAML::LoadFile(path);
  } catch (const YAML::ParserException &e) {
    return invalid("not YAML: " + e.msg, path + ":" + std::to_string(e.mark.line + 1));
  } catch (const YAML::Exception &) {
    return Status(StatusCode::invalidArgument, "can't read " + path);
  }
  auto place = [&](const YAML::Node &node) {
    return path + ":" + std::to_string(node.Mark().line + 1);
  };
  if (root.IsNull())
    return Status::success();
  if (!root.IsMap())
    return invalid("a config file is a map of sections", place(root));
  config_.name = std::filesystem::path(path).stem();

  std::set<std::string> seen, known = sections();
  for (const auto &entry : root) {
    if (!entry.first.IsScalar())
      return invalid("a section's name is expected", place(entry.first));
    const std::string section = entry.first.Scalar();
    if (!seen.insert(section).second)
      return invalid("'" + section + "' is there twice", place(entry.first));
    bool wholeSection = !entry.second.IsMap() || !known.count(section);
    if (wholeSection && known.count(section) && entry.second.IsNull() && section != "lr_schedule")
      continue; // "data:" with nothing below
    if (wholeSection && known.count(section) && !entry.second.IsNull())
      return invalid("section '" + section + "' must hold keys", place(entry.first));
    if (wholeSection) {
      MINIGPTC_RETURN_IF_ERROR(
          setKey(section, entry.second, place(entry.first), config_, places_, remarks_));
      continue;
    }
    for (const auto &item : entry.second) {
      if (!item.first.IsScalar())
        return invalid("a key is expected", place(item.first));
      const std::string name = section + "." + item.first.Scalar();
      if (!seen.insert(name).second)
        return invalid("'" + name + "' is there twice", place(item.first));
      MINIGPTC_RETURN_IF_ERROR(
          setKey(name, item.second, place(item.first), config_, places_, remarks_));
    }
  }
  return Status::success();
}

Status ConfigBuilder::applySetting(const std::string &setting, const std::string &place) {
  size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalid("'" + setting + "' is not of the form section.key=value", place);
  YAML::Node value;
  try {
    value = YAML::Load(setting.substr(equals + 1));
  } catch (const YAML::Exception &e) {
    return invalid("the value of '" + setting.substr(0, equals) + "' is not YAML: " + e.msg, place);
  }
  return setKey(setting.substr(0, equals), value, place, config_, places_, remarks_);
}

std::string ConfigBuilder::placeOf(const std::string &key) const {
  auto found = places_.find(key);
  return found == places_.end() ? "" : found->second;
}

/// The nearest numbers of heads that go with the model's size.
static std::string proposeHeads(const runtime::ModelConfig &model) {
  int64_t below = 0, above = 0, pair = model.type == "transformer_lm" ? 2 : 1;
  for (int64_t heads = model.dModel; heads >= 1; --heads)
    if (model.dModel % (heads * pair) == 0) {
      if (heads > model.numHeads)
        above = heads;
      else if (heads < model.numHeads && below == 0)
        below = heads;
    }
  std::string nearest = below > 0 ? std::to_string(below) : "";
  if (above > 0)
    nearest += (nearest.empty() ? "" : " or ") + std::to_string(above);
  return nearest.empty() ? "make model.d_model even" : "set model.num_heads to " + nearest;
}

runtime::StatusOr<RunConfig> ConfigBuilder::finish() const {
  auto fail = [&](std::string message, std::initializer_list<const char *> keys,
                  std::string help = "") {
    std::string place;
    for (const char *key : keys)
      if (place.empty())
        place = placeOf(key);
    return Status(invalid(std::move(message), place).withHelp(std::move(help)));
  };
  const auto &model = config_.model;
  auto number = [](int64_t n) { return std::to_string(n); };
  if (model.dModel % model.numHeads != 0)
    return fail("model.num_heads (" + number(model.numHeads) + ") does not divide model.d_model (" +
                    number(model.dModel) + ")",
                {"model.num_heads", "model.d_model"}, proposeHeads(model));
  if (model.type == "transformer_lm" && model.dModel / model.numHeads % 2 != 0)
    return fail("rotary positions need an even head size; model.d_model / model.num_heads is " +
                    number(model.dModel / model.numHeads),
                {"model.num_heads", "model.d_model"}, proposeHeads(model));
  if (model.type != "minigpt" && model.variant != "full")
    return fail("model.variant is for minigpt", {"model.variant"});
  if (model.type != "minigpt" && model.annotations != "default")
    return fail("model.annotations is for minigpt; the Transformer LM has sharding.mode",
                {"model.annotations"});
  if (model.type == "minigpt" && model.tieEmbeddings)
    return fail("model.tie_embeddings is for transformer_lm", {"model.tie_embeddings"});
  if (const auto &schedule = config_.schedule) {
    if (schedule->cycleIters <= schedule->warmupIters)
      return fail("lr_schedule.cosine_cycle_iters (" + number(schedule->cycleIters) +
                      ") must be more than lr_schedule.warmup_iters (" +
                      number(schedule->warmupIters) + ")",
                  {"lr_schedule.cosine_cycle_iters", "lr_schedule.warmup_iters"},
                  "the cycle includes the warm-up");
    if (schedule->minLr > schedule->maxLr)
      return fail("lr_schedule.min_learning_rate is more than max_learning_rate",
                  {"lr_schedule.min_learning_rate", "lr_schedule.max_learning_rate"});
  }
  if (config_.optimizer.momentum != 0 && config_.optimizer.type != "sgd")
    return fail("optimizer.momentum is for sgd", {"optimizer.momentum"});
  RunConfig resolved = config_;
  MINIGPTC_RETURN_IF_ERROR(finishSharding(resolved));
  return resolved;
}
