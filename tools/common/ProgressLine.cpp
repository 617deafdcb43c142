#include "tools/common/ProgressLine.h"

#include "runtime/base/Format.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <unistd.h>
#include <utility>

using namespace minigptc;
using namespace std::chrono_literals;

static std::string timeText(double seconds) {
  long total = long(seconds + 0.5);
  return runtime::format("%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
}

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet) {
  const char *terminal = std::getenv("TERM");
  live_ = ::isatty(STDERR_FILENO) && !(terminal && std::string_view(terminal) == "dumb");
}

void ProgressLine::show(int64_t done, int64_t all,
                        const std::function<std::string(double rate)> &describe) {
  auto now = Clock::now();
  if (begunAt_ < 0)
    begunAt_ = done;
  if (quiet_ || now - shown_ < (live_ ? Clock::duration(100ms) : 10s))
    return;
  shown_ = now;
  double seconds = std::chrono::duration<double>(now - begun_).count();
  double rate = double(done - begunAt_) / std::max(seconds, 1e-3);
  std::string line = describe(rate);
  if (rate > 0)
    line += "  " + timeText(double(all - done) / rate) + " left";
  fprintf(stderr, live_ ? "\r%s\033[K" : "%s\n", line.c_str());
  fflush(stderr);
  open_ = live_;
}

void ProgressLine::showTokens(int64_t done, int64_t all, bool emulated) {
  show(done, all, [&](double rate) {
    return runtime::format("%lld of %lld tokens  %.0f tokens/s%s", (long long)done, (long long)all,
                           rate, emulated ? " emulated" : "");
  });
}

void ProgressLine::close() {
  if (std::exchange(open_, false))
    fputc('\n', stderr);
}
