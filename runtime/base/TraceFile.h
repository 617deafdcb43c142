//===- TraceFile.h - a timeline for Perfetto --------------------*- C++ -*-===//
//
// Writes the Trace Event Format, which https://ui.perfetto.dev opens: spans of time on
// tracks, where a span that lies within another one is drawn below it.
//
//   TraceFile trace("minigptc train");
//   trace.nameTrack(0, "step");
//   trace.add({.track = 0, .name = "gemm", .startNanoseconds = t0, .endNanoseconds = t1,
//              .arguments = {{"flops", 1e9}, {"at", "model.cpp:12"}}});
//   writeFileAtomically(path, trace.toJson());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_TRACEFILE_H
#define MINIGPTC_RUNTIME_BASE_TRACEFILE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace minigptc::runtime {

struct TraceSpan {
  using Value = std::variant<std::string, double, std::vector<std::string>>;

  int track = 0;
  std::string name, category;
  int64_t startNanoseconds = 0, endNanoseconds = 0; ///< of one clock, whichever
  std::vector<std::pair<std::string, Value>> arguments;
};

/// Spans of a track must nest or follow each other; those that begin together are drawn
/// in the order of `add`.
class TraceFile {
public:
  explicit TraceFile(std::string process) : process_(std::move(process)) {}

  void nameTrack(int track, std::string name) { tracks_.emplace_back(track, std::move(name)); }
  void add(TraceSpan span) { spans_.push_back(std::move(span)); }
  /// A member of the file's object beside the timeline, which viewers leave alone: `json`.
  void addMember(std::string name, std::string json) {
    members_.emplace_back(std::move(name), std::move(json));
  }
  /// Times are given from the first span on, in microseconds.
  std::string toJson() const;

private:
  std::string process_;
  std::vector<std::pair<int, std::string>> tracks_;
  std::vector<std::pair<std::string, std::string>> members_;
  std::vector<TraceSpan> spans_;
};

/// `text` in quotes; bytes that are no UTF-8 become '?'.
std::string jsonQuote(std::string_view text);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_TRACEFILE_H
