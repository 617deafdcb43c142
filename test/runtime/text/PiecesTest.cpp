#include "runtime/text/Cuts.h"
#include "test/runtime/text/TextSupport.h"

using namespace minigptc::runtime;
using namespace minigptc::runtime::text;
using namespace minigptc::test;
using Pieces = std::vector<std::string>;

TEST_CASE("pieces are those of the patterns") {
  struct Case {
    std::string text;
    Pieces gpt2, llama3, qwen2;
  };
  // By Python's `regex` from the patterns.
  Case cases[] = {
      {"I'll  go, they'VE 1234567 (now)!!\n\n  x",
       {"I", "'ll", " ", " go", ",", " they", "'", "VE", " 1234567", " (", "now", ")!!", "\n\n ",
        " x"},
       {"I", "'ll", " ", " go", ",", " they", "'VE", " ", "123", "456", "7", " (", "now", ")!!\n\n",
        " ", " x"},
       {"I", "'ll", " ", " go", ",", " they", "'VE", " ",       "1", "2",
        "3", "4",   "5", "6",   "7", " (",    "now", ")!!\n\n", " ", " x"}},
      {"a\n\n\nb \t\r\n c",
       {"a", "\n\n", "\n", "b", " \t\r\n", " c"},
       {"a", "\n\n\n", "b", " \t\r\n", " c"},
       {"a", "\n\n\n", "b", " \t\r\n", " c"}},
      {"'S 'ſ ''s don't",
       {"'", "S", " '", "ſ", " ''", "s", " don", "'t"},
       {"'S", " '", "ſ", " ''", "s", " don", "'t"},
       {"'S", " '", "ſ", " ''", "s", " don", "'t"}},
      {"it'ſ", {"it", "'", "ſ"}, {"it", "'ſ"}, {"it", "'ſ"}},
      {"  été e\u0301 ½²³ 你好。\u3000 !?\n\n.",
       {" ", " été", " e", "\u0301", " ½²³", " 你好", "。", "\u3000", " !?", "\n", "\n", "."},
       {" ", " été", " e", "\u0301", " ", "½²³", " 你好", "。", "\u3000", " !?\n\n", "."},
       {" ", " été", " e", "\u0301", " ", "½", "²", "³", " 你好", "。", "\u3000", " !?\n\n", "."}},
      {"\u00a0x\u00a0\u00a0-5 ",
       {"\u00a0", "x", "\u00a0", "\u00a0", "-", "5", " "},
       {"\u00a0x", "\u00a0", "\u00a0", "-", "5", " "},
       {"\u00a0x", "\u00a0", "\u00a0", "-", "5", " "}},
      {"tab\tx\t1",
       {"tab", "\t", "x", "\t", "1"},
       {"tab", "\tx", "\t", "1"},
       {"tab", "\tx", "\t", "1"}},
      // Broken UTF-8: a byte a character that is neither letter, number nor blank.
      {"\xff\xfe"
       "a \xe4\xbd",
       {"\xff\xfe", "a", " \xe4\xbd"},
       {"\xff\xfe", "a", " \xe4\xbd"},
       {"\xff\xfe", "a", " \xe4\xbd"}},
      {"\xffsays", {"\xff", "says"}, {"\xffsays"}, {"\xffsays"}},
      {"", {}, {}, {}}};
  for (const Case &c : cases) {
    INFO(c.text);
    CHECK(piecesOf(TextPattern::gpt2, c.text) == c.gpt2);
    CHECK(piecesOf(TextPattern::llama3, c.text) == c.llama3);
    CHECK(piecesOf(TextPattern::qwen2, c.text) == c.qwen2);
  }
}

TEST_CASE("a text has the pieces of its parts where it can be cut") {
  std::mt19937 random(1);
  SpecialMatcher none;
  for (TextPattern pattern : kPatterns) {
    int cuts = 0;
    for (int round = 0; round < 300; ++round) {
      std::string text = randomText(random, 40);
      std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(text.data()), text.size());
      Pieces whole = piecesOf(pattern, text);
      Cuts places(pattern, none, /*normalize=*/false);
      for (size_t from = 0; from < text.size();) {
        const uint8_t *cut = places.first(bytes.data() + from, bytes);
        if (!cut)
          break;
        size_t at = size_t(cut - bytes.data());
        REQUIRE(at >= from);
        Pieces parts = piecesOf(pattern, text.substr(0, at));
        for (std::string &piece : piecesOf(pattern, text.substr(at)))
          parts.push_back(piece);
        INFO(text << " cut at " << at);
        REQUIRE(parts == whole);
        from = at + 1;
        ++cuts;
      }
      if (const uint8_t *last = places.last(bytes))
        CHECK(!places.first(last + 1, bytes));
    }
    CHECK(cuts > 3000);
  }
}

TEST_CASE("the longest special token at the leftmost place is found") {
  SpecialMatcher matcher({{1, "<a>"}, {2, "<a><b>"}, {3, "b>x"}, {4, "\u2603"}});
  auto ids = [&](const std::string &text) {
    std::vector<std::pair<int32_t, size_t>> found;
    const uint8_t *begin = reinterpret_cast<const uint8_t *>(text.data()),
                  *end = begin + text.size();
    for (const uint8_t *p = begin; auto match = matcher.find(p, end); p = match->end)
      found.push_back({match->id, size_t(match->begin - begin)});
    return found;
  };
  using Found = std::vector<std::pair<int32_t, size_t>>;
  CHECK(ids("<a><b>x") == Found{{2, 0}});
  CHECK(ids("<a><b") == Found{{1, 0}});
  CHECK(ids("<<a>b>x\u2603\xe2\x98") == Found{{1, 1}, {3, 4}, {4, 7}});
  CHECK(ids("").empty());
}
