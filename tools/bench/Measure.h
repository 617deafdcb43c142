//===- Measure.h - numbers of a benchmark run -------------------*- C++ -*-===//
//
// Every number is a median with its spread, and, where it says something, a ratio to what
// the same process reached at the same time: other programs and the clock disturb both.
//
//   Bench bench({.threads = 2});
//   Samples ms = repeat({.seconds = 2}, [&] { ... });       // milliseconds of each run
//   bench.add({.group = "step", .name = "tiny", .unit = "ms", .samples = ms});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_BENCH_MEASURE_H
#define MINIGPTC_TOOLS_BENCH_MEASURE_H

#include "runtime/base/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace minigptc::bench {

/// What several runs took, sorted.
struct Samples {
  std::vector<double> values;

  double median() const;
  /// The quarter and three quarters: half of the runs lie between them.
  double low() const { return at(0.25); }
  double high() const { return at(0.75); }
  double best() const { return at(0); }

private:
  double at(double fraction) const;
};

struct RepeatOptions {
  double seconds = 2; ///< at least so long, if `most` runs do not end it
  int least = 3, most = 1000, warmup = 1;
};

/// Milliseconds of each run of `body`.
template <typename Body> Samples repeat(const RepeatOptions &options, Body &&body);

/// One line of the result.
struct Result {
  std::string group, name, unit;
  Samples samples;
  double ratio = 0;         ///< 0: none
  std::string of = "";      ///< what it is a ratio of
  double limit = 0;         ///< that the ratio, or else the median, should keep; 0: none
  bool limitIsMost = false; ///< an upper limit
};

struct BenchOptions {
  int threads = 0;
  bool quick = false;     ///< small sizes and few runs: whether it works, not how fast
  std::string peers = ""; ///< a Python environment with other frameworks; empty: without them
  std::string text = "";  ///< file for the case of texts; empty: a short one of its own
};

/// Results as they come: a table on stdout, and JSON in the end.
class Bench {
public:
  explicit Bench(const BenchOptions &options);

  bool quick() const { return options_.quick; }
  int threads() const { return pool_.threads(); }
  const std::string &peers() const { return options_.peers; }
  const std::string &text() const { return options_.text; }
  /// Bytes a second of a[i] = b[i] + s · c[i], over arrays beyond the cache; the best of
  /// several now.
  double measureTriad();
  void add(const Result &result);
  /// A remark below the table's last line.
  void note(const std::string &text);
  /// What --write-page needs besides: tables of kernels and the like.
  nlohmann::json &details() { return json_["details"]; }
  nlohmann::json &json() { return json_; }

private:
  BenchOptions options_;
  runtime::ThreadPool pool_;
  std::vector<float> triad_; ///< three arrays
  nlohmann::json json_;
};

template <typename Body> Samples repeat(const RepeatOptions &options, Body &&body) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < options.warmup; ++i)
    body();
  Samples samples;
  auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  while (int(samples.values.size()) < options.least ||
         (int(samples.values.size()) < options.most && Clock::now() < end)) {
    auto begin = Clock::now();
    body();
    samples.values.push_back(std::chrono::duration<double>(Clock::now() - begin).count() * 1e3);
  }
  std::sort(samples.values.begin(), samples.values.end());
  return samples;
}

} // namespace minigptc::bench

#endif // MINIGPTC_TOOLS_BENCH_MEASURE_H
