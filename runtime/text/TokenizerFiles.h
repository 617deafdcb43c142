//===- TokenizerFiles.h - tokenizer.json, vocab.json, merges.txt -*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_TEXT_TOKENIZERFILES_H
#define MINIGPTC_RUNTIME_TEXT_TOKENIZERFILES_H

#include "runtime/text/TokenizerTables.h"

namespace minigptc::runtime::text {

/// Of the contents of a file; `name` is for messages.
StatusOr<Definition> readTokenizerJson(const std::string &contents, const std::string &name);
StatusOr<Definition> readVocabulary(const std::string &vocabulary,
                                    const std::string &vocabularyName, const std::string &merges,
                                    const std::string &mergesName);

/// Tokens as files write them, by id. An error where two would be written alike.
StatusOr<std::vector<std::string>> writtenTokens(const Definition &definition);
/// `written` are `writtenTokens`.
std::string tokenizerJson(const Definition &definition, const std::vector<std::string> &written);
std::string vocabularyJson(const std::vector<std::string> &written);
std::string mergesText(const Definition &definition, const std::vector<std::string> &written);

/// The regular expression of a pattern, as tokenizer.json has it.
const char *patternRegex(TextPattern pattern);

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_TOKENIZERFILES_H
