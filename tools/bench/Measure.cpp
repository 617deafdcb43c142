#include "tools/bench/Measure.h"

#include "runtime/base/Cpu.h"
#include "runtime/base/Format.h"

#include <cstdio>

namespace minigptc::bench {

double Samples::at(double fraction) const {
  return values.empty() ? 0 : values[size_t(fraction * double(values.size() - 1) + 0.5)];
}
double Samples::median() const { return at(0.5); }

Bench::Bench(const BenchOptions &options) : options_(options), pool_(options.threads) {
  json_ = {{"machine",
            {{"cpu", runtime::cpuName()},
             {"cores", runtime::availableCores()},
             {"threads", pool_.threads()},
             {"compiler", __VERSION__},
             {"triad_gbs", 0.0},
             {"gemm_peak_gflops", 0.0}}},
           {"quick", options.quick},
           {"results", nlohmann::json::array()},
           {"details", nlohmann::json::object()}};
  std::printf("%s, %d threads%s\n\n%-10s %-34s %11s %8s %15s  %s\n", runtime::cpuName().c_str(),
              pool_.threads(), options.quick ? " (quick: says that it works, not how fast)" : "",
              "case", "what", "median", "", "half of runs", "ratio");
}

double Bench::measureTriad() {
  // Far beyond any cache in all; quick: whatever.
  size_t size = options_.quick ? size_t(1) << 18 : size_t(1) << 25;
  if (triad_.empty())
    triad_.assign(3 * size, 1.0f);
  constexpr size_t piece = size_t(1) << 16;
  float *a = triad_.data();
  const float *b = a + size, *c = b + size;
  Samples ms = repeat({.seconds = 0, .least = 7, .warmup = 2}, [&] {
    pool_.run(int64_t(size / piece), [&](int64_t task) {
      size_t begin = size_t(task) * piece;
      for (size_t i = begin; i < begin + piece; ++i)
        a[i] = b[i] + 0.5f * c[i];
    });
  });
  double rate = 3.0 * sizeof(float) * double(size) / (ms.best() * 1e-3);
  double &known = json_["machine"]["triad_gbs"].get_ref<double &>();
  known = std::max(known, rate * 1e-9);
  return rate;
}

void Bench::add(const Result &result) {
  const Samples &s = result.samples;
  std::string ratio;
  if (result.ratio > 0)
    ratio = runtime::format("%.2f of %s", result.ratio, result.of.c_str());
  if (result.limit > 0) {
    double value = result.ratio > 0 ? result.ratio : s.median();
    bool kept = result.limitIsMost ? value <= result.limit : value >= result.limit;
    ratio += runtime::format("%s(%s %g: %s)", ratio.empty() ? "" : "  ",
                             result.limitIsMost ? "at most" : "at least", result.limit,
                             kept ? "yes" : "NO");
  }
  std::printf("%-10s %-34s %11.4g %-8s %7.4g-%-7.4g  %s\n", result.group.c_str(),
              result.name.c_str(), s.median(), result.unit.c_str(), s.low(), s.high(),
              ratio.c_str());
  std::fflush(stdout);
  json_["results"].push_back({{"case", result.group},
                              {"name", result.name},
                              {"unit", result.unit},
                              {"median", s.median()},
                              {"low", s.low()},
                              {"high", s.high()},
                              {"runs", s.values.size()},
                              {"ratio", result.ratio},
                              {"of", result.of},
                              {"limit", result.limit},
                              {"limit_is_most", result.limitIsMost}});
}

void Bench::note(const std::string &text) { std::printf("           %s\n", text.c_str()); }

} // namespace minigptc::bench
