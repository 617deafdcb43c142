#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/JsonReader.h"
#include "runtime/text/NormalForm.h"
#include "runtime/text/Repair.h"
#include "test/runtime/text/TextSupport.h"

using namespace minigptc::runtime;
using namespace minigptc::runtime::text;
using namespace minigptc::test;

TEST_CASE("kinds of characters are those of Unicode 16") {
  int64_t counts[5] = {};
  for (uint32_t code = 0; code < 0x110000; ++code)
    ++counts[size_t(kindOf(code))];
  CHECK(counts[size_t(Kind::letter)] == 141028);
  CHECK(counts[size_t(Kind::number)] == 1911);
  CHECK(counts[size_t(Kind::space)] == 23);
  CHECK(counts[size_t(Kind::newline)] == 2);
  CHECK(kindOf(0x301) == Kind::other); // a mark
  CHECK(kindOf(0x2167) == Kind::number);
  CHECK(kindOf(0x10D4A) == Kind::letter); // new in 16.0
  for (int byte = 0; byte < 0x80; ++byte)
    CHECK(Kind(byteKinds[size_t(byte)]) == kindOf(uint32_t(byte)));
}

TEST_CASE("broken UTF-8 becomes U+FFFD, a longest beginning of a character at a time") {
  const std::string r = "\ufffd";
  CHECK(repairUtf8("a\u00e9\u4f60\U0001F600") == "a\u00e9\u4f60\U0001F600");
  CHECK(repairUtf8("\xff"
                   "a\x80") == r + "a" + r);
  CHECK(repairUtf8("\xe4\xbd") == r);
  CHECK(repairUtf8("\xe4\xbd!") == r + "!");
  CHECK(repairUtf8("\xf0\x9f\x98\xe4") == r + r);
  CHECK(repairUtf8("\xc0\x80") == r + r);         // overlong
  CHECK(repairUtf8("\xed\xa0\x80") == r + r + r); // a surrogate
  CHECK(repairUtf8("\xf4\x90\x80\x80") == r + r + r + r);
}

TEST_CASE("the first invalid byte is found however the text arrives") {
  for (const auto &[text, expected] :
       {std::pair<std::string, int>{"a\u00e9\u4f60\U0001F600 and more than eight", -1},
        {"ab\xe4\xbd", 2},
        {"\u4f60\xbd...........", 3},
        {"", -1},
        {"\xf0\x9f\x98", 0},
        {"12345678\xf0\x9f\x98z", 8}}) {
    for (size_t step : {1, 2, 3, 100}) {
      Utf8Watch watch;
      for (size_t at = 0; at < text.size(); at += step)
        watch.add(std::string_view(text).substr(at, step));
      INFO(text << " by " << step);
      CHECK((watch.firstInvalid() ? int(*watch.firstInvalid()) : -1) == expected);
    }
  }
}

TEST_CASE("bytes are written as printable characters") {
  CHECK(writeBytes(" the\n") == "\u0120the\u010a");
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += char(byte);
  CHECK(readBytes(writeBytes(all)) == all);
  CHECK(writeBytes("\xad\x7f") == "\u0143\u0121");
  for (const char *none : {" ", "a b", "\u0144", "\u4f60", "\xff"})
    CHECK(!readBytes(none));
}

TEST_CASE("JSON is read value by value") {
  std::string text =
      R"({"a": [1, -2], "\u00e9\n\ud83d\ude00": "x\"y", "t": true, "n": {"q": null}} )";
  JsonReader reader(text, "f.json");
  std::vector<std::string> seen;
  Status status = reader.object([&](const std::string &key) {
    seen.push_back(key);
    std::string_view raw;
    Status status = reader.raw(raw);
    seen.emplace_back(raw);
    return status;
  });
  INFO(status.toString());
  REQUIRE(status.ok());
  CHECK(reader.end().ok());
  CHECK(seen == std::vector<std::string>{"a", "[1, -2]", "\u00e9\n\U0001F600", "\"x\\\"y\"", "t",
                                         "true", "n", "{\"q\": null}"});
}

TEST_CASE("JSON may begin with a byte order mark") {
  JsonReader reader("\xef\xbb\xbf {}", "f");
  CHECK(reader.object([](const std::string &) { return Status::success(); }).ok());
  CHECK(reader.end().ok());
}

TEST_CASE("what is no JSON has a place") {
  for (const auto &[text, message, place] :
       {std::tuple<std::string, const char *, const char *>{"{\"a\": 1,\n \"a\": 2}", "twice",
                                                            "f:2:2"},
        {"{\"a\": 1", "cut short", "f:1:8"},
        {"{\"a\"\n 1}", "':'", "f:2:2"},
        {"{\"a\": \"x", "cut short", "f:1:7"},
        {"{\"a\": tru}", "a value", "f:1:7"},
        {"{\"a\": 1.5.2}", "a value", "f:1:7"},
        {"{\"a\": \"\\q\"}", "escape", "f:1:8"},
        {"{\"a\": \"\\ud800\"}", "surrogate", "f:1:8"},
        {"{\"a\": \"\xff\"}", "UTF-8", "f:1:7"},
        {"{\"a\": \"\n\"}", "control", "f:1:8"},
        {"[]", "an object", "f:1:1"},
        {"{\"a\": 1} x", "end here", "f:1:10"},
        {"{\"a\": " + std::string(1000, '['), "deeply", "f:1:106"}}) {
    JsonReader reader(text, "f");
    std::string_view raw;
    Status status = reader.object([&](const std::string &) { return reader.raw(raw); });
    if (status.ok())
      status = reader.end();
    INFO(text << ": " << status.toString());
    REQUIRE(!status.ok());
    CHECK(contains(status.message(), message));
    CHECK(status.place() == place);
  }
}

TEST_CASE("texts are brought into normal form C") {
  auto normal = [](const std::string &text) {
    const uint8_t *begin = reinterpret_cast<const uint8_t *>(text.data());
    std::string out;
    appendNormal(begin, begin + text.size(), out);
    if (isNormal(begin, begin + text.size()))
      CHECK(out == text);
    return out;
  };
  CHECK(normal("plain, \u00e9 \u4f60 \xff") == "plain, \u00e9 \u4f60 \xff");
  CHECK(normal("e\u0301te\u0301") == "\u00e9t\u00e9");
  CHECK(normal("\u00e9\u0323") == "\u1eb9\u0301"); // taken apart, put in order, composed
  CHECK(normal("a\u0315\u0300\u05ae\u0301b") == "\u00e0\u05ae\u0301\u0315"
                                                "b");
  CHECK(normal("\u212b \u2126 \u0958") == "\u00c5 \u03a9 \u0915\u093c"); // singletons, exclusions
  CHECK(normal("\u1112\u1161\u11ab \ud55c \ud558\u11ab") == "\ud55c \ud55c \ud55c");
  CHECK(normal("\u0301e\xff\u0301") == "\u0301e\xff\u0301"); // nothing to join with
  CHECK(normal("\uf900\U0001d15e\U0002f81a") == "\u8c48\U0001d157\U0001d165\u51ac");
  CHECK(normal("a\u0327\u0301\u0327") == "\u00e1\u0327\u0327");
}
