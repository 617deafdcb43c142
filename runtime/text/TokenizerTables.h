//===- TokenizerTables.h - what a tokenizer knows ---------------*- C++ -*-===//
//
// `Definition` is what files say; `TokenizerTables` adds what encoding looks up.
//
//   Definition definition;             // tokens, merges, special tokens
//   StatusOr<Tokenizer> tokenizer = build(std::move(definition));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_TOKENIZERTABLES_H
#define MINIGPTC_RUNTIME_TEXT_TOKENIZERTABLES_H

#include "minigptc/runtime/Tokenizer.h"
#include "runtime/text/Merges.h"
#include "runtime/text/SpecialMatcher.h"

#include <array>
#include <string>
#include <unordered_map>

namespace minigptc::runtime::text {

/// A token that is cut out of texts, with what its file says beside.
struct AddedToken {
  int32_t id = 0;
  std::string text;
  bool special = true;
  /// Looked for behind normalisation, and in what is left of the text when those without
  /// it have been cut out.
  bool normalized = false;
};

struct MergePair {
  int32_t left = 0, right = 0;
  int32_t result = 0;
};

/// Everything that decides on ids.
struct Definition {
  std::vector<std::string> tokens; ///< by id, as bytes; empty: no token has this id
  std::vector<MergePair> merges;   ///< by rank
  std::vector<AddedToken> added;   ///< each is in `tokens`, too
  TextPattern pattern = TextPattern::gpt2;
  /// Texts are brought into Unicode's normal form C first.
  bool normalize = false;
  /// A piece that is a token is that token, whatever the merges say.
  bool wholePieces = false;
  /// The `post_processor` of the tokenizer.json, as JSON, to be written back.
  std::string postProcessor;
};

/// Transparent: looks up without making strings.
struct BytesHash {
  using is_transparent = void;
  size_t operator()(std::string_view bytes) const { return std::hash<std::string_view>()(bytes); }
};
template <typename T>
using BytesMap = std::unordered_map<std::string, T, BytesHash, std::equal_to<>>;

/// Immutable.
struct TokenizerTables {
  Definition definition;
  std::vector<SpecialToken> specials; ///< by id
  std::array<int32_t, 256> byteIds{};
  MergeTable merges;
  SpecialMatcher matcher;
  BytesMap<int32_t> wholePieces; ///< tokens that are no added ones; empty unless asked for
  uint64_t hash = 0;
};

/// Checks that every byte has a token, and that added tokens are not empty, are there once,
/// and are found the same in whatever order they are looked for.
StatusOr<Tokenizer> build(Definition definition);

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_TOKENIZERTABLES_H
