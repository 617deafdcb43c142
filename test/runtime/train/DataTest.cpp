#include "runtime/base/Philox.h"
#include "runtime/text/TokenFile.h"
#include "runtime/train/Batches.h"
#include "runtime/train/JoinedTokens.h"
#include "runtime/train/TextTokens.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

std::string tokens16(const std::vector<int> &ids) {
  std::string bytes;
  for (int id : ids)
    bytes += {char(id & 255), char(id >> 8)};
  return bytes;
}

RunConfig configWith(int64_t vocabulary, int64_t context) {
  RunConfig config;
  config.model.vocabSize = vocabulary;
  config.model.contextLength = context;
  return config;
}

Status openStatus(const RunConfig &config) {
  StatusOr<DataSources> data = openData(config);
  return data.ok() ? Status::success() : data.status();
}

} // namespace

TEST_CASE("philox: known answers of the paper's code") {
  CHECK(philox({0, 0}, {0, 0, 0, 0}) ==
        PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox: a random word is the word of its draw") {
  RandomKey key{7, 9};
  CHECK(randomWord(key, 0) == philox(key, {0, 0, 0, 0})[0]);
  CHECK(randomWord(key, 7) == philox(key, {1, 0, 0, 0})[3]);
  CHECK(randomWord(key, (uint64_t(5) << 34) + 2) == philox(key, {0, 5, 0, 0})[2]);
}

TEST_CASE("token files: what is wrong is said, with file and place") {
  TempFolder folder;
  RunConfig config = configWith(300, 4);
  config.data.trainPath = folder.file("t");
  auto with = [&](const std::string &bytes) {
    writeText(folder.file("t"), bytes);
    return openStatus(config);
  };
  CHECK(with(tokens16({1, 2, 3, 4, 5})).ok());
  CHECK(contains(with("").message(), "is empty"));
  CHECK(contains(with("abc").message(), "multiple of 2"));
  Status shortFile = with(tokens16({1, 2, 3, 4}));
  CHECK(contains(shortFile.message(), "has 4 tokens, but at least 5"));
  Status outside = with(tokens16({1, 2, 300, 4, 5}));
  CHECK(contains(outside.message(), "token 300"));
  CHECK(contains(outside.message(), "number 2, at byte 4"));
  config.data.trainPath = folder.path.string();
  CHECK(openStatus(config).message().find("directory") != std::string::npos);
  config.data.trainPath = folder.file("nothing");
  CHECK(openStatus(config).code() == StatusCode::notFound);
  config.data.trainPath.clear();
  CHECK(contains(openStatus(config).message(), "no data"));
  config.data.dummy = true;
  CHECK(openStatus(config).ok());
  config.data.textPath = folder.file("t");
  CHECK(openStatus(config).code() == StatusCode::invalidArgument);
}

TEST_CASE("token files: 32 bits by vocabulary or by side file") {
  TempFolder folder;
  std::string two("\x01\0\1\0\x02\0\0\0", 8);
  writeText(folder.file("t"), two);
  auto size = [&](int64_t vocabulary) {
    StatusOr<std::unique_ptr<TokenSource>> source = openTokenFile(folder.file("t"), vocabulary);
    return source ? (*source)->size() : -1;
  };
  CHECK(size(65536) == 4);
  CHECK(size(65537) == -1); // its first id is 65537
  CHECK(size(65538) == 2);
  writeText(folder.file("t.json"), R"({"dtype": "uint16"})");
  CHECK(size(65538) == 4);
  writeText(folder.file("t.json"), R"({"dtype": "float"})");
  CHECK(size(65538) == -1);

  writeText(folder.file("w"), two);
  StatusOr<std::unique_ptr<TokenSource>> source =
      openTokens(folder.file("w"), {.width = 4, .vocabSize = 70000});
  REQUIRE(source.ok());
  int32_t ids[2];
  REQUIRE((*source)->read(0, ids).ok());
  CHECK(ids[0] == 65537);
  CHECK(ids[1] == 2);
  CHECK_FALSE((*source)->read(1, ids).ok());
}

TEST_CASE("token files: the side file must fit the file, the model and the tokenizer") {
  TempFolder folder;
  writeText(folder.file("t"), tokens16({1, 2, 3, 4, 5}));
  auto with = [&](const std::string &side, const Tokenizer *tokenizer = nullptr) {
    writeText(folder.file("t.json"), side);
    return openTokenFile(folder.file("t"), 300, tokenizer).status();
  };
  CHECK(with(R"({"dtype": "uint16", "tokens": 5, "vocabulary": 300})").ok());
  Status cut = with(R"({"dtype": "uint16", "tokens": 6})");
  CHECK(contains(cut.message(), "has 10 bytes, but its side file says 6 tokens"));
  Status large = with(R"({"dtype": "uint16", "vocabulary": 301})");
  CHECK(contains(large.message(), "a vocabulary of 301, but model.vocab_size is 300"));
  // Not as if it said nothing.
  for (const char *side :
       {R"({"dtype": "uint16", "tokens": "5"})", R"({"dtype": "uint16", "tokens": -1})",
        R"({"dtype": "uint16", "vocabulary": 2.5})", R"({"dtype": "uint16", "tokenizer": 7})",
        R"({"dtype": "int8"})", "[5]"})
    CHECK(contains(with(side).message(), "does not say how tokens are stored"));
  Tokenizer bytes = Tokenizer::bytes();
  CHECK(contains(with(R"({"dtype": "uint16", "tokenizer": "0123456789abcdef"})", &bytes).message(),
                 "is of another tokenizer"));
}

TEST_CASE("token files: those of llm.c") {
  TempFolder folder;
  auto file = [&](int32_t magic, int32_t version, int32_t count, const std::string &tokens) {
    std::vector<int32_t> header(256);
    header[0] = magic, header[1] = version, header[2] = count;
    writeText(folder.file("t"),
              std::string(reinterpret_cast<const char *>(header.data()), 1024) + tokens);
    return openTokenFile(folder.file("t"), 70000);
  };
  StatusOr<std::unique_ptr<TokenSource>> gpt2 = file(20240520, 1, 3, tokens16({7, 50256, 9}));
  REQUIRE(gpt2.ok());
  REQUIRE((*gpt2)->size() == 3);
  std::vector<int32_t> ids(3);
  REQUIRE((*gpt2)->read(0, ids).ok());
  CHECK(ids == std::vector<int32_t>{7, 50256, 9});
  CHECK((*readTokenFileInfo(folder.file("t")))->separator == 50256);
  StatusOr<std::unique_ptr<TokenSource>> llama =
      file(20240801, 7, 2, std::string("\x01\0\1\0\x02\0\0\0", 8));
  REQUIRE(llama.ok());
  REQUIRE((*llama)->size() == 2);
  CHECK(contains(file(20240520, 1, 4, tokens16({7, 50256, 9})).status().message(),
                 "its header says 4 tokens"));
  CHECK(contains(file(20240520, 2, 3, tokens16({1, 2, 3})).status().message(),
                 "a file of llm.c with the magic number 20240520 and version 2"));
  Status questions = file(20240522, 1, 3, tokens16({1, 2, 3})).status();
  CHECK(contains(questions.message(), "magic number 20240522"));
  CHECK(contains(questions.help(), "questions"));
  // Ids that happen to begin like that are ids.
  writeText(folder.file("t"), tokens16({0xd888, 0x134, 1, 0}));
  CHECK((*openTokenFile(folder.file("t"), 65536))->size() == 4);
}

TEST_CASE("token files: beyond 4 GiB") {
  TempFolder folder;
  std::string path = folder.file("t");
  int64_t last = (int64_t(5) << 30) / 2 - 1;
  writeText(path, "");
  std::filesystem::resize_file(path, uint64_t(last) * 2); // no blocks on disk
  std::ofstream(path, std::ios::binary | std::ios::app) << tokens16({777});
  auto source = openTokens(path, {.width = 2, .vocabSize = 1000});
  REQUIRE(source.ok());
  REQUIRE((*source)->size() == last + 1);
  std::vector<int32_t> ids(2);
  REQUIRE((*source)->read(last - 1, ids).ok());
  CHECK(ids == std::vector<int32_t>{0, 777});
  BatchLoader sequential(**source, {.order = SampleOrder::sequential}, 1, 1);
  CHECK(sequential.sequences() == last);
  StatusOr<Batch> batch = sequential.batch(last - 1);
  REQUIRE(batch.ok());
  CHECK(batch->y.span<int32_t>()[0] == 777);
  BatchLoader random(**source, {.order = SampleOrder::random, .seed = 1}, 1, 16);
  int64_t largest = 0;
  for (int64_t n = 0; n < 100; ++n)
    largest = std::max(largest, random.start(n));
  CHECK(largest > int64_t(1) << 31);
  // As one of two files.
  std::vector<WeightedTokens> files;
  files.push_back({makeDummyTokens(int64_t(3) << 32, 10, 1, "x")});
  files.push_back({*std::move(source)});
  auto joined = joinTokens(std::move(files));
  REQUIRE(joined->read((int64_t(3) << 32) + last, std::span(ids).first(1)).ok());
  CHECK(ids[0] == 777);
}

TEST_CASE("token files: one that is cut short while it is trained on is an error") {
  TempFolder folder;
  writeText(folder.file("t"), tokens16(std::vector<int>(1 << 16, 7)));
  auto source = openTokens(folder.file("t"), {.width = 2, .vocabSize = 10});
  REQUIRE(source.ok());
  uint64_t whole = (*source)->contentHash();
  CHECK(whole == (*source)->contentHash());
  BatchLoader loader(**source, {.order = SampleOrder::sequential}, 1, 64);
  std::filesystem::resize_file(folder.file("t"), 1000);
  CHECK(loader.batch(0).ok());
  Status cut = loader.batch(9).status();
  CHECK(cut.code() == StatusCode::dataLoss);
  CHECK(contains(cut.message(), folder.file("t") + "' became shorter while it was read"));
  CHECK((*source)->contentHash() != whole);
}

TEST_CASE("several files: samples of each by weight, or by size; none crosses a border") {
  TempFolder folder;
  writeText(folder.file("a"), tokens16(std::vector<int>(100, 1)));
  writeText(folder.file("b"), tokens16(std::vector<int>(300, 2)));
  RunConfig config = configWith(10, 4);
  auto share = [&](std::vector<std::string> mixture) {
    config.data.mixture = std::move(mixture);
    StatusOr<DataSources> data = openData(config);
    INFO(data.status().toString());
    REQUIRE(data.ok());
    REQUIRE(data->train->size() == 400);
    BatchLoader loader(*data->train, {.order = SampleOrder::random, .seed = 3}, 1, 4);
    int ofSecond = 0;
    for (int64_t n = 0; n < 1000; ++n) {
      StatusOr<Batch> batch = loader.batch(n);
      REQUIRE(batch.ok());
      std::span<int32_t> x = batch->x.span<int32_t>(), y = batch->y.span<int32_t>();
      CHECK(x.front() == y.back());
      ofSecond += x.front() == 2;
    }
    return ofSecond;
  };
  CHECK(share({folder.file("a") + "=9", folder.file("b") + "=1"}) == Approx(100).margin(30));
  CHECK(share({folder.file("a"), folder.file("b")}) == Approx(750).margin(45));

  StatusOr<DataSources> data = openData(config);
  BatchLoader loader(*data->train, {.order = SampleOrder::sequential}, 1, 4);
  CHECK(loader.sequences() == 24 + 74);
  CHECK(loader.start(23) == 92);
  CHECK(loader.start(24) == 100);
  CHECK(loader.start(98) == 0);

  auto message = [&](std::vector<std::string> mixture) {
    config.data.mixture = std::move(mixture);
    return openStatus(config).message();
  };
  CHECK(contains(message({folder.file("a") + "=1", folder.file("b")}), "others none"));
  CHECK(contains(message({folder.file("a") + "=0"}), "must be a positive number"));
  CHECK(contains(message({folder.file("a") + "=x"}), "a=x"));
  config.model.contextLength = 200;
  CHECK(contains(message({folder.file("a"), folder.file("b")}), "a' has 100 tokens"));
}

TEST_CASE("documents as rows: every token but the first is a target once, the rest is filled up") {
  TempFolder folder;
  // Documents of 3 and 1 and 7 tokens with their separator 0, and one that nothing ends.
  writeText(folder.file("t"), tokens16({5, 6, 0, 0, 1, 2, 3, 4, 5, 6, 0, 8, 9}));
  RunConfig config = configWith(10, 4);
  config.data.trainPath = folder.file("t");
  config.data.rows = "documents";
  CHECK(openStatus(config).toString().find("data.ignore_index") != std::string::npos);
  config.data.ignoreIndex = -1;
  CHECK(openStatus(config).toString().find("data.separator") != std::string::npos);
  config.data.separator = 7;
  config.model.vocabSize = 7;
  CHECK_FALSE(openStatus(config).ok());
  config.model.vocabSize = 10;
  config.data.separator = 0;
  StatusOr<DataSources> data = openData(config);
  INFO(data.status().toString());
  REQUIRE(data.ok());
  BatchLoader loader(*data->train, {.order = SampleOrder::sequential}, 4, 4);
  REQUIRE(loader.sequences() == 4);
  StatusOr<Batch> batch = loader.batch(0);
  REQUIRE(batch.ok());
  std::span<int32_t> x = batch->x.span<int32_t>(), y = batch->y.span<int32_t>();
  CHECK(std::vector<int>(x.begin(), x.end()) ==
        std::vector<int>{5, 6, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0, 0, 0});
  CHECK(std::vector<int>(y.begin(), y.end()) ==
        std::vector<int>{6, 0, -1, -1, 2, 3, 4, 5, 6, 0, -1, -1, 9, -1, -1, -1});
  // A part of a batch is what one process of several reads.
  StatusOr<Batch> part = loader.samples(2, 2);
  REQUIRE(part.ok());
  CHECK(std::ranges::equal(part->x.span<int32_t>(), x.subspan(8)));

  std::set<int64_t> seen;
  BatchLoader random(*data->train, {.order = SampleOrder::random, .seed = 2}, 1, 4);
  for (int64_t n = 0; n < 100; ++n)
    seen.insert(random.start(n));
  CHECK(seen == std::set<int64_t>{0, 4, 8, 11});
}

TEST_CASE("texts: bytes, the last tenth is held out") {
  TempFolder folder;
  std::string text(100, 'a');
  text[90] = char(0xff);
  writeText(folder.file("t"), text);
  RunConfig config = configWith(256, 4);
  config.data.textPath = folder.file("t");
  StatusOr<DataSources> data = openData(config);
  REQUIRE(data.ok());
  CHECK(data->train->size() == 90);
  REQUIRE(data->val);
  CHECK(data->val->size() == 10);
  int32_t first[1];
  REQUIRE(data->val->read(0, first).ok());
  CHECK(first[0] == 255);

  config.model.contextLength = 20; // The held-out tenth would be too short.
  data = openData(config);
  REQUIRE(data.ok());
  CHECK(data->train->size() == 100);
  CHECK_FALSE(data->val);
  CHECK(data->remarks.size() == 1);

  config.model.vocabSize = 200;
  CHECK(contains(openStatus(config).message(), "token 255"));
}

TEST_CASE("texts with a tokenizer: encoded once, the last tenth of the tokens is held out") {
  TempFolder folder;
  setenv("XDG_CACHE_HOME", folder.file("cache").c_str(), 1);
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "low lower ";
  auto trainer = TokenizerTrainer::create({.vocabularySize = 260});
  REQUIRE(trainer->add(text).ok());
  Tokenizer tokenizer = *trainer->train();
  REQUIRE(tokenizer.save(folder.file("tok")).ok());
  writeText(folder.file("t"), text);
  RunConfig config = configWith(260, 4);
  config.data.textPath = folder.file("t");
  config.data.tokenizer = folder.file("tok");
  std::vector<int32_t> ids = tokenizer.encode(text);
  for (bool known : {false, true}) {
    StatusOr<DataSources> data = openData(config);
    INFO(data.status().toString());
    REQUIRE(data.ok());
    CHECK(data->remarks.size() == (known ? 0 : 1));
    int64_t held = int64_t(ids.size()) / 10;
    REQUIRE(data->val);
    REQUIRE(data->val->size() == held);
    CHECK(data->train->size() == int64_t(ids.size()) - held);
    std::vector<int32_t> read(size_t(data->train->size()));
    REQUIRE(data->train->read(0, read).ok());
    CHECK(std::equal(read.begin(), read.end(), ids.begin()));
    double bytes = 0;
    for (const TokenSource *source : {data->train.get(), data->val.get()})
      bytes += *bytesPerTarget(*source, tokenizer, {}) * double(source->size() - 1);
    // What ends documents stands for no text.
    double one = *bytesPerTarget(*data->val, tokenizer, {});
    CHECK(*bytesPerTarget(*data->val, tokenizer, ids.back()) < one);
    CHECK(bytes + double(tokenizer.token(ids[0])->size() +
                         tokenizer.token(ids[ids.size() - size_t(held)])->size()) ==
          Approx(text.size()));
  }
  // Another text, or a damaged file in the cache, is encoded anew.
  for (const auto &entry :
       std::filesystem::directory_iterator(folder.file("cache/minigptc/tokens")))
    if (entry.path().extension() == ".bin")
      writeText(entry.path().string(), "cut");
  CHECK(openData(config)->remarks.size() == 1);
  CHECK(openData(config)->remarks.empty());
  writeText(folder.file("t"), text + "!");
  CHECK(openData(config)->remarks.size() == 1);

  config.data.tokenizerHash = "0123456789abcdef";
  CHECK(contains(openStatus(config).message(), "is asked for"));
  config.data.tokenizerHash.clear();
  config.model.vocabSize = 259;
  CHECK(contains(openStatus(config).message(), "has 260 tokens, but model.vocab_size is 259"));
  unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("texts with a tokenizer: one that changes while it is read leaves nothing behind") {
  TempFolder folder;
  setenv("XDG_CACHE_HOME", folder.file("cache").c_str(), 1);
  Tokenizer tokenizer = Tokenizer::bytes();
  const std::string text = "a text";
  int ends[2]; // empty when it is read again
  REQUIRE(pipe(ends) == 0);
  REQUIRE(write(ends[1], text.data(), text.size()) == ssize_t(text.size()));
  close(ends[1]);
  Status status = encodeText("/proc/self/fd/" + std::to_string(ends[0]), tokenizer).status();
  close(ends[0]);
  CHECK(status.code() == StatusCode::dataLoss);
  CHECK(contains(status.message(), "another text when it was read again"));
  writeText(folder.file("t"), text);
  StatusOr<EncodedText> again = encodeText(folder.file("t"), tokenizer);
  REQUIRE(again.ok());
  CHECK(again->tokens == int64_t(text.size()));
  unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("batches: random starts are uniform in [0, len - T) and depend on seed and number") {
  auto source = makeDummyTokens(30, 50, 1, "x");
  BatchLoader loader(*source, {.order = SampleOrder::random, .seed = 5}, 2, 8);
  BatchLoader again(*source, {.order = SampleOrder::random, .seed = 5}, 4, 8);
  BatchLoader other(*source, {.order = SampleOrder::random, .seed = 6}, 2, 8);
  std::set<int64_t> seen;
  int different = 0;
  for (int64_t n = 0; n < 400; ++n) {
    int64_t start = loader.start(n);
    CHECK(start == again.start(n));
    different += start != other.start(n);
    seen.insert(start);
  }
  CHECK(different > 300);
  CHECK(*seen.begin() == 0);
  CHECK(*seen.rbegin() == 21);
  CHECK(seen.size() == 22);

  // Batches 2 and 3 of size 2 are batch 1 of size 4.
  StatusOr<Batch> a = loader.batch(6), b = again.batch(4);
  REQUIRE(a.ok());
  CHECK(std::equal(a->x.span<int32_t>().begin(), a->x.span<int32_t>().end(),
                   b->x.span<int32_t>().begin() + 16));
}

TEST_CASE("batches: sequential order has no gaps and wraps") {
  TempFolder folder;
  std::vector<int> ids(14);
  for (int i = 0; i < 14; ++i)
    ids[size_t(i)] = i;
  writeText(folder.file("t"), tokens16(ids));
  auto source = openTokens(folder.file("t"), {.width = 2, .vocabSize = 14});
  REQUIRE(source.ok());
  BatchLoader loader(**source, {.order = SampleOrder::sequential}, 2, 4);
  CHECK(loader.sequences() == 3);
  StatusOr<Batch> batch = loader.batch(2); // Sequences 2 and 3, which is 0 again.
  REQUIRE(batch.ok());
  std::span<int32_t> x = batch->x.span<int32_t>(), y = batch->y.span<int32_t>();
  CHECK(std::vector<int>(x.begin(), x.end()) == std::vector<int>{8, 9, 10, 11, 0, 1, 2, 3});
  CHECK(std::vector<int>(y.begin(), y.end()) == std::vector<int>{9, 10, 11, 12, 1, 2, 3, 4});
}

TEST_CASE("batches: spread samples cover the source from end to end") {
  auto source = makeDummyTokens(1001, 50, 1, "x");
  BatchLoader loader(*source, {.order = SampleOrder::spread, .spreadOver = 11}, 1, 1);
  CHECK(loader.start(0) == 0);
  CHECK(loader.start(10) == 999);
  CHECK(loader.start(5) == 499);
  BatchLoader single(*source, {.order = SampleOrder::spread, .spreadOver = 1}, 1, 1);
  CHECK(single.start(0) == 0);
}

TEST_CASE("dummy tokens: a function of seed, stream and position") {
  auto a = makeDummyTokens(1000, 7, 1, "x"), b = makeDummyTokens(1000, 7, 1, "y");
  std::vector<int32_t> first(100), part(50), other(100);
  REQUIRE(a->read(0, first).ok());
  REQUIRE(a->read(50, part).ok());
  REQUIRE(b->read(0, other).ok());
  CHECK(std::equal(part.begin(), part.end(), first.begin() + 50));
  CHECK(first != other);
  CHECK(*std::max_element(first.begin(), first.end()) == 6);
  CHECK(*std::min_element(first.begin(), first.end()) == 0);
}
