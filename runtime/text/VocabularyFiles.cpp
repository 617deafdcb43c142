// vocab.json and merges.txt, as GPT-2 has them.
#include "runtime/base/Log.h"
#include "runtime/text/DefinitionBuilder.h"
#include "runtime/text/JsonReader.h"
#include "runtime/text/TokenizerFiles.h"

namespace minigptc::runtime::text {
namespace {

Status readTokens(const std::string &contents, const std::string &name,
                  DefinitionBuilder &builder) {
  JsonReader reader(contents, name);
  MINIGPTC_RETURN_IF_ERROR(reader.object([&](const std::string &token) {
    size_t begin = reader.offset();
    int64_t id = 0;
    MINIGPTC_RETURN_IF_ERROR(reader.integer(id));
    Status status = builder.addToken(token, id);
    return status ? status : std::move(status).at(reader.place(begin));
  }));
  return reader.end();
}

/// A line a merge: two tokens and a blank between them. The first line may be "#version…".
Status readMerges(std::string_view contents, const std::string &name, DefinitionBuilder &builder) {
  size_t line = 0;
  while (!contents.empty()) {
    std::string_view text = contents.substr(0, contents.find('\n'));
    contents.remove_prefix(std::min(text.size() + 1, contents.size()));
    ++line;
    if (text.ends_with('\r'))
      text.remove_suffix(1);
    if (text.empty() || (line == 1 && text.starts_with("#version")))
      continue;
    size_t blank = text.find(' ');
    if (blank == text.npos || blank == 0 || blank + 1 == text.size() ||
        text.find(' ', blank + 1) != text.npos)
      return Status(StatusCode::dataLoss,
                    quote(text) + " is no merge: two tokens, separated by one blank")
          .at(name + ":" + std::to_string(line));
    builder.addMerge(std::string(text.substr(0, blank)), std::string(text.substr(blank + 1)), line);
  }
  return Status::success();
}

} // namespace

StatusOr<Definition> readVocabulary(const std::string &vocabulary,
                                    const std::string &vocabularyName, const std::string &merges,
                                    const std::string &mergesName) {
  DefinitionBuilder builder;
  MINIGPTC_RETURN_IF_ERROR(readTokens(vocabulary, vocabularyName, builder));
  MINIGPTC_RETURN_IF_ERROR(readMerges(merges, mergesName, builder));
  auto place = [&](size_t line) { return mergesName + ":" + std::to_string(line); };
  return builder.finish(place, place, /*leftOverAreSpecial=*/true);
}

} // namespace minigptc::runtime::text
