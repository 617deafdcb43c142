#include "runtime/train/RunConfig.h"

#include "runtime/base/Suggest.h"

#include <nlohmann/json.hpp>

namespace minigptc::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json toValue(bool value) { return value; }
Json toValue(int64_t value) { return value; }
Json toValue(uint64_t value) { return value; }
Json toValue(double value) { return value; }
Json toValue(const std::string &value) { return value.empty() ? Json() : Json(value); }
Json toValue(const std::vector<int64_t> &value) { return value; }
Json toValue(const std::vector<std::string> &value) { return value; }
Json toValue(const std::optional<int64_t> &value) { return value ? Json(*value) : Json(); }
Json toValue(const std::tuple<const double &, const double &> &value) {
  return Json::array({std::get<0>(value), std::get<1>(value)});
}

// Each returns what was expected, or null if the value fits.
using Expected = const char *;

Expected fromValue(const Json &json, bool &value) {
  if (!json.is_boolean())
    return "true or false";
  value = json.get<bool>();
  return nullptr;
}
Expected fromValue(const Json &json, int64_t &value) {
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX))
    return "an integer";
  value = json.get<int64_t>();
  return nullptr;
}
Expected fromValue(const Json &json, uint64_t &value) {
  if (!json.is_number_unsigned())
    return "an integer that is not negative";
  value = json.get<uint64_t>();
  return nullptr;
}
Expected fromValue(const Json &json, double &value) {
  if (!json.is_number())
    return "a number";
  value = json.get<double>();
  return nullptr;
}
Expected fromValue(const Json &json, std::string &value) {
  if (!json.is_string() && !json.is_null())
    return "a string";
  value = json.is_null() ? std::string() : json.get<std::string>();
  return nullptr;
}
Expected fromValue(const Json &json, std::optional<int64_t> &value) {
  if (json.is_null()) {
    value.reset();
    return nullptr;
  }
  return fromValue(json, value.emplace());
}
template <typename T> Expected fromValue(const Json &json, std::vector<T> &value) {
  if (!json.is_array())
    return "a list";
  value.clear();
  for (const Json &element : json)
    if (Expected expected = fromValue(element, value.emplace_back()))
      return expected;
  return nullptr;
}
Expected fromValue(const Json &json, std::tuple<double &, double &> value) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number() || !json[1].is_number())
    return "two numbers";
  value = std::make_tuple(json[0].get<double>(), json[1].get<double>());
  return nullptr;
}

Status wrongConfig(std::string message) {
  return Status(StatusCode::dataLoss, "stored configuration: " + std::move(message));
}

/// Every key of the JSON form, "section.key".
std::vector<std::string> allKeys() {
  std::vector<std::string> keys;
  RunConfig config; // Has a schedule.
  visitConfig(config, [&](const std::string &section, const std::string &key, auto &&) {
    keys.push_back(section + "." + key);
  });
  return keys;
}

Status checkKeys(const Json &json) {
  std::vector<std::string> known = allKeys();
  for (const auto &[section, keys] : json.items()) {
    if (section == "name" || (section == "lr_schedule" && keys.is_null()))
      continue;
    if (!keys.is_object())
      return wrongConfig("'" + section + "' is not a section");
    for (const auto &[key, value] : keys.items()) {
      std::string name = section + "." + key;
      if (std::find(known.begin(), known.end(), name) == known.end())
        return wrongConfig("unknown key '" + name + "'").withHelp(suggestion(name, known));
    }
  }
  return Status::success();
}

} // namespace

std::string RunConfig::toJson() const {
  Json json;
  json["name"] = name;
  visitConfig(*this, [&](const char *section, const char *key, const auto &field) {
    json[section][key] = toValue(field);
  });
  if (!schedule)
    json["lr_schedule"] = nullptr;
  // A path may hold any bytes; JSON may not.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

StatusOr<RunConfig> RunConfig::fromJson(const std::string &text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Status(wrongConfig("not a JSON object"));
  MINIGPTC_RETURN_IF_ERROR(checkKeys(json));
  RunConfig config;
  if (json.contains("name"))
    if (Expected expected = fromValue(json["name"], config.name))
      return wrongConfig(std::string("'name' must be ") + expected);
  if (json.contains("lr_schedule") && json["lr_schedule"].is_null())
    config.schedule.reset();
  Status status;
  visitConfig(config, [&](const char *section, const char *key, auto &&field) {
    if (!status.ok() || !json.contains(section) || !json[section].contains(key))
      return;
    if (Expected expected = fromValue(json[section][key], field))
      status = wrongConfig(std::string("'") + section + "." + key + "' must be " + expected +
                           ", but is " + json[section][key].dump());
  });
  if (!status.ok())
    return status;
  return config;
}

} // namespace minigptc::runtime
