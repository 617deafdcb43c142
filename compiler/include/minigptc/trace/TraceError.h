//===- TraceError.h - what is wrong with a traced program -------*- C++ -*-===//
//
// Thrown by every function of the tracing API. `what()` is ready to print:
//
//   matmul: inner sizes 8 and 9 differ (f32[4,8] times f32[9,3])
//     at model.cpp:12
//     note: …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_TRACEERROR_H
#define MINIGPTC_TRACE_TRACEERROR_H

#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace minigptc {

class TraceError : public std::runtime_error {
public:
  TraceError(const std::string &message, const std::source_location &where,
             std::vector<std::string> notes = {});

  const std::string &message() const { return message_; }
  /// "FILE:LINE" of the user's program; files inside the project are relative to its root.
  const std::string &place() const { return place_; }
  const std::vector<std::string> &notes() const { return notes_; }

private:
  std::string message_, place_;
  std::vector<std::string> notes_;
};

} // namespace minigptc

#endif // MINIGPTC_TRACE_TRACEERROR_H
