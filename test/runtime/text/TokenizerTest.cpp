#include "test/runtime/text/TextSupport.h"

#include <nlohmann/json.hpp>
#include <utility>

using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

/// Merges as the definition has it: the leftmost pair of lowest rank, again and again.
std::vector<int32_t> encodeSlowly(const Tokenizer &tokenizer, const std::string &piece) {
  const text::TokenizerTables &tables = tokenizer.tables();
  std::vector<int32_t> ids;
  for (char c : piece)
    ids.push_back(tables.byteIds[uint8_t(c)]);
  for (;;) {
    const text::Merge *best = nullptr;
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      if (const text::Merge *merge = tables.merges.find(ids[i], ids[i + 1]);
          merge && (!best || merge->rank < best->rank)) {
        best = merge;
        at = i;
      }
    if (!best)
      return ids;
    ids[at] = best->result;
    ids.erase(ids.begin() + ptrdiff_t(at) + 1);
  }
}

} // namespace

TEST_CASE("ids are GPT-2's, and give the text back") {
  Tokenizer tokenizer = gpt2();
  CHECK(tokenizer.vocabularySize() == 50257);
  REQUIRE(tokenizer.specialTokens().size() == 1);
  CHECK(tokenizer.specialId("<|endoftext|>") == 50256);
  CHECK(!tokenizer.specialId("the"));
  nlohmann::json recorded = nlohmann::json::parse(goldenText("gpt2_ids.json"));
  recorded["mixed.txt"] = nlohmann::json::parse(goldenText("mixed_ids.json"));
  CHECK(recorded.size() == 6);
  for (const auto &[name, ids] : recorded.items()) {
    INFO(name);
    std::string text = goldenText(name);
    std::vector<int32_t> encoded = tokenizer.encode(text);
    CHECK(encoded == ids.get<std::vector<int32_t>>());
    CHECK(*tokenizer.decodeBytes(encoded) == text);
  }
}

TEST_CASE("pieces of any length merge the leftmost pair of lowest rank") {
  Tokenizer tokenizer = gpt2();
  std::mt19937 random(3);
  for (size_t length : {1, 2, 3, 15, 16, 17, 30, 63, 64, 65, 66, 100, 1000})
    for (int letters : {1, 2, 26}) {
      std::string piece;
      for (size_t i = 0; i < length; ++i)
        piece += char('a' + random() % unsigned(letters));
      INFO(piece);
      CHECK(tokenizer.encode(piece) == encodeSlowly(tokenizer, piece));
    }
}

TEST_CASE("any bytes come back") {
  Tokenizer tokenizer = gpt2();
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    for (size_t i = random() % 300; i > 0; --i)
      bytes += char(random());
    CHECK(*tokenizer.decodeBytes(tokenizer.encode(bytes)) == bytes);
  }
  CHECK(tokenizer.encode("").empty());
}

TEST_CASE("decoding repairs UTF-8, and refuses ids without a token") {
  Tokenizer tokenizer = Tokenizer::bytes();
  CHECK(tokenizer.vocabularySize() == 256);
  CHECK(tokenizer.encode("a\xff") == std::vector<int32_t>{'a', 255});
  std::vector<int32_t> ids = {'a', 0xe4, 0xbd, 'b'};
  CHECK(*tokenizer.decode(ids) == "a\ufffd"
                                  "b");
  CHECK(*tokenizer.decodeBytes(ids) == "a\xe4\xbd"
                                       "b");
  for (int32_t bad : {256, -1, INT32_MAX}) {
    std::vector<int32_t> wrong = {'a', bad};
    StatusOr<std::string> text = tokenizer.decode(wrong);
    REQUIRE(!text.ok());
    CHECK(contains(text.status().message(), "no token has the id " + std::to_string(bad)));
    CHECK(contains(text.status().message(), "number 1 of 2"));
  }
}

TEST_CASE("merges recorded elsewhere give the ids recorded there") {
  nlohmann::json golden = nlohmann::json::parse(goldenText("train_bpe.json"))["tinystories_5M"];
  text::Definition definition;
  for (int byte = 0; byte < 256; ++byte)
    definition.tokens.push_back(std::string(1, char(byte)));
  definition.added.push_back({256, "<|endoftext|>"});
  definition.tokens.push_back("<|endoftext|>");
  auto bytesOf = [](const std::string &hex) {
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2)
      bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
    return bytes;
  };
  std::map<std::string, int32_t> ids;
  for (int32_t byte = 0; byte < 256; ++byte)
    ids[definition.tokens[size_t(byte)]] = byte;
  for (const auto &pair : golden["merges_hex"]) {
    std::string left = bytesOf(pair[0]), right = bytesOf(pair[1]);
    int32_t id = int32_t(definition.tokens.size());
    definition.merges.push_back({ids.at(left), ids.at(right), id});
    definition.tokens.push_back(left + right);
    ids[left + right] = id;
  }
  StatusOr<Tokenizer> tokenizer = text::build(std::move(definition));
  REQUIRE(tokenizer.ok());
  CHECK(tokenizer->encode(goldenText("tinystories_sample.txt")) ==
        golden["encode_tinystories_sample_ids"].get<std::vector<int32_t>>());
}

