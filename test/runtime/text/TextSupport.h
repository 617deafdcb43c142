// What the tests of tokenizers share.
#ifndef MINIGPTC_TEST_RUNTIME_TEXT_TEXTSUPPORT_H
#define MINIGPTC_TEST_RUNTIME_TEXT_TEXTSUPPORT_H

#include "runtime/text/Pieces.h"
#include "runtime/text/TokenizerTables.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <random>

namespace minigptc::test {

inline constexpr runtime::TextPattern kPatterns[] = {
    runtime::TextPattern::gpt2, runtime::TextPattern::llama3, runtime::TextPattern::qwen2};

inline std::string goldenText(const std::string &name) {
  std::string text = readText(std::string(MINIGPTC_TEST_DIR "/golden/bpe/") + name);
  REQUIRE(!text.empty());
  return text;
}

/// GPT-2's tokenizer, from its two files.
inline runtime::Tokenizer gpt2() {
  TempFolder folder;
  writeText(folder.file("vocab.json"), goldenText("gpt2_vocab.json"));
  writeText(folder.file("merges.txt"), goldenText("gpt2_merges.txt"));
  runtime::StatusOr<runtime::Tokenizer> tokenizer = runtime::Tokenizer::load(folder.path.string());
  INFO(tokenizer.status().toString());
  REQUIRE(tokenizer.ok());
  return *tokenizer;
}

inline std::vector<std::string> piecesOf(runtime::TextPattern pattern, std::string_view text) {
  std::vector<std::string> pieces;
  const uint8_t *begin = reinterpret_cast<const uint8_t *>(text.data());
  runtime::text::forEachPiece(
      pattern, begin, begin + text.size(),
      [&](const uint8_t *from, const uint8_t *to) { pieces.emplace_back(from, to); });
  return pieces;
}

/// Fragments in random order: blanks, letters of one and more bytes, apostrophes, numbers,
/// marks, pieces of special tokens and of broken UTF-8.
inline std::string randomText(std::mt19937 &random, size_t fragments) {
  static const std::string parts[] = {" ",
                                      " ",
                                      "\n",
                                      "\r\n",
                                      "\t",
                                      "a",
                                      "the",
                                      "S",
                                      "'s",
                                      "'LL",
                                      "'",
                                      "1",
                                      "23",
                                      "4567",
                                      "!",
                                      "...",
                                      "(",
                                      "\u00e9",
                                      "e\u0301",
                                      "\u4f60\u597d",
                                      "\u3002",
                                      "\u3000",
                                      "\u00a0",
                                      "\u00b2",
                                      "\U0001F600",
                                      "<|end|>",
                                      "<|end",
                                      "|>",
                                      "\xff",
                                      "\xe4\xbd",
                                      "\x80",
                                      "\u0301",
                                      "\u0323",
                                      "\u212b",
                                      "\u1112",
                                      "\u1161",
                                      "\u11ab",
                                      "\u017f",
                                      "lower",
                                      "low",
                                      std::string(1, '\0')};
  std::string text;
  for (size_t i = 0; i < fragments; ++i)
    text += parts[random() % std::size(parts)];
  return text;
}

inline runtime::Tokenizer learn(const std::vector<std::string> &texts,
                                runtime::TokenizerTraining options) {
  auto trainer = runtime::TokenizerTrainer::create(std::move(options));
  INFO(trainer.status().toString());
  REQUIRE(trainer.ok());
  for (const std::string &text : texts) {
    REQUIRE(trainer->add(text).ok());
    REQUIRE(trainer->endText().ok());
  }
  auto tokenizer = trainer->train();
  INFO(tokenizer.status().toString());
  REQUIRE(tokenizer.ok());
  return *tokenizer;
}

} // namespace minigptc::test

#endif // MINIGPTC_TEST_RUNTIME_TEXT_TEXTSUPPORT_H
