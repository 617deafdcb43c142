//===- Log.h - remarks and warnings on stderr -------------------*- C++ -*-===//
//
//   logWarning("step-40: weights.bin is damaged; trying step-30");
//
// Prints "minigptc: warning: …". For what a person should know though nothing failed;
// failures are a Status.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_LOG_H
#define MINIGPTC_RUNTIME_BASE_LOG_H

#include <functional>
#include <string>
#include <string_view>

namespace minigptc::runtime {

enum class LogLevel { remark, warning };

/// Thread-safe.
void log(LogLevel level, const std::string &message);
inline void logRemark(const std::string &message) { log(LogLevel::remark, message); }
inline void logWarning(const std::string &message) { log(LogLevel::warning, message); }

/// Sends messages elsewhere (a progress line that must be cleared first, a test, an
/// application's own log); an empty function restores stderr.
void setLogSink(std::function<void(LogLevel, const std::string &)> sink);

/// `text` in single quotes, cut after 100 bytes, control characters as \xNN: how names
/// from untrusted files appear in messages.
std::string quote(std::string_view text);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_LOG_H
