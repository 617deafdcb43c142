#include "runtime/base/Format.h"

#include <cstdarg>
#include <cstdio>

namespace minigptc::runtime {

std::string format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length > 0 ? size_t(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string counted(int64_t number, const std::string &noun) {
  bool hisses = noun.ends_with("ch") || noun.ends_with("s");
  return std::to_string(number) + " " + noun + (number == 1 ? "" : hisses ? "es" : "s");
}

} // namespace minigptc::runtime
