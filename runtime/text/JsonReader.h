//===- JsonReader.h - reads JSON value by value -----------------*- C++ -*-===//
//
// Vocabularies have hundreds of thousands of values; nothing is kept of them but what the
// caller takes. Errors have the place FILE:LINE:COLUMN. A key that an object has twice is one.
//
//   JsonReader reader(text, "vocab.json");
//   Status status = reader.object([&](const std::string &key) {
//     int64_t id;
//     MINIGPTC_RETURN_IF_ERROR(reader.integer(id));
//     return use(key, id);
//   });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_JSONREADER_H
#define MINIGPTC_RUNTIME_TEXT_JSONREADER_H

#include "minigptc/runtime/Status.h"

#include <string>
#include <string_view>
#include <unordered_set>

namespace minigptc::runtime::text {

/// Does not own the text. Each function reads one value and what blanks surround it; the
/// callbacks of `object` and `array` must read the value that they are called for.
class JsonReader {
public:
  /// A byte order mark before the text means nothing.
  JsonReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
    skipMark();
  }
  /// A text that is one line of a file, by its number.
  JsonReader(std::string_view text, std::string file, int64_t line)
      : text_(text), file_(std::move(file)), line_(line), whole_("line") {
    skipMark();
  }

  template <typename Member> Status object(Member &&member) {
    MINIGPTC_RETURN_IF_ERROR(open('{', "an object"));
    std::unordered_set<std::string> keys;
    for (bool first = true; !take('}'); first = false) {
      if (!first)
        MINIGPTC_RETURN_IF_ERROR(expect(',', "',' or '}'"));
      size_t begin = offset();
      std::string key;
      MINIGPTC_RETURN_IF_ERROR(string(key));
      if (!keys.insert(key).second)
        return twice(key, begin);
      MINIGPTC_RETURN_IF_ERROR(expect(':', "':'"));
      MINIGPTC_RETURN_IF_ERROR(member(key));
    }
    --depth_;
    return Status::success();
  }

  template <typename Element> Status array(Element &&element) {
    MINIGPTC_RETURN_IF_ERROR(open('[', "an array"));
    for (bool first = true; !take(']'); first = false) {
      if (!first)
        MINIGPTC_RETURN_IF_ERROR(expect(',', "',' or ']'"));
      MINIGPTC_RETURN_IF_ERROR(element());
    }
    --depth_;
    return Status::success();
  }

  Status string(std::string &value);
  Status integer(int64_t &value);
  Status boolean(bool &value);
  /// Any value, as it stands in the text.
  Status raw(std::string_view &value);
  /// The text ends here.
  Status end();

  /// First character of the next value; 0 at the end of the text.
  char peek();
  /// Of the next value, for `at`.
  size_t offset();
  /// "FILE:LINE:COLUMN", from 1.
  std::string place(size_t offset) const;
  Status error(const std::string &what, size_t offset) const;

private:
  void skipMark() { at_ = text_.starts_with("\xef\xbb\xbf") ? 3 : 0; }
  void skipBlanks();
  bool take(char c);
  Status expect(char c, const char *what);
  Status open(char c, const char *what);
  Status twice(const std::string &key, size_t offset) const;
  Status escape(std::string &value);
  Status hex4(uint32_t &code);
  Status word(std::string_view word);
  Status number(std::string_view &digits);

  std::string_view text_;
  std::string file_;
  int64_t line_ = 1;
  std::string whole_ = "file"; ///< what the text is
  size_t at_ = 0;
  int depth_ = 0;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_JSONREADER_H
