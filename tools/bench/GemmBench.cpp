// How fast the host multiplies the matrices of language models, as a fraction of what the
// reference library does with 1024³ and the same threads, measured in the same process.
//
//   gemm-bench [THREADS] [FILTER]     a table, one product a line
#include "runtime/drivers/Builtin.h"
#include "runtime/hal/Driver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace minigptc;
using namespace minigptc::runtime;

namespace {

/// X[rows, in] · W[in, out] of a layer, or one of its gradients.
struct Case {
  const char *model, *layer;
  int64_t rows, in, out;
  int count; ///< in one train step
};
constexpr Case kCases[] = {
    {"bench", "qkvo", 2048, 256, 256, 16},      {"bench", "qkv", 2048, 256, 768, 0},
    {"bench", "w1", 2048, 256, 1024, 8},        {"bench", "w2", 2048, 1024, 256, 4},
    {"bench", "head", 2048, 256, 4096, 1},      {"gpt2", "qkvo", 256, 768, 768, 48},
    {"gpt2", "w1", 256, 768, 2048, 24},         {"gpt2", "w2", 256, 2048, 768, 12},
    {"gpt2", "head", 256, 768, 50257, 1},       {"tiny", "qkvo", 2048, 128, 128, 16},
    {"tiny", "w1", 2048, 128, 512, 8},          {"tiny", "w2", 2048, 512, 128, 4},
    {"tiny", "head", 2048, 128, 256, 1},        {"small", "16^3", 16, 16, 16, 0},
    {"small", "64^3", 64, 64, 64, 0},           {"small", "row", 1, 768, 768, 0},
    {"small", "row-head", 1, 768, 50257, 0}};

constexpr const char *kKinds[] = {"Y", "dX", "dW"};

GemmProblem problemOf(const Case &c, int kind) {
  int64_t r = c.rows, i = c.in, o = c.out;
  MatrixLayout x{i, 1, {}}, w{o, 1, {}}, y{o, 1, {}}, xT{1, i, {}}, wT{1, o, {}};
  if (kind == 0)
    return {DType::f32, r, o, i, {}, x, w, y, 0};
  if (kind == 1)
    return {DType::f32, r, i, o, {}, y, wT, x, 0};
  return {DType::f32, i, o, r, {}, xT, y, w, 0};
}

struct Bench {
  Queue &queue;
  std::vector<std::byte *> operands;

  /// Seconds of one product, best of several.
  double time(GemmProblem problem, bool reference) {
    problem.reference = reference;
    double flops = 2.0 * double(problem.m) * double(problem.n) * double(problem.k);
    int inner = int(std::clamp(2e8 / flops, 1.0, 2000.0));
    double best = 1e9;
    for (int run = 0; run < 7; ++run) {
      auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < inner; ++i)
        if (!queue.gemm(problem, operands[0], operands[1], operands[2]).ok())
          std::abort();
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      best = std::min(best, seconds.count() / inner);
    }
    return best;
  }
};

} // namespace

int main(int argc, char **argv) {
  registerBuiltinDrivers();
  auto device = openDevice("host", 0, {.threads = argc > 1 ? std::atoi(argv[1]) : 0});
  if (!device)
    return std::fprintf(stderr, "%s\n", device.status().message().c_str()), 1;
  std::vector<std::unique_ptr<Buffer>> buffers;
  auto queue = (*device)->createQueue();
  Bench bench{**queue, {}};
  for (int i = 0; i < 3; ++i) {
    std::vector<float> values(size_t(768) * 50257);
    for (size_t v = 0; v < values.size(); ++v)
      values[v] = float(v * 7 % 13) - 6;
    buffers.push_back(*(*device)->allocate(values.size() * 4));
    (void)(*device)->upload(buffers.back()->data(), std::as_bytes(std::span(values)));
    bench.operands.push_back(buffers.back()->data());
  }
  MatrixLayout square{1024, 1, {}};
  GemmProblem cube{DType::f32, 1024, 1024, 1024, {}, square, square, square, 0};
  double reference = 2.0 * (1 << 30) / bench.time(cube, true);
  std::printf("%s: 1024³ by BLIS %.0f GFLOP/s, own %.3f of it\n", (*device)->info().name.c_str(),
              reference / 1e9, 2.0 * (1 << 30) / bench.time(cube, false) / reference);
  double ideal = 0, spent[2] = {0, 0};
  for (const Case &c : kCases) {
    std::string name = std::string(c.model) + "/" + c.layer;
    if (argc > 2 && name.find(argv[2]) == std::string::npos)
      continue;
    for (int kind = 0; kind < 3; ++kind) {
      double flops = 2.0 * double(c.rows) * double(c.in) * double(c.out);
      double peakTime = 2.0 * (1 << 30) / bench.time(cube, true); // again: the machine drifts
      double seconds[2];
      for (int own = 0; own < 2; ++own)
        seconds[own] = bench.time(problemOf(c, kind), own == 0);
      double now = std::max(peakTime, reference * 0.97);
      std::printf("%-14s %-2s %5lld x %5lld x %5lld   BLIS %.3f   own %.3f  %9.1f us\n", name.c_str(),
                  kKinds[kind], (long long)c.rows, (long long)c.in, (long long)c.out,
                  flops / seconds[0] / now, flops / seconds[1] / now, seconds[1] * 1e6);
      ideal += c.count * flops / now;
      spent[0] += c.count * seconds[0];
      spent[1] += c.count * seconds[1];
    }
    if (&c + 1 == std::end(kCases) || std::strcmp(c.model, (&c + 1)->model) != 0) {
      std::printf("%-14s all, by time   BLIS %.3f   own %.3f\n\n", c.model, ideal / spent[0],
                  ideal / spent[1]);
      ideal = spent[0] = spent[1] = 0;
    }
  }
  return 0;
}
