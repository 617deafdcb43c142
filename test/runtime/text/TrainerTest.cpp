#include "test/runtime/text/TextSupport.h"
#include <map>
#include <set>

#include <map>
#include <nlohmann/json.hpp>

using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

Merges mergesOf(const Tokenizer &tokenizer) {
  const text::Definition &definition = tokenizer.tables().definition;
  Merges merges;
  for (const text::MergePair &merge : definition.merges)
    merges.push_back(
        {definition.tokens[size_t(merge.left)], definition.tokens[size_t(merge.right)]});
  return merges;
}

/// The definition, word for word: counts everything anew for each merge.
Merges learnSlowly(const std::vector<std::string> &pieces, size_t tokens) {
  std::map<std::vector<std::string>, int64_t> words;
  for (const std::string &piece : pieces) {
    std::vector<std::string> word;
    for (char c : piece)
      word.push_back(std::string(1, c));
    ++words[word];
  }
  Merges merges;
  std::set<std::string> made;
  while (made.size() < tokens) {
    std::map<std::pair<std::string, std::string>, int64_t> counts;
    for (const auto &[word, count] : words)
      for (size_t i = 0; i + 1 < word.size(); ++i)
        counts[{word[i], word[i + 1]}] += count;
    if (counts.empty())
      break;
    auto best = counts.begin();
    for (auto pair = counts.begin(); pair != counts.end(); ++pair)
      if (pair->second >= best->second) // the map is ordered: the greatest is the last
        best = pair;
    auto [left, right] = best->first;
    std::map<std::vector<std::string>, int64_t> next;
    for (const auto &[word, count] : words) {
      std::vector<std::string> merged;
      for (size_t i = 0; i < word.size(); ++i)
        if (i + 1 < word.size() && word[i] == left && word[i + 1] == right)
          merged.push_back(left + word[++i]);
        else
          merged.push_back(word[i]);
      next[merged] += count;
    }
    words = std::move(next);
    merges.push_back({left, right});
    made.insert(left + right);
  }
  return merges;
}

Status failureOf(const std::string &text, TokenizerTraining options) {
  auto trainer = TokenizerTrainer::create(std::move(options));
  if (!trainer.ok())
    return trainer.status();
  REQUIRE(trainer->add(text).ok());
  return trainer->train().status();
}

} // namespace

TEST_CASE("merges are those recorded elsewhere") {
  nlohmann::json golden = nlohmann::json::parse(goldenText("train_bpe.json"))["corpus_en"];
  std::string corpus = goldenText("corpus.en");
  auto hex = [](const std::string &bytes) {
    std::string text;
    for (char c : bytes) {
      char digits[3];
      snprintf(digits, sizeof(digits), "%02x", uint8_t(c));
      text += digits;
    }
    return text;
  };
  for (int threads : {1, 2}) {
    Tokenizer tokenizer = learn({corpus}, {.vocabularySize = golden["vocab_size"],
                                           .specialTokens = golden["special_tokens"],
                                           .threads = threads});
    nlohmann::json merges = nlohmann::json::array();
    for (const auto &[left, right] : mergesOf(tokenizer))
      merges.push_back({hex(left), hex(right)});
    CHECK(merges == golden["merges_hex"]);
    CHECK(tokenizer.specialId("<|endoftext|>") == 256);
    std::set<std::string> vocabulary;
    for (int32_t id = 0; id < 500; ++id)
      vocabulary.insert(hex(std::string(*tokenizer.token(id))));
    CHECK(nlohmann::json(vocabulary) == golden["vocab_hex_set"]);
  }
}

TEST_CASE("training is what its definition says") {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    // Few letters: many ties, runs of one letter, tokens that two pairs make.
    std::vector<std::string> words;
    std::string text;
    size_t letters = 1 + random() % 4;
    for (int i = 0; i < 60; ++i) {
      std::string word = i ? " " : "";
      for (size_t n = 1 + random() % 9; n > 0; --n)
        word += char('a' + random() % letters);
      text += word;
      words.push_back(word);
    }
    REQUIRE(piecesOf(TextPattern::gpt2, text) == words);
    size_t merged = 5 + random() % 30;
    Merges expected = learnSlowly(words, merged);
    std::set<std::string> made;
    for (const auto &[left, right] : expected)
      made.insert(left + right);
    INFO(text);
    if (made.size() == merged) {
      CHECK(mergesOf(learn({text}, {.vocabularySize = int64_t(256 + merged)})) == expected);
      continue;
    }
    Status status = failureOf(text, {.vocabularySize = int64_t(256 + merged)});
    CHECK(contains(status.message(), "only " + std::to_string(expected.size()) + " pairs"));
    CHECK(mergesOf(learn({text}, {.vocabularySize = int64_t(256 + made.size())})).size() <=
          expected.size());
  }
}

TEST_CASE("ties go to the lexicographically greatest pair of byte strings") {
  CHECK(mergesOf(learn({"zz ab ab zz"}, {.vocabularySize = 260})) ==
        Merges{{"z", "z"}, {"a", "b"}, {" ", "ab"}, {" ", "zz"}});
  // A longer string beats its prefix.
  CHECK(mergesOf(learn({"ab abc ab abc"}, {.vocabularySize = 259})).back() ==
        std::pair<std::string, std::string>{" ab", "c"});
  // Bytes are unsigned.
  CHECK(mergesOf(learn({"\u00e9\u00e9 zz zz"}, {.vocabularySize = 257}))[0].first == "\xc3");
}

TEST_CASE("special tokens separate, and are not counted") {
  Tokenizer tokenizer = learn({"low low<|end|>low<|end|>ower"},
                              {.vocabularySize = 260, .specialTokens = {"<|end|>"}});
  CHECK(tokenizer.specialId("<|end|>") == 256);
  CHECK(mergesOf(tokenizer) == Merges{{"o", "w"}, {"l", "ow"}, {"ow", "e"}});
  // Texts are apart: no word goes from one into the next.
  CHECK(mergesOf(learn({"ab", "cd", "cd"}, {.vocabularySize = 258})) ==
        Merges{{"c", "d"}, {"a", "b"}});
}

TEST_CASE("training that can't be") {
  auto check = [](const Status &status, StatusCode code, const char *message) {
    INFO(status.toString());
    CHECK(status.code() == code);
    CHECK(contains(status.toString(), message));
  };
  check(failureOf("abc", {.vocabularySize = 300}), StatusCode::failedPrecondition,
        "only 2 pairs to merge: a vocabulary of 258, not of 300");
  check(failureOf("", {.vocabularySize = 257}), StatusCode::failedPrecondition, "only 0 pairs");
  check(failureOf("abc", {.vocabularySize = 256, .specialTokens = {"<x>"}}),
        StatusCode::invalidArgument, "between 257 (256 bytes and 1 special token)");
  check(failureOf("abc", {.vocabularySize = -1}), StatusCode::invalidArgument, "between 256");
  check(failureOf("abc", {.vocabularySize = 300, .specialTokens = {""}}),
        StatusCode::invalidArgument, "empty");
  check(failureOf("abc", {.vocabularySize = 300, .specialTokens = {"\xff"}}),
        StatusCode::invalidArgument, "UTF-8");
  check(failureOf("abc", {.vocabularySize = 300, .specialTokens = {"<x>", "<x>"}}),
        StatusCode::invalidArgument, "'<x>' is written like another token");
  check(failureOf("abc", {.vocabularySize = 300, .specialTokens = {"a"}}),
        StatusCode::invalidArgument, "'a' is written like another token");
}
