#include "runtime/text/JsonReader.h"

#include "runtime/base/Log.h"
#include "runtime/text/NormalForm.h"
#include "runtime/text/Repair.h"

#include <algorithm>
#include <charconv>

namespace minigptc::runtime::text {

static constexpr int kMaxDepth = 100;

std::string JsonReader::place(size_t offset) const {
  std::string_view before = text_.substr(0, offset);
  int64_t line = line_ + std::count(before.begin(), before.end(), '\n');
  size_t lineStart = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return file_ + ":" + std::to_string(line) + ":" + std::to_string(offset - lineStart + 1);
}

Status JsonReader::error(const std::string &what, size_t offset) const {
  return Status(StatusCode::dataLoss, what).at(place(offset));
}

Status JsonReader::twice(const std::string &key, size_t offset) const {
  return error("the key " + quote(key) + " is there twice", offset);
}

void JsonReader::skipBlanks() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
}

char JsonReader::peek() {
  skipBlanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

size_t JsonReader::offset() {
  skipBlanks();
  return at_;
}

bool JsonReader::take(char c) {
  if (peek() != c || at_ == text_.size())
    return false;
  ++at_;
  return true;
}

Status JsonReader::expect(char c, const char *what) {
  if (take(c))
    return Status::success();
  if (at_ == text_.size())
    return error("the " + whole_ + " ends where " + what + " should be: it is cut short", at_);
  return error(std::string("no JSON: ") + what + " should be here", at_);
}

Status JsonReader::open(char c, const char *what) {
  if (++depth_ > kMaxDepth)
    return error("nested too deeply", offset());
  return expect(c, what);
}

Status JsonReader::hex4(uint32_t &code) {
  const char *begin = text_.data() + at_, *end = begin + std::min<size_t>(4, text_.size() - at_);
  auto [behind, failed] = std::from_chars(begin, end, code, 16);
  if (failed != std::errc() || behind != begin + 4)
    return error("no JSON: four hexadecimal digits should be here", at_);
  at_ += 4;
  return Status::success();
}

/// Behind a backslash.
Status JsonReader::escape(std::string &value) {
  static constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  size_t begin = at_ - 1;
  char c = at_ < text_.size() ? text_[at_++] : '\0';
  if (size_t i = names.find(c); c && i != names.npos) {
    value += meanings[i];
    return Status::success();
  }
  if (c != 'u')
    return error("no JSON: such an escape does not exist", begin);
  uint32_t code = 0;
  MINIGPTC_RETURN_IF_ERROR(hex4(code));
  if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
    uint32_t low = 0;
    at_ += 2;
    MINIGPTC_RETURN_IF_ERROR(hex4(low));
    if (low < 0xdc00 || low >= 0xe000)
      return error("half of a surrogate pair is no character", begin);
    code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
  } else if (code >= 0xd800 && code < 0xe000) {
    return error("half of a surrogate pair is no character", begin);
  }
  appendUtf8(code, value);
  return Status::success();
}

Status JsonReader::string(std::string &value) {
  size_t begin = offset();
  MINIGPTC_RETURN_IF_ERROR(expect('"', "a string"));
  value.clear();
  for (;;) {
    size_t plain = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           uint8_t(text_[at_]) >= 0x20)
      ++at_;
    value += text_.substr(plain, at_ - plain);
    if (at_ == text_.size())
      return error("the " + whole_ + " ends within a string: it is cut short", begin);
    char c = text_[at_++];
    if (c == '"')
      break;
    if (c != '\\')
      return error("no JSON: a control character in a string", at_ - 1);
    MINIGPTC_RETURN_IF_ERROR(escape(value));
  }
  if (firstInvalid(value) != value.size())
    return error("the string is no valid UTF-8", begin);
  return Status::success();
}

Status JsonReader::number(std::string_view &digits) {
  size_t begin = offset();
  while (at_ < text_.size() && std::string_view("+-.0123456789eE").find(text_[at_]) != size_t(-1))
    ++at_;
  digits = text_.substr(begin, at_ - begin);
  double ignored;
  auto [behind, failed] = std::from_chars(digits.begin(), digits.end(), ignored);
  if (digits.empty() || behind != digits.end() || failed == std::errc::invalid_argument)
    return error("no JSON: a value should be here", begin);
  return Status::success();
}

Status JsonReader::integer(int64_t &value) {
  size_t begin = offset();
  std::string_view digits;
  MINIGPTC_RETURN_IF_ERROR(number(digits));
  auto [behind, failed] = std::from_chars(digits.begin(), digits.end(), value);
  if (failed != std::errc() || behind != digits.end())
    return error("an integer should be here", begin);
  return Status::success();
}

Status JsonReader::word(std::string_view word) {
  if (text_.substr(offset(), word.size()) != word)
    return error("no JSON: a value should be here", at_);
  at_ += word.size();
  return Status::success();
}

Status JsonReader::boolean(bool &value) {
  value = peek() == 't';
  if (peek() != 't' && peek() != 'f')
    return error("true or false should be here", offset());
  return word(value ? "true" : "false");
}

Status JsonReader::raw(std::string_view &value) {
  size_t begin = offset();
  std::string ignored;
  std::string_view digits, inner;
  Status status;
  switch (peek()) {
  case '{': status = object([&](const std::string &) { return raw(inner); }); break;
  case '[': status = array([&] { return raw(inner); }); break;
  case '"': status = string(ignored); break;
  case 't': status = word("true"); break;
  case 'f': status = word("false"); break;
  case 'n': status = word("null"); break;
  default: status = number(digits); break;
  }
  value = text_.substr(begin, at_ - begin);
  return status;
}

Status JsonReader::end() {
  return offset() == text_.size() ? Status::success()
                                  : error("no JSON: the " + whole_ + " should end here", at_);
}

} // namespace minigptc::runtime::text
