//===- TokenFile.h - files of token ids -------------------------*- C++ -*-===//
//
// Raw little-endian uint16, or uint32 for vocabularies above 65536 ids, and a side file
// `FILE.json` that says what they are:
//
//   {"dtype": "uint16", "tokens": 338025, "vocabulary": 50257, "tokenizer": "9c1f…",
//    "bytes": 1115394, "separator": 50256}
//
// Files of llm.c are read, too: a header of 256 int32 that begins with a magic number, the
// version and the number of tokens, then uint16 (GPT-2) or uint32 (Llama 3).
//
//   StatusOr<TokenFileWriter> file = TokenFileWriter::create("train.bin", tokenizer);
//   MINIGPTC_RETURN_IF_ERROR(file->write(ids));              // any number of times
//   MINIGPTC_RETURN_IF_ERROR(file->commit(textBytes));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_TOKENFILE_H
#define MINIGPTC_RUNTIME_TEXT_TOKENFILE_H

#include "minigptc/runtime/Tokenizer.h"
#include "runtime/base/File.h"

namespace minigptc::runtime {

/// The hash of a tokenizer as files have it: 16 hexadecimal digits.
std::string tokenizerHashText(const Tokenizer &tokenizer);

/// What the side file says; nothing where it does not say it.
struct TokenFileInfo {
  int width = 0;           ///< bytes of an id, 2 or 4
  int64_t headerBytes = 0; ///< before the first id
  std::optional<int64_t> tokens = {}, vocabulary = {}, textBytes = {};
  std::optional<int64_t> separator = {}; ///< the id that ends a document
  std::string tokenizer = {};            ///< its hash, as text; empty: unknown

  /// The contents of a side file.
  std::string toJson() const;
};

/// The token that ends documents if nobody says otherwise: `<|endoftext|>`, else
/// `<|end_of_text|>`, if the tokenizer has it as a special token.
std::optional<SpecialToken> usualSeparator(const Tokenizer &tokenizer);

/// Of a token file; nothing if it has neither a side file nor llm.c's header. dataLoss if its
/// length is not what these say, and for other kinds and versions of llm.c's files.
StatusOr<std::optional<TokenFileInfo>> readTokenFileInfo(const std::string &path);

/// Both files appear when `commit` has succeeded, and not before.
class TokenFileWriter {
public:
  static StatusOr<TokenFileWriter> create(const std::string &path, const Tokenizer &tokenizer);

  /// Ids of the tokenizer's vocabulary.
  Status write(std::span<const int32_t> ids);
  int64_t tokens() const { return tokens_; }
  Status commit(int64_t textBytes);

private:
  TokenFileWriter(AtomicFile file, AtomicFile side, const Tokenizer &tokenizer);
  AtomicFile file_, side_;
  TokenFileInfo info_;
  int64_t tokens_ = 0;
  std::vector<uint16_t> narrow_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TEXT_TOKENFILE_H
