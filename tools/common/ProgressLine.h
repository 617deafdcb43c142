//===- ProgressLine.h - how far something long is ---------------*- C++ -*-===//
//
// On stderr, a line that changes on a terminal, else one every ten seconds; what is done within
// that time shows none.
//
//   ProgressLine line(quiet);
//   line.show(done, all, [&](double rate) { return format("%.1f MB/s", rate * 1e-6); });
//   line.close();                        // before anything else is printed
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_COMMON_PROGRESSLINE_H
#define MINIGPTC_TOOLS_COMMON_PROGRESSLINE_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace minigptc {

class ProgressLine {
public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { close(); }

  /// `describe` gets how much is done in a second, and is called if the line is shown; the time
  /// that is left follows. What was done at the first call took no time.
  void show(int64_t done, int64_t all, const std::function<std::string(double rate)> &describe);
  /// "1280 of 5120 tokens  640 tokens/s  0:00:06 left"; a rate that says nothing of what the
  /// program is for is called emulated.
  void showTokens(int64_t done, int64_t all, bool emulated);
  void close();

private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, live_, open_ = false;
  int64_t begunAt_ = -1;
  Clock::time_point begun_ = Clock::now(), shown_ = begun_;
};

} // namespace minigptc

#endif // MINIGPTC_TOOLS_COMMON_PROGRESSLINE_H
