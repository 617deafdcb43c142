#include "runtime/text/TokenFile.h"
#include "test/runtime/text/TextSupport.h"

#include <nlohmann/json.hpp>

using namespace minigptc::runtime;
using namespace minigptc::test;
using Json = nlohmann::json;

namespace {

/// A small tokenizer.json, as a tree to be broken.
Json smallJson() {
  static const Json json = [] {
    TempFolder folder;
    Tokenizer tokenizer =
        learn({"low lower lowest"}, {.vocabularySize = 261, .specialTokens = {"<|end|>"}});
    REQUIRE(tokenizer.save(folder.path.string()).ok());
    return Json::parse(readText(folder.file("tokenizer.json")));
  }();
  return json;
}

StatusOr<Tokenizer> loadText(const std::string &text) {
  TempFolder folder;
  writeText(folder.file("tokenizer.json"), text);
  return Tokenizer::load(folder.path.string());
}

void refuses(const std::string &text, const std::string &message) {
  StatusOr<Tokenizer> tokenizer = loadText(text);
  INFO("wanted: " << message << "\ngot: " << tokenizer.status().toString());
  REQUIRE(!tokenizer.ok());
  CHECK(contains(tokenizer.status().message(), message));
  CHECK(contains(tokenizer.status().place(), "tokenizer.json"));
}

} // namespace

TEST_CASE("what is saved is read again, from either kind of file") {
  for (TextPattern pattern : kPatterns) {
    TempFolder folder;
    Tokenizer tokenizer = learn({"low lower \"lowest\" \\ back \u00e9\u00e9\x01\x01"},
                                {.vocabularySize = 266,
                                 .specialTokens = {"<|end|>", "two words\n\"", "\u2603"},
                                 .pattern = pattern});
    REQUIRE(tokenizer.save(folder.file("new/folder")).ok());
    StatusOr<Tokenizer> again = Tokenizer::load(folder.file("new/folder"));
    INFO(again.status().toString());
    REQUIRE(again.ok());
    CHECK(again->hash() == tokenizer.hash());
    CHECK(again->pattern() == pattern);
    CHECK(again->specialId("two words\n\"") == 257);
    CHECK(Tokenizer::load(folder.file("new/folder/tokenizer.json"))->hash() == tokenizer.hash());
    std::filesystem::remove(folder.file("new/folder/tokenizer.json"));
    again = Tokenizer::load(folder.file("new/folder"));
    INFO(again.status().toString());
    REQUIRE(again.ok());
    CHECK((again->hash() == tokenizer.hash()) == (pattern == TextPattern::gpt2));
  }
}

TEST_CASE("GPT-2's tokenizer is the same by way of tokenizer.json") {
  Tokenizer tokenizer = gpt2();
  TempFolder folder;
  REQUIRE(tokenizer.save(folder.path.string()).ok());
  CHECK(Json::parse(readText(folder.file("vocab.json"))) ==
        Json::parse(goldenText("gpt2_vocab.json")));
  CHECK(readText(folder.file("merges.txt")) == "#version: 0.2\n" + goldenText("gpt2_merges.txt"));
  StatusOr<Tokenizer> again = Tokenizer::load(folder.path.string());
  REQUIRE(again.ok());
  CHECK(again->hash() == tokenizer.hash());
}

TEST_CASE("the hash tells tokenizers apart by what decides on ids") {
  uint64_t hash = loadText(smallJson().dump())->hash();
  Json same = smallJson();
  same["added_tokens"][0]["special"] = false;
  same["post_processor"] = {{"type", "ByteLevel"}};
  same["model"]["merges"][0] = "o w"; // as older files have it
  REQUIRE(smallJson()["model"]["merges"][0] == Json({"o", "w"}));
  CHECK(loadText(same.dump())->hash() == hash);
  Json other = smallJson();
  other["model"]["ignore_merges"] = true;
  CHECK(loadText(other.dump())->hash() != hash);
  other = smallJson();
  std::swap(other["model"]["merges"][0], other["model"]["merges"][1]);
  CHECK(loadText(other.dump())->hash() != hash);
}

TEST_CASE("the normalizer and the post_processor are kept") {
  Json json = smallJson();
  json["normalizer"] = {{"type", "NFC"}};
  json["post_processor"] = {{"type", "TemplateProcessing"}, {"single", Json::array()}};
  StatusOr<Tokenizer> tokenizer = loadText(json.dump());
  REQUIRE(tokenizer.ok());
  CHECK(tokenizer->hash() != loadText(smallJson().dump())->hash());
  TempFolder folder;
  REQUIRE(tokenizer->save(folder.path.string()).ok());
  Json saved = Json::parse(readText(folder.file("tokenizer.json")));
  CHECK(saved["normalizer"] == json["normalizer"]);
  CHECK(saved["post_processor"] == json["post_processor"]);
  json["added_tokens"][0]["normalized"] = true;
  refuses(json.dump(), "has \"normalized\", and the file a normalizer");
}

