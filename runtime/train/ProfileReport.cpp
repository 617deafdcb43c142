// The tables of a StepProfile.
#include "runtime/base/Format.h"
#include "runtime/train/StageProfile.h"

#include <algorithm>
#include <map>

namespace minigptc::runtime {
namespace {

constexpr size_t kLines = 10;
constexpr double kLeastShare = 0.001;

/// What is summed up over the instructions of a line, or of a kernel.
struct Sum {
  int64_t calls = 0, products = 0;
  double seconds = 0, busySeconds = 0, flops = 0, bytes = 0;
  const InstructionInfo *what = nullptr; ///< the first

  void add(const ProfiledInstruction &instruction) {
    ++calls;
    products += instruction.what->kind == "gemm";
    seconds += instruction.seconds();
    for (const ThreadSpan &span : instruction.threads)
      busySeconds += double(span.endNanoseconds - span.startNanoseconds) * 1e-9;
    flops += instruction.what->flops;
    bytes += instruction.what->bytes;
    if (!what)
      what = instruction.what;
  }
};

using Sums = std::vector<std::pair<std::string, Sum>>;

/// Sums by a key of the instruction, the largest first.
template <typename Key> Sums sumBy(std::span<const ProfiledStep> steps, Key key) {
  std::map<std::string, Sum> sums;
  for (const ProfiledStep &step : steps)
    for (const ProfiledInstruction &instruction : step.instructions)
      if (!instruction.isCall())
        sums[key(*instruction.what)].add(instruction);
  Sums sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return std::pair(-a.second.seconds, a.first) < std::pair(-b.second.seconds, b.first);
  });
  return sorted;
}

/// "  12.3", or blanks for what is not known.
std::string rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? format("%8.1f", amount / seconds * 1e-9) : format("%8s", "");
}

/// "1 product", "2 products".
std::string counted(double number, const std::string &what) {
  std::string text = format("%.0f ", number) + what;
  return text.starts_with("1 ") ? text : text + "s";
}

class Report {
public:
  /// `threads`: of a device; 0: it does not tell what its threads do. `where`: "" for the host.
  Report(std::span<const ProfiledStep> steps, int threads, int64_t devices, std::string where)
      : steps_(steps), threads_(threads), devices_(devices), where_(std::move(where)) {
    for (const ProfiledStep &step : steps) {
      total_ += step.seconds() * double(devices);
      for (const ProfiledInstruction &instruction : step.instructions)
        if (!instruction.isCall()) {
          ++instructions_;
          inside_ += instruction.seconds();
        }
    }
  }

  std::string text() const { return summary() + lines() + instructions(); }

private:
  /// Of one device.
  double perStep(double amount) const { return amount / double(steps_.size()) / double(devices_); }
  std::string timeAndShare(const Sum &sum) const {
    return format("%10.3f %6.1f%%", perStep(sum.seconds) * 1e3, 100 * sum.seconds / total_);
  }

  std::string summary() const {
    return "profile of " + counted(double(steps_.size()), "step") +
           (where_.empty() ? "" : " on " + where_) +
           format(": %.3f ms a step, %.0f instructions, %.1f %% of the time in them\n",
                  perStep(total_) * 1e3, perStep(double(instructions_)), 100 * inside_ / total_);
  }

  std::string lines() const {
    std::string text = "\nthe most expensive lines\n"
                       "   ms/step   share  GFLOP/s    GB/s  line, and what it runs a step\n";
    Sums sums = sumBy(steps_, lineOf);
    for (const auto &[line, sum] : std::span(sums).first(std::min(kLines, sums.size())))
      text += timeAndShare(sum) + " " + rate(sum.flops, sum.seconds) +
              rate(sum.bytes, sum.seconds) + "  " + line + ": " +
              counted(perStep(double(sum.products)), "product") + ", " +
              counted(perStep(double(sum.calls - sum.products)), "other") + "\n";
    return text;
  }

  std::string instructions() const {
    std::string text = std::string("\nkernels and matrix products") +
                       (threads_ > 0 ? "; busy: how much of the threads' time" : "") +
                       "\n   ms/step   share    calls  GFLOP/s    GB/s" +
                       (threads_ > 0 ? "  busy" : "") + "  what\n";
    Sum rest;
    Sums sums = sumBy(steps_, [](const InstructionInfo &what) {
      return std::string(what.kind) + " " + what.name +
             (what.kind == "gemm" ? " " + what.shapes : "");
    });
    for (const auto &[key, sum] : sums) {
      if (sum.seconds < kLeastShare * total_) {
        rest.calls += sum.calls;
        rest.seconds += sum.seconds;
        continue;
      }
      text += timeAndShare(sum) + format(" %8.0f ", perStep(double(sum.calls))) +
              rate(sum.flops, sum.seconds) + rate(sum.bytes, sum.seconds) + busyShare(sum) + "  " +
              nameOf(*sum.what) + "\n";
    }
    if (rest.calls > 0)
      text += timeAndShare(rest) + format(" %8.0f ", perStep(double(rest.calls))) +
              format("%*smuch smaller ones\n", widthBehindCalls(), "");
    Sum between;
    between.seconds = total_ - inside_;
    return text + timeAndShare(between) +
           format("%*sbetween instructions\n", 10 + widthBehindCalls(), "");
  }

  std::string busyShare(const Sum &sum) const {
    return threads_ > 0 ? format(" %4.0f%%", 100 * sum.busySeconds / (sum.seconds * threads_)) : "";
  }
  /// Of the columns between the calls and the name.
  int widthBehindCalls() const { return threads_ > 0 ? 24 : 18; }

  /// "model.cpp:12", "model.cpp:12 (compiler/nn/Layers.cpp:32)": the user's line, and where
  /// in the library it led.
  static std::string lineOf(const InstructionInfo &what) {
    if (what.places.empty())
      return "(no line)";
    std::string line(what.userPlace());
    return line == what.places[0] ? line : line + " (" + what.places[0] + ")";
  }

  /// A product by its shapes, anything else by its name and the user's line.
  static std::string nameOf(const InstructionInfo &what) {
    if (what.kind == "gemm")
      return "gemm " + what.shapes;
    std::string name = what.kind == "launch" ? what.name : std::string(what.kind) + " " + what.name;
    return what.places.empty() ? name : name + "  " + std::string(what.userPlace());
  }

  std::span<const ProfiledStep> steps_;
  int threads_;
  int64_t devices_;
  std::string where_;
  int64_t instructions_ = 0;
  /// Seconds of all steps and devices; those within instructions.
  double total_ = 0, inside_ = 0;
};

} // namespace

std::string StepProfile::report() const {
  if (steps().empty())
    return "";
  std::string where = session_.target() == "cpu" ? "" : session_.deviceName();
  std::string text =
      Report(steps(), session_.threads(), session_.devices(), std::move(where)).text();
  std::optional<StageProfile> stages = StageProfile::measure(steps(), session_.mesh());
  return stages ? text + "\n" + stages->report() : text;
}

} // namespace minigptc::runtime
