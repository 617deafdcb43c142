#include "runtime/data/Preparation.h"
#include "runtime/base/Cancellation.h"
#include "runtime/base/File.h"
#include "runtime/data/Documents.h"
#include "runtime/data/Inputs.h"
#include "runtime/text/TokenFile.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <sys/resource.h>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

constexpr const char *kEnd = "<|end|>";

/// Learned from a few words; `kEnd` is a special token.
Tokenizer makeTokenizer(const std::vector<std::string> &specials = {kEnd}) {
  auto trainer = TokenizerTrainer::create({.vocabularySize = 264, .specialTokens = specials});
  REQUIRE(trainer->add("low lower lowest, slow slower").ok());
  StatusOr<Tokenizer> tokenizer = trainer->train();
  REQUIRE(tokenizer.ok());
  return *tokenizer;
}

std::vector<std::string> makeDocuments(size_t count, size_t words) {
  std::mt19937 random(5);
  std::vector<std::string> documents;
  for (size_t i = 0; i < count; ++i) {
    std::string text; // more than is encoded at a time
    for (size_t w = random() % words; w > 0; --w)
      text +=
          std::vector<std::string>{"low", " lower", " slow", "est ", "\n", "  ", "ä"}[random() % 7];
    documents.push_back(i % 10 == 3 ? text + kEnd : i % 10 == 4 ? text + kEnd + "x" : text);
  }
  return documents;
}

std::string jsonLines(const std::vector<std::string> &documents) {
  std::string lines;
  for (const std::string &text : documents) {
    std::string escaped;
    for (char c : text)
      escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
    lines += "{\"n\": [1, {\"text\": 2}], \"text\": \"" + escaped + "\"}\n";
  }
  return lines;
}

std::vector<int32_t> readTokens(const std::string &path) {
  StatusOr<std::vector<std::byte>> bytes = readFile(path);
  if (!bytes)
    return {};
  std::vector<uint16_t> narrow(bytes->size() / 2);
  std::memcpy(narrow.data(), bytes->data(), bytes->size());
  return {narrow.begin(), narrow.end()};
}

/// What a token file of these documents must have: each encoded alone, and the separator.
std::vector<int32_t> expected(const Tokenizer &tokenizer, const std::vector<std::string> &documents,
                              const std::string &separator) {
  std::vector<int32_t> all;
  for (const std::string &text : documents) {
    if (text.empty())
      continue;
    std::vector<int32_t> ids = tokenizer.encode(text);
    all.insert(all.end(), ids.begin(), ids.end());
    if (!separator.empty() && !text.ends_with(separator))
      all.push_back(*tokenizer.specialId(separator));
  }
  return all;
}

Status prepare(const Tokenizer &tokenizer, const PreparationOptions &options) {
  return prepareData(tokenizer, options).status();
}

} // namespace

TEST_CASE("data: documents of JSON Lines, each with its separator, and some held out") {
  TempFolder folder;
  std::vector<std::string> documents = makeDocuments(400, 60);
  writeText(folder.file("in.jsonl"), jsonLines(documents));
  // With the last tokenizers the separator can't be joined to the texts, or there is none.
  auto [specials, separator] = GENERATE(std::pair(std::vector<std::string>{kEnd}, kEnd),
                                        std::pair(std::vector<std::string>{kEnd, "slow<|"}, kEnd),
                                        std::pair(std::vector<std::string>{kEnd}, ""));
  Tokenizer tokenizer = makeTokenizer(specials);
  PreparationOptions options{.inputs = {folder.file("in.jsonl")},
                             .folder = folder.file("out"),
                             .valFraction = 0.2,
                             .separator = separator,
                             .threads = 2};
  StatusOr<PreparationReport> report = prepareData(tokenizer, options);
  INFO(report.status().toString());
  REQUIRE(report.ok());

  InputList inputs = *listInputs(options.inputs);
  DocumentReader reader(inputs, {.valFraction = 0.2}, {});
  DocumentPiece piece;
  std::vector<std::string> train, val, all;
  while (*reader.next(piece)) {
    (piece.heldOut ? val : train).emplace_back(piece.bytes);
    all.emplace_back(piece.bytes);
  }
  std::erase(documents, "");
  CHECK(all == documents);
  CHECK(double(val.size()) == Approx(0.2 * double(all.size())).margin(30));
  CHECK(report->train.documents == int64_t(train.size()));
  CHECK(readTokens(folder.file("out/train.bin")) == expected(tokenizer, train, separator));
  CHECK(readTokens(folder.file("out/val.bin")) == expected(tokenizer, val, separator));
  TokenFileInfo info = **readTokenFileInfo(folder.file("out/train.bin"));
  CHECK(info.tokens == report->train.tokens);
  CHECK(info.textBytes == report->train.textBytes);
  CHECK(info.tokenizer == tokenizerHashText(tokenizer));
  CHECK(info.separator.has_value() == (std::string(separator) == kEnd));
  CHECK(Tokenizer::load(folder.file("out/tokenizer"))->hash() == tokenizer.hash());
  CHECK_FALSE(std::filesystem::exists(folder.file("out/progress.json")));
}

