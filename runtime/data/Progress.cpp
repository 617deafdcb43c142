#include "runtime/data/Progress.h"

#include "runtime/base/File.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {
namespace {

using Json = nlohmann::ordered_json;

/// Calls `visit(key, field)` for all that a split's state has.
template <typename State, typename Visitor> void visitState(State &state, Visitor &&visit) {
  visit("file", state.place.file);
  visit("offset", state.place.offset);
  visit("line", state.place.line);
  visit("document", state.place.number);
  visit("skip", state.skip);
  visit("tokens", state.tokens);
  visit("bytes", state.textBytes);
  visit("documents", state.documents);
}

Json toJson(const SplitState &state) {
  Json json;
  visitState(state, [&](const char *key, int64_t value) { json[key] = value; });
  return json;
}

bool fromJson(const Json &json, SplitState &state) {
  bool whole = json.is_object();
  visitState(state, [&](const char *key, int64_t &value) {
    whole = whole && json.contains(key) && json[key].is_number_integer();
    value = whole ? json[key].template get<int64_t>() : 0;
    whole = whole && value >= 0;
  });
  return whole;
}

} // namespace

Status savePreparation(const std::string &path, const PreparationState &state) {
  Json json{{"job", state.job}, {"train", toJson(state.train)}, {"val", toJson(state.val)}};
  return writeFileAtomically(path, json.dump(1) + "\n");
}

StatusOr<std::optional<PreparationState>> loadPreparation(const std::string &path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return std::optional<PreparationState>();
  StatusOr<std::string> text = readTextFile(path);
  if (!text)
    return text.status();
  Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  PreparationState state;
  if (!json.is_object() || !json.contains("job") || !json["job"].is_string() ||
      !json.contains("train") || !fromJson(json["train"], state.train) || !json.contains("val") ||
      !fromJson(json["val"], state.val))
    return Status(StatusCode::dataLoss, "'" + path + "' is damaged")
        .withHelp("--restart begins anew");
  state.job = json["job"].get<std::string>();
  return std::optional(std::move(state));
}

} // namespace minigptc::runtime
