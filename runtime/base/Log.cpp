#include "runtime/base/Log.h"

#include <cstdio>
#include <mutex>
#include <string_view>

namespace minigptc::runtime {
namespace {

std::mutex sinkMutex;
std::function<void(LogLevel, const std::string &)> &sink() {
  static std::function<void(LogLevel, const std::string &)> function;
  return function;
}

} // namespace

void log(LogLevel level, const std::string &message) {
  std::lock_guard lock(sinkMutex);
  if (sink())
    return sink()(level, message);
  const char *kind = level == LogLevel::warning ? "warning" : "remark";
  std::fprintf(stderr, "minigptc: %s: %s\n", kind, message.c_str());
}

void setLogSink(std::function<void(LogLevel, const std::string &)> function) {
  std::lock_guard lock(sinkMutex);
  sink() = std::move(function);
}

std::string quote(std::string_view text) {
  constexpr size_t limit = 100;
  static const char digits[] = "0123456789abcdef";
  std::string out = "'";
  for (unsigned char c : text.substr(0, limit)) {
    if (c >= 0x20 && c != 0x7f)
      out += char(c);
    else
      (((out += "\\x") += digits[c >> 4]) += digits[c & 15]);
  }
  return out + (text.size() > limit ? "…'" : "'");
}

} // namespace minigptc::runtime
