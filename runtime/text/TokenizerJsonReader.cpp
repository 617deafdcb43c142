// tokenizer.json, the file of Hugging Face's tokenizers: what is the same here is taken,
// everything else refused by name.
#include "runtime/base/Log.h"
#include "runtime/text/DefinitionBuilder.h"
#include "runtime/text/JsonReader.h"
#include "runtime/text/TokenizerFiles.h"

#include <nlohmann/json.hpp>

namespace minigptc::runtime::text {
namespace {

using Json = nlohmann::json;

constexpr const char *kHelp =
    "byte-level BPE is read, with the pre-tokenisation patterns of GPT-2, Llama 3 and Qwen";

class TokenizerJsonReader {
public:
  TokenizerJsonReader(const std::string &contents, const std::string &name)
      : reader_(contents, name) {}
  StatusOr<Definition> read();

private:
  Status section(const std::string &key);
  Status model();
  Status modelMember(const std::string &key);
  Status vocabulary();
  Status merge();
  Status addedToken();
  Status addedMember(const std::string &key, AddedToken &token, int64_t &id);
  Status preTokenizer(const Json &json);
  Status byteLevel(const Json &json, bool regexAsked, bool &usesRegex);
  Status split(const Json &json);
  Status checkDecoder(const Json &json);
  Status checkPostProcessor(const Json &json);

  /// The next value as a tree; for small ones.
  Status tree(Json &json, std::string_view &raw);
  Status refuse(const std::string &what) const {
    return Status(reader_.error(what, sectionOffset_)).withHelp(kHelp);
  }
  /// An error where the value is not null.
  Status onlyNull(const std::string &key);
  /// An error unless the value is null or one of `allowed`.
  Status onlyOneOf(const std::string &key, std::initializer_list<Json> allowed);

