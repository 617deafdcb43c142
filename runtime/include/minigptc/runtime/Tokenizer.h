//===- Tokenizer.h - text to token ids and back -----------------*- C++ -*-===//
//
// Byte-level byte-pair encoding, as GPT-2, Llama 3 and Qwen have it. Texts are bytes: any
// bytes can be encoded, and decoding gives them back.
//
//   StatusOr<Tokenizer> t = Tokenizer::load("tokenizer/");   // or a tokenizer.json
//   std::vector<int32_t> ids = t->encode("Once upon a time<|endoftext|>");
//   StatusOr<std::string> text = t->decode(ids);
//
// More than fits into memory, or on several threads:
//
//   TextEncoder encoder(*t, [&](std::span<const int32_t> ids) { return file.write(ids); },
//                       {.threads = 2});
//   while (...)
//     MINIGPTC_RETURN_IF_ERROR(encoder.add(piece));          // cut anywhere
//   MINIGPTC_RETURN_IF_ERROR(encoder.finish());
//
// The ids depend on the whole text only: not on where it was cut, nor on threads.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TOKENIZER_H
#define MINIGPTC_RUNTIME_TOKENIZER_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

namespace text {
struct TokenizerTables;
} // namespace text

/// How a text is cut into the pieces within which pairs merge; the patterns stand in
/// docs/reference/tokenizer.md.
enum class TextPattern { gpt2, llama3, qwen2 };

/// A token that stands for a text as it is. It is cut out before anything else, wherever
/// the text has it; of several that begin at one place the longest is taken.
struct SpecialToken {
  int32_t id = 0;
  std::string text;
};

/// Immutable, and cheap to copy: copies share their tables. Thread-safe.
class Tokenizer {
public:
  /// Reads a folder with `tokenizer.json`, or else `vocab.json` and `merges.txt` (GPT-2's
  /// pattern; entries of the vocabulary that are no byte and come from no merge are special
  /// tokens), or a `tokenizer.json`. What a tokenizer.json asks for and this class does not
  /// do is an error that names it. What it adds around a text (a first or last token) is
  /// kept, but never added by `encode`.
  static StatusOr<Tokenizer> load(const std::string &path);
  /// A token is a byte; 256 tokens.
  static Tokenizer bytes();

  /// Ids lie in [0, vocabularySize()). There may be ids without a token.
  int64_t vocabularySize() const;
  TextPattern pattern() const;
  /// In the order of their ids.
  const std::vector<SpecialToken> &specialTokens() const;
  std::optional<int32_t> specialId(std::string_view text) const;
  /// Of all that decides on ids; the same whichever files a tokenizer is read from.
  uint64_t hash() const;

  std::vector<int32_t> encode(std::string_view text) const;
  /// The bytes of a token; nothing for an id without one.
  std::optional<std::string_view> token(int32_t id) const;
  /// The bytes of the tokens, joined. An id without a token: invalidArgument.
  StatusOr<std::string> decodeBytes(std::span<const int32_t> ids) const;
  /// The same with U+FFFD for what is no valid UTF-8.
  StatusOr<std::string> decode(std::span<const int32_t> ids) const;

  /// Writes `tokenizer.json`, `vocab.json` and `merges.txt` into the folder, which is made
  /// where it is missing.
  Status save(const std::string &folder) const;

  const text::TokenizerTables &tables() const { return *tables_; }
  explicit Tokenizer(std::shared_ptr<const text::TokenizerTables> tables)
      : tables_(std::move(tables)) {}

private:
  std::shared_ptr<const text::TokenizerTables> tables_;
};

/// Takes the next ids of a text. A failure ends the encoding.
using TokenSink = std::function<Status(std::span<const int32_t> ids)>;

struct TextEncoderOptions {
  int threads = 1;                    ///< 0: one for each core; 32 at most
  size_t partBytes = size_t(1) << 16; ///< text that a thread takes at a time, about
};

/// Encodes one text that arrives in pieces. Memory: the parts that threads work on and wait for,
/// about 4 MiB for each thread; more only where the text has longer stretches without any place
/// where it can be cut. One of 256 MiB ends the encoding: dataLoss.
class TextEncoder {
public:
  TextEncoder(Tokenizer tokenizer, TokenSink sink, TextEncoderOptions options = {});
  TextEncoder(TextEncoder &&) noexcept;
  ~TextEncoder();

  Status add(std::string_view bytes);
  /// The text ends here; the next `add` begins another one.
  Status finish();
  /// Of all bytes that were added, so many are in the ids that the sink has got. The rest can be
  /// encoded as another text, with the same ids.
  int64_t encodedBytes() const;

private:
  class State;
  std::unique_ptr<State> state_;
};

struct TokenizerTraining {
  int64_t vocabularySize = 0; ///< bytes, special tokens and merged tokens
  std::vector<std::string> specialTokens = {};
  TextPattern pattern = TextPattern::gpt2;
  int threads = 1; ///< 0: one for each core; the result is the same
};

/// Learns a tokenizer from texts. Ids: 0 … 255 the bytes, then the special tokens in the
/// given order, then merges. Each merge takes the most frequent pair of adjacent tokens; of
/// equally frequent ones the lexicographically greatest pair of byte strings. Special tokens
/// in the texts separate, and are not counted.
///
///   TokenizerTrainer trainer({.vocabularySize = 5000, .specialTokens = {"<|endoftext|>"}});
///   MINIGPTC_RETURN_IF_ERROR(trainer.add(text));             // any number, cut anywhere
///   trainer.endText();
///   StatusOr<Tokenizer> tokenizer = trainer.train();
class TokenizerTrainer {
public:
  /// invalidArgument for options that can't be met whatever the texts are.
  static StatusOr<TokenizerTrainer> create(TokenizerTraining options);
  TokenizerTrainer(TokenizerTrainer &&) noexcept;
  ~TokenizerTrainer();

  Status add(std::string_view bytes);
  /// What is added next is another text.
  Status endText();
  /// failedPrecondition if the texts have fewer pairs than were asked for; says how many.
  StatusOr<Tokenizer> train();

private:
  class State;
  explicit TokenizerTrainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TOKENIZER_H
