// Writes tokenizer.json, vocab.json and merges.txt.
#include "runtime/base/Log.h"
#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/TokenizerFiles.h"

#include <nlohmann/json.hpp>

namespace minigptc::runtime::text {
namespace {

std::string jsonString(const std::string &text) { return nlohmann::json(text).dump(); }
const char *jsonBool(bool value) { return value ? "true" : "false"; }

std::string vocabularyObject(const std::vector<std::string> &written, const std::string &indent) {
  std::string text = "{";
  for (size_t id = 0; id < written.size(); ++id)
    if (!written[id].empty())
      text += (text.size() > 1 ? ",\n" : "\n") + indent + "  " + jsonString(written[id]) + ": " +
              std::to_string(id);
  return text + "\n" + indent + "}";
}

std::string addedArray(const Definition &definition) {
  std::string text = "[";
  for (const AddedToken &token : definition.added) {
    text += text.size() > 1 ? ",\n    " : "\n    ";
    text += "{\"id\": " + std::to_string(token.id) + ", \"content\": " + jsonString(token.text) +
            ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": " +
            jsonBool(token.normalized) + ", \"special\": " + jsonBool(token.special) + "}";
  }
  return text + (definition.added.empty() ? "]" : "\n  ]");
}

std::string mergesArray(const Definition &definition, const std::vector<std::string> &written) {
  std::string text = "[";
  for (const MergePair &merge : definition.merges)
    text += (text.size() > 1 ? ",\n      [" : "\n      [") +
            jsonString(written[size_t(merge.left)]) + ", " +
            jsonString(written[size_t(merge.right)]) + "]";
  return text + (definition.merges.empty() ? "]" : "\n    ]");
}

std::string preTokenizer(TextPattern pattern) {
  if (pattern == TextPattern::gpt2)
    return R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";
  return R"({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": )" +
         jsonString(patternRegex(pattern)) +
         R"(}, "behavior": "Isolated", "invert": false},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
  ]})";
}

} // namespace

StatusOr<std::vector<std::string>> writtenTokens(const Definition &definition) {
  std::vector<bool> isAdded(definition.tokens.size());
  for (const AddedToken &token : definition.added)
    isAdded[size_t(token.id)] = true;
  std::vector<std::string> written;
  BytesMap<size_t> ids;
  for (size_t id = 0; id < definition.tokens.size(); ++id) {
    const std::string &token = definition.tokens[id];
    written.push_back(isAdded[id] ? token : writeBytes(token));
    if (written.back().empty())
      continue;
    auto [known, isNew] = ids.emplace(written.back(), id);
    if (!isNew)
      return Status(StatusCode::invalidArgument, "the special token " + quote(written.back()) +
                                                     " is written like another token: ids " +
                                                     std::to_string(known->second) + " and " +
                                                     std::to_string(id))
          .withHelp("choose another text for it, as '<|name|>'");
  }
  return written;
}

std::string tokenizerJson(const Definition &definition, const std::vector<std::string> &written) {
  std::string byteLevel = preTokenizer(TextPattern::gpt2);
  return "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n"
         "  \"added_tokens\": " +
         addedArray(definition) +
         ",\n  \"normalizer\": " + (definition.normalize ? "{\"type\": \"NFC\"}" : "null") +
         ",\n  \"pre_tokenizer\": " + preTokenizer(definition.pattern) +
         ",\n  \"post_processor\": " +
         (definition.postProcessor.empty() ? "null" : definition.postProcessor) +
         ",\n  \"decoder\": " + byteLevel +
         ",\n  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": "
         "null,\n"
         "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n"
         "    \"fuse_unk\": false,\n    \"byte_fallback\": false,\n    \"ignore_merges\": " +
         jsonBool(definition.wholePieces) +
         ",\n    \"vocab\": " + vocabularyObject(written, "    ") +
         ",\n    \"merges\": " + mergesArray(definition, written) + "\n  }\n}\n";
}

std::string vocabularyJson(const std::vector<std::string> &written) {
  return vocabularyObject(written, "") + "\n";
}

std::string mergesText(const Definition &definition, const std::vector<std::string> &written) {
  std::string text = "#version: 0.2\n";
  for (const MergePair &merge : definition.merges)
    text += written[size_t(merge.left)] + " " + written[size_t(merge.right)] + "\n";
  return text;
}

} // namespace minigptc::runtime::text
