#include "runtime/base/Philox.h"
#include "runtime/train/Batches.h"
#include "runtime/train/TextTokens.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <set>

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
  CHECK(*tokenFileWidth(folder.file("t"), 65536) == 2);
  CHECK(*tokenFileWidth(folder.file("t"), 65537) == 4);
  writeText(folder.file("t.json"), R"({"dtype": "uint32"})");
  CHECK(*tokenFileWidth(folder.file("t"), 256) == 4);
  writeText(folder.file("t.json"), R"({"dtype": "float"})");
  CHECK_FALSE(tokenFileWidth(folder.file("t"), 256).ok());

  writeText(folder.file("w"), std::string("\x01\0\1\0\x02\0\0\0", 8));
  StatusOr<std::unique_ptr<TokenSource>> source =
      openTokens(folder.file("w"), {.width = 4, .vocabSize = 70000});
  REQUIRE(source.ok());
  int32_t ids[2];
  REQUIRE((*source)->read(0, ids).ok());
  CHECK(ids[0] == 65537);
  CHECK(ids[1] == 2);
  CHECK_FALSE((*source)->read(1, ids).ok());
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
    CHECK(*targetBytes(*data->train, tokenizer) + *targetBytes(*data->val, tokenizer) +
              int64_t(tokenizer.token(ids[0])->size() +
                      tokenizer.token(ids[ids.size() - size_t(held)])->size()) ==
          int64_t(text.size()));
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
