#include "runtime/base/TraceFile.h"

#include "runtime/base/Format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <tuple>

namespace minigptc::runtime {
namespace {

/// Bytes of the UTF-8 sequence that `text` begins with; 0: there is none.
size_t sequenceLength(std::string_view text) {
  auto byte = static_cast<unsigned char>(text[0]);
  size_t length = byte < 0x80             ? 1
                  : (byte & 0xe0) == 0xc0 ? 2
                  : (byte & 0xf0) == 0xe0 ? 3
                  : (byte & 0xf8) == 0xf0 ? 4
                                          : 0;
  if (length > text.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80)
      return 0;
  return length;
}

std::string number(double value) { return format("%.10g", std::isfinite(value) ? value : 0); }

std::string microseconds(int64_t nanoseconds) { return format("%.3f", double(nanoseconds) * 1e-3); }

struct WriteValue {
  std::string operator()(const std::string &text) const { return jsonQuote(text); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const std::vector<std::string> &list) const {
    std::string text = "[";
    for (const std::string &entry : list)
      text += (text.size() > 1 ? "," : "") + jsonQuote(entry);
    return text + "]";
  }
};

std::string nameEvent(std::string_view kind, int track, const std::string &name) {
  return R"({"name":")" + std::string(kind) + R"(","ph":"M","pid":1,"tid":)" +
         std::to_string(track) + R"(,"args":{"name":)" + jsonQuote(name) + "}}";
}

std::string spanEvent(const TraceSpan &span, int64_t origin) {
  std::string arguments;
  for (const auto &[key, value] : span.arguments)
    arguments +=
        (arguments.empty() ? "" : ",") + jsonQuote(key) + ":" + std::visit(WriteValue(), value);
  return R"({"name":)" + jsonQuote(span.name) + R"(,"cat":)" + jsonQuote(span.category) +
         R"(,"ph":"X","ts":)" + microseconds(span.startNanoseconds - origin) + R"(,"dur":)" +
         microseconds(span.endNanoseconds - span.startNanoseconds) + R"(,"pid":1,"tid":)" +
         std::to_string(span.track) + R"(,"args":{)" + arguments + "}}";
}

} // namespace

std::string jsonQuote(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    size_t length = sequenceLength(text);
    auto byte = static_cast<unsigned char>(text[0]);
    if (length == 0)
      quoted += '?';
    else if (byte == '"' || byte == '\\')
      (quoted += '\\') += char(byte);
    else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(byte));
      quoted += escape;
    } else
      quoted += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return quoted + '"';
}

std::string TraceFile::toJson() const {
  int64_t origin = spans_.empty() ? 0 : std::numeric_limits<int64_t>::max();
  for (const TraceSpan &span : spans_)
    origin = std::min(origin, span.startNanoseconds);
  // By track and beginning, the longer first, so that readers see the outer span first.
  std::vector<const TraceSpan *> sorted;
  for (const TraceSpan &span : spans_)
    sorted.push_back(&span);
  std::sort(sorted.begin(), sorted.end(), [](const TraceSpan *a, const TraceSpan *b) {
    return std::tuple(a->track, a->startNanoseconds, -a->endNanoseconds, a) <
           std::tuple(b->track, b->startNanoseconds, -b->endNanoseconds, b);
  });
  std::string text = "{\"displayTimeUnit\":\"ms\",\n";
  for (const auto &[name, json] : members_)
    text += jsonQuote(name) + ":" + json + ",\n";
  text += "\"traceEvents\":[\n" + nameEvent("process_name", 0, process_);
  for (const auto &[track, name] : tracks_)
    text += ",\n" + nameEvent("thread_name", track, name);
  for (const TraceSpan *span : sorted)
    text += ",\n" + spanEvent(*span, origin);
  return text + "\n]}\n";
}

} // namespace minigptc::runtime