TEST_CASE("a piece that is a token is taken whole where the file says so") {
  Json json = smallJson();
  json["model"]["vocab"]["xyz"] = 261;
  CHECK(loadText(json.dump())->encode("xyz").size() == 3);
  json["model"]["ignore_merges"] = true;
  StatusOr<Tokenizer> tokenizer = loadText(json.dump());
  CHECK(tokenizer->encode("xyz") == std::vector<int32_t>{261});
  CHECK(tokenizer->encode("xyzz").size() == 4);
}

TEST_CASE("what a tokenizer.json asks for and is not done is refused by name") {
  struct Case {
    const char *pointer;
    Json value;
    const char *message;
  };
  const Json byteLevel = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  for (const Case &c : std::initializer_list<Case>{
           {"/normalizer", {{"type", "Lowercase"}}, "normalizer"},
           {"/truncation", {{"max_length", 512}}, "truncation"},
           {"/padding", {{"length", 512}}, "padding"},
           {"/surprise", 1, "the key 'surprise'"},
           {"/pre_tokenizer", nullptr, "pre_tokenizer"},
           {"/pre_tokenizer/type", "Whitespace", "pre_tokenizer 'Whitespace'"},
           {"/pre_tokenizer/add_prefix_space", true, "add_prefix_space"},
           {"/pre_tokenizer/use_regex", false, "no pattern"},
           {"/pre_tokenizer/use_regex", nullptr, "another 'use_regex'"},
           {"/pre_tokenizer",
            {{"type", "Sequence"}, {"pretokenizers", {byteLevel, byteLevel}}},
            "another pre_tokenizer"},
           {"/pre_tokenizer",
            {{"type", "Sequence"},
             {"pretokenizers",
              {{{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", "x+"}}}},
               byteLevel}}},
            "unknown pattern"},
           {"/pre_tokenizer",
            {{"type", "Sequence"},
             {"pretokenizers", {{{"type", "Split"}, {"behavior", "Removed"}}, byteLevel}}},
            "'behavior'"},
           {"/decoder/type", "WordPiece", "decoder 'WordPiece'"},
           {"/post_processor", {{"type", "BertProcessing"}}, "post_processor 'BertProcessing'"},
           {"/model/type", "WordPiece", "WordPiece"},
           {"/model/dropout", 0.1, "dropout"},
           {"/model/byte_fallback", true, "byte_fallback"},
           {"/model/continuing_subword_prefix", "##", "continuing_subword_prefix"},
           {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix"},
           {"/model/surprise", 1, "the key 'surprise'"},
           {"/model/vocab", Json::array(), "not that of BPE"},
           {"/added_tokens/0/lstrip", true, "'lstrip'"},
           {"/added_tokens/0/rstrip", true, "'rstrip'"},
           {"/added_tokens/0/single_word", true, "'single_word'"},
           {"/added_tokens/0/surprise", true, "the key 'surprise'"}}) {
    Json json = smallJson();
    json[Json::json_pointer(c.pointer)] = c.value;
    refuses(json.dump(), c.message);
  }
}

TEST_CASE("tokens, merges and added tokens that do not fit together") {
  auto broken = [](const char *pointer, Json value) {
    Json json = smallJson();
    json[Json::json_pointer(pointer)] = std::move(value);
    return json.dump(1);
  };
  refuses(broken("/model/vocab/a", 98), "have the same id, 98");
  refuses(broken("/model/vocab/a", -1), "the id -1 of the token 'a' is not in");
  refuses(broken("/model/vocab/a", 1e9), "an integer should be here");
  refuses(broken("/model/vocab/a", 2000000000), "the id 2000000000");
  refuses(broken("/model/vocab/a b", 300), "stand for no byte");
  refuses(broken("/model/merges/0", {"o", "zzz"}), "needs the token 'zzz'");
  refuses(broken("/model/merges/1", {"e", "r"}), "needs the token 'er'");
  refuses(broken("/model/merges/1", {"o", "w"}), "is there twice");
  refuses(broken("/model/merges/1", {"o"}), "a merge is two tokens");
  refuses(broken("/model/merges/1", "o w w"), "a merge is two tokens");
  refuses(broken("/added_tokens/0/id", 300), "has the id 300 here, and 256 in the vocabulary");
  refuses(broken("/added_tokens/0/content", "other"), "have the same id, 256");
  refuses(broken("/added_tokens/0/content", ""), "'content'");
  Json json = smallJson();
  json["model"].erase("merges");
  refuses(json.dump(), "the model has no 'merges'");
  json = smallJson();
  json["model"]["vocab"].erase("a");
  refuses(json.dump(), "no token stands for the byte 0x61");
  json = smallJson();
  json["added_tokens"].push_back(json["added_tokens"][0]);
  refuses(json.dump(), "is there twice");
  json["added_tokens"][1] = {{"id", 300}, {"content", "|>x"}, {"normalized", true}};
  refuses(json.dump(), "overlap, and differ in \"normalized\"");
  json.erase("model");
  refuses(json.dump(), "no 'model'");
  std::string text = smallJson().dump();
  for (size_t length : {size_t(0), size_t(1), text.size() / 2, text.size() - 1})
    refuses(text.substr(0, length), "cut short");
  refuses("\x7f"
          "ELF\x01\x02",
          "an object should be here");
}

TEST_CASE("folders that hold no tokenizer") {
  TempFolder folder;
  auto failure = [&] { return Tokenizer::load(folder.path.string()).status(); };
  CHECK(contains(failure().message(), "no tokenizer in"));
  CHECK(contains(Tokenizer::load(folder.file("none")).status().message(), "none"));
  writeText(folder.file("vocab.json"), "{\"a\": 0}");
  CHECK(contains(failure().message(), "merges.txt"));
  CHECK(contains(Tokenizer::load(folder.file("vocab.json")).status().help(), "give the folder"));
  writeText(folder.file("merges.txt"), "#version: 0.2\n\na b\n");
  CHECK(contains(failure().toString(), "merges.txt:3"));
  writeText(folder.file("vocab.json"), "{\"a\": 0, \"b\": 1, \"ab\": 2}");
  writeText(folder.file("merges.txt"), "a b\n\na b\n");
  CHECK(contains(failure().toString(), "merges.txt:3"));
  CHECK(contains(failure().message(), "merge 2, of 'a' and 'b', is there twice"));
  writeText(folder.file("merges.txt"), "a b c\n");
  CHECK(contains(failure().message(), "'a b c' is no merge"));
  writeText(folder.file("vocab.json"), "{\"a\": 0, \"b\": 1}");
  writeText(folder.file("merges.txt"), "");
  CHECK(contains(failure().message(), "no token stands for the byte 0x00"));
  // Without its last merge, its token is no special one.
  Tokenizer tokenizer = learn({"low lower"}, {.vocabularySize = 260, .specialTokens = {"<|e|>"}});
  REQUIRE(tokenizer.save(folder.path.string()).ok());
  std::filesystem::remove(folder.file("tokenizer.json"));
  REQUIRE(Tokenizer::load(folder.path.string())->hash() == tokenizer.hash());
  std::string merges = readText(folder.file("merges.txt"));
  writeText(folder.file("merges.txt"), merges.substr(0, merges.rfind('\n', merges.size() - 2) + 1));
  CHECK(contains(failure().message(), "no merge makes the token"));
  CHECK(contains(failure().help(), "merges.txt may be cut short"));
  writeText(folder.file("merges.txt"), "");
  writeText(folder.file("vocab.json"), "{\"a\": 0,\n\"b\": 0}");
  CHECK(contains(failure().toString(), "vocab.json:2:6"));
  writeText(folder.file("tokenizer_config.json"), "{\"tokenizer_class\": \"Qwen2Tokenizer\"}");
  CHECK(contains(failure().message(), "'Qwen2Tokenizer'"));
  std::filesystem::create_symlink("nowhere", folder.file("tokenizer.json"));
  CHECK(contains(failure().message(), "tokenizer.json': No such file"));
}

TEST_CASE("token files have a side file that fits") {
  TempFolder folder;
  std::string path = folder.file("a.bin");
  Tokenizer tokenizer = Tokenizer::bytes();
  CHECK(!*readTokenFileInfo(path));
  {
    StatusOr<TokenFileWriter> given = TokenFileWriter::create(path, tokenizer);
    REQUIRE(given.ok());
    REQUIRE(given->write(std::vector<int32_t>{1, 2, 255}).ok());
  }
  CHECK(!std::filesystem::exists(path)); // not committed
  // No side file beside a device.
  CHECK(contains(TokenFileWriter::create("/dev/null", tokenizer).status().message(),
                 "not a regular file"));
  StatusOr<TokenFileWriter> file = TokenFileWriter::create(path, tokenizer);
  REQUIRE(file->write(std::vector<int32_t>{1, 2}).ok());
  REQUIRE(file->write(std::vector<int32_t>{255}).ok());
  REQUIRE(file->commit(3).ok());
  CHECK(readText(path) == std::string("\1\0\2\0\xff\0", 6));
  StatusOr<std::optional<TokenFileInfo>> info = readTokenFileInfo(path);
  REQUIRE(info.ok());
  CHECK((*info)->width == 2);
  CHECK((*info)->tokens == 3);
  CHECK((*info)->vocabulary == 256);
  CHECK((*info)->textBytes == 3);
  CHECK((*info)->tokenizer == tokenizerHashText(tokenizer));
  writeText(path, "1234");
  CHECK(contains(readTokenFileInfo(path).status().message(),
                 "4 bytes, but its side file says 3 tokens"));
  writeText(path + ".json", "{");
  CHECK(contains(readTokenFileInfo(path).status().message(), "no JSON object"));
}
