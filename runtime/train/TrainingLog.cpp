#include "runtime/train/TrainingLog.h"

#include <chrono>
#include <cstdlib>
#include <unistd.h>

namespace minigptc::runtime {
namespace {

std::string duration(double seconds) {
  long total = long(seconds + 0.5);
  char text[32];
  if (total >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", total / 60, total % 60);
  return text;
}

class ConsoleLog : public TrainingLog {
public:
  explicit ConsoleLog(std::FILE *stream) : stream_(stream) {
    const char *noColor = std::getenv("NO_COLOR");
    const char *terminal = std::getenv("TERM");
    live_ = ::isatty(::fileno(stream)) && !(terminal && std::string_view(terminal) == "dumb");
    colour_ = live_ && !(noColor && *noColor);
  }
  ~ConsoleLog() override {
    if (lineOpen_)
      std::fputc('\n', stream_);
  }

  void remark(const std::string &text) override { line("remark: " + text); }
  void saved(const std::string &path) override { line("saved " + path); }

  void evaluation(const EvalRecord &record) override {
    char text[128];
    std::snprintf(text, sizeof text, "step %lld  %s loss %s", static_cast<long long>(record.step),
                  record.split.c_str(), bold(record.loss).c_str());
    line(text);
  }

  void step(const StepRecord &record, int64_t totalSteps, bool logged) override {
    // A mean that forgets, so that a slow start does not spoil the time left.
    meanSeconds_ =
        meanSeconds_ == 0 ? record.stepSeconds : 0.9 * meanSeconds_ + 0.1 * record.stepSeconds;
    if (!live_ && logged)
      line(describe(record, totalSteps));
    auto now = std::chrono::steady_clock::now();
    bool last = record.step + 1 >= totalSteps;
    if (!live_ || (!last && now - shown_ < std::chrono::milliseconds(100)))
      return;
    shown_ = now;
    std::fprintf(stream_, "\r%s\033[K", describe(record, totalSteps).c_str());
    std::fflush(stream_);
    lineOpen_ = true;
  }

private:
  std::string bold(double value) const {
    char text[48];
    std::snprintf(text, sizeof text, colour_ ? "\033[1m%.4f\033[0m" : "%.4f", value);
    return text;
  }

  std::string describe(const StepRecord &record, int64_t totalSteps) const {
    char text[200];
    double left = double(totalSteps - record.step - 1) * meanSeconds_;
    std::snprintf(text, sizeof text, "step %lld/%lld  loss %s  lr %.3g  %.0f tokens/s%s  %s left%s",
                  static_cast<long long>(record.step + 1), static_cast<long long>(totalSteps),
                  bold(record.loss).c_str(), record.learningRate, record.tokensPerSecond,
                  record.emulated ? " emulated" : "", duration(left).c_str(),
                  record.finite ? "" : "  (not finite: skipped)");
    return text;
  }

  /// A line of its own; the live line goes on below it.
  void line(const std::string &text) {
    std::fprintf(stream_, lineOpen_ ? "\r%s\033[K\n" : "%s\n", text.c_str());
    std::fflush(stream_);
    lineOpen_ = false;
  }

  std::FILE *stream_;
  bool live_ = false, colour_ = false, lineOpen_ = false;
  double meanSeconds_ = 0;
  std::chrono::steady_clock::time_point shown_{};
};

} // namespace

std::unique_ptr<TrainingLog> makeConsoleLog(std::FILE *stream, bool quiet) {
  if (quiet)
    return std::make_unique<TrainingLog>();
  return std::make_unique<ConsoleLog>(stream);
}

} // namespace minigptc::runtime