  JsonReader reader_;
  DefinitionBuilder builder_;
  size_t sectionOffset_ = 0;
  bool hasModel_ = false, hasMerges_ = false, hasPattern_ = false;
  bool wholePieces_ = false, normalize_ = false;
  TextPattern pattern_ = TextPattern::gpt2;
  std::string postProcessor_;
};

std::string typeOf(const Json &json) {
  return json.is_object() && json.contains("type") && json["type"].is_string()
             ? json["type"].get<std::string>()
             : json.dump().substr(0, 60);
}

Status TokenizerJsonReader::tree(Json &json, std::string_view &raw) {
  sectionOffset_ = reader_.offset();
  MINIGPTC_RETURN_IF_ERROR(reader_.raw(raw));
  json = Json::parse(raw, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? reader_.error("no JSON", sectionOffset_) : Status::success();
}

Status TokenizerJsonReader::onlyOneOf(const std::string &key, std::initializer_list<Json> allowed) {
  Json value;
  std::string_view raw;
  MINIGPTC_RETURN_IF_ERROR(tree(value, raw));
  for (const Json &one : allowed)
    if (value == one)
      return Status::success();
  return refuse("the file has " + quote(key + ": " + std::string(raw)) +
                ", which changes what tokens a text has");
}

Status TokenizerJsonReader::onlyNull(const std::string &key) { return onlyOneOf(key, {nullptr}); }

Status TokenizerJsonReader::section(const std::string &key) {
  Json json;
  std::string_view raw;
  sectionOffset_ = reader_.offset();
  if (key == "model")
    return model();
  if (key == "added_tokens")
    return reader_.array([&] { return addedToken(); });
  if (key == "truncation" || key == "padding")
    return onlyNull(key);
  if (key != "version" && key != "pre_tokenizer" && key != "post_processor" && key != "decoder" &&
      key != "normalizer")
    return refuse("the file has the key " + quote(key) + ", whose meaning is unknown");
  MINIGPTC_RETURN_IF_ERROR(tree(json, raw));
  if (key == "pre_tokenizer")
    return preTokenizer(json);
  if (key == "decoder")
    return checkDecoder(json);
  if (key == "normalizer") {
    normalize_ = !json.is_null();
    return json.is_null() || json == Json{{"type", "NFC"}}
               ? Status::success()
               : refuse("the file has the normalizer " + quote(typeOf(json)));
  }
  if (key != "post_processor")
    return Status::success();
  postProcessor_ = raw;
  return checkPostProcessor(json);
}

Status TokenizerJsonReader::byteLevel(const Json &json, bool regexAsked, bool &usesRegex) {
  if (typeOf(json) != "ByteLevel")
    return refuse("the file has the pre_tokenizer " + quote(typeOf(json)));
  if (json.value("add_prefix_space", Json(true)) != Json(false))
    return refuse("the pre_tokenizer ByteLevel has 'add_prefix_space', which puts a blank before "
                  "a text");
  Json regex = json.value("use_regex", Json(true));
  if (!regex.is_boolean())
    return refuse("the pre_tokenizer ByteLevel has another 'use_regex' than true or false");
  usesRegex = regex.get<bool>();
  if (usesRegex && !regexAsked)
    return refuse("the pre_tokenizer ByteLevel has 'use_regex' behind another pattern");
  return Status::success();
}

Status TokenizerJsonReader::split(const Json &json) {
  if (json.value("behavior", Json()) != "Isolated" || json.value("invert", Json(false)) != false)
    return refuse("the pre_tokenizer Split has another 'behavior' than Isolated, or 'invert'");
  Json pattern = json.value("pattern", Json());
  Json regex = pattern.is_object() ? pattern.value("Regex", Json()) : Json();
  for (TextPattern known : {TextPattern::gpt2, TextPattern::llama3, TextPattern::qwen2})
    if (regex == patternRegex(known)) {
      pattern_ = known;
      return Status::success();
    }
  return refuse("the pre_tokenizer Split has an unknown pattern: " + quote(pattern.dump()));
}

Status TokenizerJsonReader::preTokenizer(const Json &json) {
  std::vector<Json> steps;
  if (typeOf(json) == "Sequence") {
    Json inner = json.value("pretokenizers", Json());
    if (inner.is_array())
      steps.assign(inner.begin(), inner.end());
  } else {
    steps = {json};
  }
  bool isSplit = !steps.empty() && typeOf(steps[0]) == "Split";
  if (steps.size() != (isSplit ? 2 : 1))
    return refuse("the file has another pre_tokenizer than ByteLevel, or Split and ByteLevel: " +
                  quote(json.dump()));
  if (isSplit)
    MINIGPTC_RETURN_IF_ERROR(split(steps[0]));
  bool usesRegex = false;
  MINIGPTC_RETURN_IF_ERROR(byteLevel(steps.back(), !isSplit, usesRegex));
  if (!isSplit && !usesRegex)
    return refuse("the pre_tokenizer ByteLevel has no pattern");
  hasPattern_ = true;
  return Status::success();
}

Status TokenizerJsonReader::checkDecoder(const Json &json) {
  if (json.is_null() || typeOf(json) == "ByteLevel")
    return Status::success();
  return refuse("the file has the decoder " + quote(typeOf(json)));
}

Status TokenizerJsonReader::checkPostProcessor(const Json &json) {
  if (json.is_null() || typeOf(json) == "ByteLevel" || typeOf(json) == "TemplateProcessing")
    return Status::success();
  if (typeOf(json) != "Sequence" || !json.value("processors", Json()).is_array())
    return refuse("the file has the post_processor " + quote(typeOf(json)));
  for (const Json &step : json["processors"])
    MINIGPTC_RETURN_IF_ERROR(checkPostProcessor(step));
  return Status::success();
}

Status TokenizerJsonReader::addedMember(const std::string &key, AddedToken &token, int64_t &id) {
  if (key == "id")
    return reader_.integer(id);
  if (key == "content")
    return reader_.string(token.text);
  if (key == "special")
    return reader_.boolean(token.special);
  if (key == "normalized")
    return reader_.boolean(token.normalized);
  if (key != "single_word" && key != "lstrip" && key != "rstrip")
    return refuse("an added token has the key " + quote(key) + ", whose meaning is unknown");
  bool flag = false;
  sectionOffset_ = reader_.offset();
  MINIGPTC_RETURN_IF_ERROR(reader_.boolean(flag));
  return flag ? refuse("an added token has '" + key + "', which changes where it is found")
              : Status::success();
}

Status TokenizerJsonReader::addedToken() {
  size_t begin = reader_.offset();
  AddedToken token;
  int64_t id = -1;
  MINIGPTC_RETURN_IF_ERROR(
      reader_.object([&](const std::string &key) { return addedMember(key, token, id); }));
  if (id < 0 || id > INT32_MAX || token.text.empty())
    return reader_.error("an added token needs an 'id' and a 'content'", begin);
  token.id = int32_t(id);
  builder_.addAdded(std::move(token), begin);
  return Status::success();
}

Status TokenizerJsonReader::vocabulary() {
  return reader_.object([&](const std::string &token) {
    size_t begin = reader_.offset();
    int64_t id = 0;
    MINIGPTC_RETURN_IF_ERROR(reader_.integer(id));
    Status status = builder_.addToken(token, id);
    return status ? status : std::move(status).at(reader_.place(begin));
  });
}

/// ["a", "b"], or "a b" as older files have it.
Status TokenizerJsonReader::merge() {
  size_t begin = reader_.offset();
  std::vector<std::string> parts;
  if (reader_.peek() == '"') {
    std::string both;
    MINIGPTC_RETURN_IF_ERROR(reader_.string(both));
    size_t blank = both.find(' ');
    if (blank != both.npos && both.find(' ', blank + 1) == both.npos)
      parts = {both.substr(0, blank), both.substr(blank + 1)};
  } else {
    MINIGPTC_RETURN_IF_ERROR(reader_.array([&] { return reader_.string(parts.emplace_back()); }));
  }
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty())
    return reader_.error("a merge is two tokens", begin);
  builder_.addMerge(std::move(parts[0]), std::move(parts[1]), begin);
  return Status::success();
}

Status TokenizerJsonReader::modelMember(const std::string &key) {
  if (key == "vocab") {
    if (reader_.peek() != '{') // a list of tokens and scores: Unigram
      return refuse("the model's vocabulary is not that of BPE");
    return vocabulary();
  }
  if (key == "merges") {
    hasMerges_ = true;
    return reader_.array([&] { return merge(); });
  }
  if (key == "ignore_merges")
    return reader_.boolean(wholePieces_);
  if (key == "dropout")
    return onlyOneOf(key, {nullptr, 0});
  if (key == "continuing_subword_prefix" || key == "end_of_word_suffix")
    return onlyOneOf(key, {nullptr, ""});
  if (key == "byte_fallback")
    return onlyOneOf(key, {nullptr, false});
  if (key == "type")
    return onlyOneOf(key, {"BPE"});
  if (key != "unk_token" && key != "fuse_unk") // every byte has a token
    return refuse("the model has the key " + quote(key) + ", whose meaning is unknown");
  std::string_view ignored;
  return reader_.raw(ignored);
}

Status TokenizerJsonReader::model() {
  hasModel_ = true;
  return reader_.object([&](const std::string &key) {
    sectionOffset_ = reader_.offset();
    return modelMember(key);
  });
}

StatusOr<Definition> TokenizerJsonReader::read() {
  MINIGPTC_RETURN_IF_ERROR(reader_.object([&](const std::string &key) { return section(key); }));
  MINIGPTC_RETURN_IF_ERROR(reader_.end());
  sectionOffset_ = 0;
  if (!hasModel_)
    return refuse("the file has no 'model': it is no tokenizer.json");
  if (!hasMerges_)
    return refuse("the model has no 'merges'");
  if (!hasPattern_)
    return refuse("the file has no 'pre_tokenizer'");
  auto place = [&](size_t offset) { return reader_.place(offset); };
  StatusOr<Definition> definition = builder_.finish(place, place, /*leftOverAreSpecial=*/false);
  if (definition) {
    definition->pattern = pattern_;
    definition->normalize = normalize_;
    definition->wholePieces = wholePieces_;
    definition->postProcessor = postProcessor_;
  }
  return definition;
}

} // namespace

StatusOr<Definition> readTokenizerJson(const std::string &contents, const std::string &name) {
  return TokenizerJsonReader(contents, name).read();
}

const char *patternRegex(TextPattern pattern) {
  switch (pattern) {
  case TextPattern::gpt2:
    return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  case TextPattern::llama3:
    return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  case TextPattern::qwen2:
    return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  }
  return "";
}

} // namespace minigptc::runtime::text
