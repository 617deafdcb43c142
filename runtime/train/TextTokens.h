//===- TextTokens.h - texts as tokens of a tokenizer ------------*- C++ -*-===//
//
// A text is encoded once: its tokens are kept in $XDG_CACHE_HOME/minigptc/tokens (else
// ~/.cache/minigptc/tokens) under the hashes of text and tokenizer.
//
//   StatusOr<Tokenizer> tokenizer = openTokenizer(config);
//   StatusOr<EncodedText> text = encodeText("book.txt", *tokenizer);
//   openTokens(text->path, {.width = text->width, .vocabSize = config.model.vocabSize});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_TEXTTOKENS_H
#define MINIGPTC_RUNTIME_TRAIN_TEXTTOKENS_H

#include "minigptc/runtime/Tokenizer.h"
#include "runtime/train/TextCodec.h"
#include "runtime/train/TokenSource.h"

namespace minigptc::runtime {

/// The tokenizer of `config.data`, which fits the model and has the hash that is asked for.
StatusOr<Tokenizer> openTokenizer(const RunConfig &config);

/// The token file of a text.
struct EncodedText {
  std::string path;
  int width = 2; ///< bytes of a token
  int64_t tokens = 0, textBytes = 0;
  bool known = false; ///< was in the cache
};
/// Reads the text once, and again if its tokens are not known: dataLoss if it has changed.
StatusOr<EncodedText> encodeText(const std::string &path, const Tokenizer &tokenizer);

/// Bytes of text that a target stands for, on average: of the tokens but the first of each part or,
/// where documents are rows, of each document. 0 if there is no target. `separator`: the token that
/// ends documents, which is a target but stands for no text (where documents are rows, theirs).
StatusOr<double> bytesPerTarget(const TokenSource &source, const Tokenizer &tokenizer,
                                std::optional<int64_t> separator);

/// For generation. Ids that the model has and the tokenizer has not stand for nothing.
class TokenizerCodec : public TextCodec {
public:
  explicit TokenizerCodec(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  std::vector<int32_t> encode(std::string_view text) const override {
    return tokenizer_.encode(text);
  }
  std::string decode(int32_t token) const override {
    return std::string(tokenizer_.token(token).value_or(std::string_view()));
  }

private:
  Tokenizer tokenizer_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TEXTTOKENS_H