TEST_CASE("data: an interrupted preparation goes on to the same files") {
  TempFolder folder;
  Tokenizer tokenizer = makeTokenizer();
  std::vector<std::string> documents = makeDocuments(3000, 60);
  std::filesystem::create_directory(folder.file("in"));
  writeText(folder.file("in/a.jsonl"), jsonLines(documents));
  std::string text;
  for (const std::string &document : makeDocuments(150000, 60))
    text += document;
  writeText(folder.file("in/b.txt"), text);
  writeText(folder.file("in/c.jsonl"), jsonLines(makeDocuments(100, 20)));
  PreparationOptions options{.inputs = {folder.file("in")},
                             .folder = folder.file("whole"),
                             .valFraction = 0.1,
                             .separator = kEnd,
                             .threads = 1};
  REQUIRE(prepare(tokenizer, options).ok());

  options.folder = folder.file("parts");
  std::mt19937 random(1);
  int runs = 0;
  Status status;
  int64_t next = 0;
  options.progress = [&](int64_t bytes, int64_t, int64_t) {
    if (bytes >= next) {
      next = bytes + int64_t(random() % 3000000);
      requestCancellation();
    }
  };
  do {
    clearCancellation();
    options.threads = 1 + runs % 2;
    status = prepare(tokenizer, options);
    CHECK((status.ok() || status.code() == StatusCode::cancelled));
  } while (!status && ++runs < 1000);
  clearCancellation();
  CHECK(runs > 5);
  REQUIRE(status.ok());
  for (const char *name : {"train.bin", "val.bin", "train.bin.json", "val.bin.json"}) {
    INFO(name); // The bytes are too many to be printed.
    bool same = *readFile(folder.file("parts/") + name) == *readFile(folder.file("whole/") + name);
    CHECK(same);
  }
}

TEST_CASE("data: the end of a text is held out, from a separator or a line on") {
  TempFolder folder;
  auto split = [&](const std::string &text, double fraction) {
    writeText(folder.file("t"), text);
    InputList inputs = *listInputs({folder.file("t")});
    DocumentReader reader(inputs, {.valFraction = fraction, .separator = kEnd}, {});
    std::string train, val;
    DocumentPiece piece;
    while (*reader.next(piece))
      (piece.heldOut ? val : train) += piece.bytes;
    return std::pair(train, val);
  };
  CHECK(split("one\ntwo\nthree\nfour\n", 0.5) ==
        std::pair<std::string, std::string>("one\ntwo\nthree\n", "four\n"));
  CHECK(split("one\ntwo<|end|>\nthree\n", 0.9) ==
        std::pair<std::string, std::string>("one\ntwo<|end|>", "\nthree\n"));
  CHECK(split("abcdef", 0.5) == std::pair<std::string, std::string>("abc", "def"));
  CHECK(split("abä", 0.25).second.empty()); // not within a character
  CHECK(split("abc\ndef", 0) == std::pair<std::string, std::string>("abc\ndef", ""));
}

TEST_CASE("data: what can't be prepared is one clear line, and leaves nothing that is used") {
  TempFolder folder;
  Tokenizer tokenizer = makeTokenizer();
  int number = 0;
  auto with = [&](const std::string &name, const std::string &text) {
    writeText(folder.file(name), text);
    PreparationOptions options{.inputs = {folder.file(name)},
                               .folder = folder.file("out" + std::to_string(++number))};
    Status status = prepare(tokenizer, options);
    CHECK_FALSE(std::filesystem::exists(options.folder + "/train.bin"));
    return status.toString();
  };
  CHECK(contains(with("a.jsonl", "{\"text\": \"x\"}\n{\"txt\": \"y\"}\n"), "a.jsonl:2"));
  CHECK(contains(with("a.jsonl", "{\"text\": 3}\n"), "the field 'text' is no string"));
  CHECK(contains(with("a.jsonl", "\n\n{\"text\": \"x"), "the line ends within a string"));
  CHECK(contains(with("a.jsonl", "\n\n{\"text\": \"x"), "a.jsonl:3:10"));
  CHECK(contains(with("a.jsonl", "{\"text\": \"x\xff\"}\n"), "no valid UTF-8"));
  CHECK(contains(with("a.jsonl", "{\"text\": \"\"}\n"), "all texts are empty"));
  CHECK(contains(with("t", std::string("abc\0def", 7)), "it has a zero at byte 3"));
  CHECK(contains(with("t", ""), "there is no text to prepare"));
  CHECK(contains(
      prepare(tokenizer, {.inputs = {folder.path.string()}, .folder = folder.file("o")}).message(),
      "lies in the input"));
  writeText(folder.file("t"), "some text");
  PreparationOptions options{.inputs = {folder.file("t")}, .folder = folder.file("o")};
  CHECK(contains(
      prepare(tokenizer, {.inputs = options.inputs, .folder = options.folder, .valFraction = 1})
          .message(),
      "--val-fraction"));
  REQUIRE(prepare(tokenizer, options).ok());
  CHECK(contains(prepare(tokenizer, options).message(), "is not empty"));

  // A mistake that has ended it before the first token does not keep the folder.
  writeText(folder.file("a.jsonl"), "{\"txt\": \"y\"}\n");
  options = {.inputs = {folder.file("a.jsonl")}, .folder = folder.file("mistake")};
  CHECK(contains(prepare(tokenizer, options).message(), "no field 'text'"));
  REQUIRE(tokenizer.save(folder.file("mistake/tokenizer")).ok()); // killed while it ended
  options.field = "txt";
  CHECK(prepare(tokenizer, options).ok());
}