namespace {

/// Encodes the text cut into random pieces, with parts of all sizes, on one thread and more.
void checkCuts(const Tokenizer &tokenizer, const std::string &text, std::mt19937 &random) {
  std::vector<int32_t> whole = tokenizer.encode(text);
  for (size_t partBytes : {1, 7, 100})
    for (int threads : {1, 3}) {
      std::vector<int32_t> ids;
      TextEncoder encoder(tokenizer,
                          [&](std::span<const int32_t> some) {
                            ids.insert(ids.end(), some.begin(), some.end());
                            return Status::success();
                          },
                          {.threads = threads, .partBytes = partBytes});
      for (int twice = 0; twice < 2; ++twice) {
        ids.clear();
        for (size_t at = 0; at < text.size();) {
          size_t length = 1 + random() % 50;
          REQUIRE(encoder.add(std::string_view(text).substr(at, length)).ok());
          at += length;
        }
        REQUIRE(encoder.finish().ok());
        INFO(text);
        REQUIRE(ids == whole);
      }
    }
}

} // namespace

TEST_CASE("ids do not depend on how a text arrives, on parts or threads") {
  std::mt19937 random(5);
  for (TextPattern pattern : kPatterns)
    for (bool normalize : {false, true}) {
      text::Definition definition =
          learn({randomText(random, 3000)}, {.vocabularySize = 330,
                                             .specialTokens = {"<|end|>", "|><|", "end|>1"},
                                             .pattern = pattern})
              .tables()
              .definition;
      definition.normalize = normalize;
      Tokenizer tokenizer = *text::build(std::move(definition));
      for (int round = 0; round < 40; ++round)
        checkCuts(tokenizer, randomText(random, 400), random);
    }
}

TEST_CASE("a text is brought into normal form where the tokenizer asks for it") {
  text::Definition definition = gpt2().tables().definition;
  definition.normalize = true;
  Tokenizer tokenizer = *text::build(std::move(definition));
  CHECK(tokenizer.hash() != gpt2().hash());
  CHECK(tokenizer.encode("cafe\u0301<|endoftext|>\u0301") ==
        gpt2().encode("caf\u00e9<|endoftext|>\u0301"));
  // The longest that a text becomes.
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "\U0001d160";
  CHECK(tokenizer.decodeBytes(tokenizer.encode(text))->size() == 3 * text.size());
}

TEST_CASE("a sink that fails ends the encoding") {
  TextEncoder encoder(Tokenizer::bytes(), [](std::span<const int32_t>) {
    return Status(StatusCode::resourceExhausted, "full");
  });
  REQUIRE(encoder.add("some text").ok());
  CHECK(encoder.finish().message() == "full");
}

TEST_CASE("a sink that fails on the way is not asked again") {
  for (int threads : {1, 2}) {
    int calls = 0;
    TextEncoder encoder(Tokenizer::bytes(),
                        [&](std::span<const int32_t>) {
                          return ++calls < 5 ? Status::success()
                                             : Status(StatusCode::resourceExhausted, "full");
                        },
                        {.threads = threads, .partBytes = 16});
    Status status;
    int added = 0;
    for (; status.ok() && added < 1000; ++added)
      status = encoder.add("some text with a number of words, ");
    CHECK(status.message() == "full");
    CHECK(added < 1000);
    CHECK(calls == 5);
    CHECK(encoder.encodedBytes() > 0); // those of the calls before
  }
}

TEST_CASE("what has reached the sink is said, the rest can be encoded as another text") {
  Tokenizer tokenizer = gpt2();
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "word " + std::to_string(i) + ", ";
  std::vector<int32_t> ids;
  TextEncoder encoder(tokenizer,
                      [&](std::span<const int32_t> some) {
                        ids.insert(ids.end(), some.begin(), some.end());
                        return Status::success();
                      },
                      {.threads = 2, .partBytes = 4});
  size_t known = 0;
  for (char c : text) {
    REQUIRE(encoder.add({&c, 1}).ok());
    size_t done = size_t(encoder.encodedBytes());
    if (done == std::exchange(known, done))
      continue;
    std::vector<int32_t> rest = tokenizer.encode(text.substr(done)), all = ids;
    all.insert(all.end(), rest.begin(), rest.end());
    REQUIRE(all == tokenizer.encode(text));
  }
  CHECK(known > 0);
  REQUIRE(encoder.finish().ok());
  CHECK(ids == tokenizer.encode(text));
}

TEST_CASE("a text that can't be cut is encoded all the same") {
  Tokenizer tokenizer = gpt2();
  std::string text(3'000'000, 'a');
  std::vector<int32_t> ids;
  TextEncoder encoder(tokenizer, [&](std::span<const int32_t> some) {
    ids.insert(ids.end(), some.begin(), some.end());
    return Status::success();
  });
  REQUIRE(encoder.add(text).ok());
  REQUIRE(encoder.finish().ok());
  CHECK(ids == tokenizer.encode(text));
  CHECK(*tokenizer.decodeBytes(ids) == text);
}

TEST_CASE("a text without a place to cut it for 256 MiB is refused, and the next one is not") {
  Tokenizer tokenizer = Tokenizer::bytes();
  int64_t ids = 0;
  TextEncoder encoder(tokenizer, [&](std::span<const int32_t> some) {
    ids += int64_t(some.size());
    return Status::success();
  });
  const std::string letters(1 << 20, 'a');
  Status status;
  int added = 0;
  for (; status.ok() && added < 300; ++added)
    status = encoder.add(letters);
  CHECK(added == 256);
  CHECK(status.code() == StatusCode::dataLoss);
  CHECK(status.message() == "the text has 256 MiB without a place where it can be cut");
  REQUIRE(encoder.add("a text").ok());
  REQUIRE(encoder.finish().ok());
  CHECK(ids == 6);
}