TEST_CASE("data: a line that is too long for memory is refused, whatever follows") {
  TempFolder folder;
  std::string text = "{\"text\": \"short\"}\n{\"text\": \"" + std::string(3 << 20, 'a');
  writeText(folder.file("a.jsonl"), text);
  StatusOr<InputList> inputs = listInputs({folder.file("a.jsonl")});
  REQUIRE(inputs.ok());
  DocumentReader reader(*inputs, {.longestLine = 1 << 20}, {});
  DocumentPiece piece;
  REQUIRE(*reader.next(piece));
  CHECK(piece.bytes == "short");
  StatusOr<bool> next = reader.next(piece);
  CHECK(contains(next.status().toString(), "a line of more than 1048576 bytes"));
  CHECK(contains(next.status().toString(), "a.jsonl:2"));
}

TEST_CASE("data: in folders, links to files are taken, and what can't be read is named") {
  namespace fs = std::filesystem;
  TempFolder folder;
  writeText(folder.file("elsewhere.txt"), "linked");
  fs::create_directories(folder.file("in/deep"));
  writeText(folder.file("in/deep/a.md"), "text");
  fs::create_symlink(folder.file("elsewhere.txt"), folder.file("in/b.txt"));
  fs::create_directory_symlink("..", folder.file("in/deep/up"));
  fs::create_symlink("nowhere", folder.file("in/no_text"));
  StatusOr<InputList> list = listInputs({folder.file("in")});
  INFO(list.status().toString());
  REQUIRE(list.ok());
  REQUIRE(list->files.size() == 2);
  CHECK(list->files[0].path == folder.file("in/b.txt"));
  CHECK(list->files[0].bytes == 6);
  REQUIRE(list->remarks.size() == 2);
  CHECK(contains(list->remarks[0], "1 file in the folders not taken"));
  CHECK(contains(list->remarks[1], "1 link to folders"));

  auto [target, reason] =
      GENERATE(std::pair("nowhere", "No such file"), std::pair("c.txt", "Too many levels"));
  fs::create_symlink(target, folder.file("in/c.txt"));
  Status status = listInputs({folder.file("in")}).status();
  CHECK(contains(status.message(), "in/c.txt"));
  CHECK(contains(status.message(), reason));
}

TEST_CASE("data: two preparations do not write the same files") {
  TempFolder folder;
  Tokenizer tokenizer = makeTokenizer();
  writeText(folder.file("t"), "some text");
  PreparationOptions options{.inputs = {folder.file("t")}, .folder = folder.file("out")};
  options.progress = [&](int64_t, int64_t, int64_t) {
    PreparationOptions same{.inputs = options.inputs, .folder = options.folder}, other = same,
                                                                                 anew = same;
    other.field = "other";
    anew.restart = true;
    for (const PreparationOptions &second : {same, other, anew})
      CHECK(contains(prepare(tokenizer, second).message(),
                     "train.bin.partial' is written by another process"));
  };
  CHECK(prepare(tokenizer, options).ok());
  CHECK(readTokens(folder.file("out/train.bin")) == expected(tokenizer, {"some text"}, ""));
}

TEST_CASE("data: a full disk is an error, and the rest goes on when there is room") {
  TempFolder folder;
  Tokenizer tokenizer = makeTokenizer();
  writeText(folder.file("in.jsonl"), jsonLines(makeDocuments(3000, 200)));
  PreparationOptions options{
      .inputs = {folder.file("in.jsonl")}, .folder = folder.file("out"), .saveEveryBytes = 100000};
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{300000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = prepare(tokenizer, options);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(status.code() == StatusCode::resourceExhausted);
  CHECK(contains(status.message(), "train.bin.partial"));
  CHECK_FALSE(std::filesystem::exists(folder.file("out/train.bin")));

  // Of other inputs it does not go on.
  PreparationOptions other = options;
  other.field = "n";
  CHECK(contains(prepare(tokenizer, other).message(), "of other inputs"));
  std::string remarks;
  options.remark = [&](const std::string &text) { remarks += text; };
  REQUIRE(prepare(tokenizer, options).ok());
  CHECK(contains(remarks, "goes on after"));
  options.folder = folder.file("whole");
  REQUIRE(prepare(tokenizer, options).ok());
  CHECK(*readFile(folder.file("out/train.bin")) == *readFile(folder.file("whole/train.bin")));
}
