// How fast the host multiplies the matrices of language models, as a fraction of what the
// reference library does with 1024³ and the same threads, measured in the same process.
//
//   gemm-bench [THREADS [FILTER [MILLISECONDS]]]     a table, one product a line
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
    {"bench", "qkvo", 2048, 256, 256, 16},  {"bench", "qkv", 2048, 256, 768, 0},
    {"bench", "w1", 2048, 256, 1024, 8},    {"bench", "w2", 2048, 1024, 256, 4},
    {"bench", "head", 2048, 256, 4096, 1},  {"gpt2", "qkvo", 256, 768, 768, 48},
    {"gpt2", "w1", 256, 768, 2048, 24},     {"gpt2", "w2", 256, 2048, 768, 12},
    {"gpt2", "head", 256, 768, 50257, 1},   {"tiny", "qkvo", 2048, 128, 128, 16},
    {"tiny", "w1", 2048, 128, 512, 8},      {"tiny", "w2", 2048, 512, 128, 4},
    {"tiny", "head", 2048, 128, 256, 1},    {"small", "16^3", 16, 16, 16, 0},
    {"small", "64^3", 64, 64, 64, 0},       {"small", "row", 1, 768, 768, 0},
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

  /// Seconds of one product.
  double time(const GemmProblem &problem) {
    double flops = 2.0 * double(problem.m) * double(problem.n) * double(problem.k);
    int runs = int(std::clamp(2e8 / flops, 1.0, 2000.0));
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i)
      if (!queue.gemm(problem, operands[0], operands[1], operands[2]).ok())
        std::abort();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return seconds.count() / runs;
  }

  struct Times {
    double peak = 1e9, reference = 1e9, own = 1e9;
  };
  /// The best of several, measured in turn: other programs and the clock disturb all alike.
  Times measure(GemmProblem problem) {
    MatrixLayout square{1024, 1, {}};
    GemmProblem cube{DType::f32, 1024, 1024, 1024, {}, square, square, square, 0, true};
    GemmProblem reference = problem;
    reference.reference = true;
    Times best;
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    for (int run = 0; run < 5 || std::chrono::steady_clock::now() < end; ++run) {
      best.peak = std::min(best.peak, time(cube));
      best.reference = std::min(best.reference, time(reference));
      best.own = std::min(best.own, time(problem));
    }
    return best;
  }
  int milliseconds = 300;
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
  if (argc > 3)
    bench.milliseconds = std::atoi(argv[3]);
  std::printf("%s\n", (*device)->info().name.c_str());
  double ideal = 0, spent[2] = {0, 0};
  for (const Case &c : kCases) {
    std::string name = std::string(c.model) + "/" + c.layer;
    for (int kind = 0; kind < 3 && name.find(argc > 2 ? argv[2] : "") != std::string::npos;
         ++kind) {
      double flops = 2.0 * double(c.rows) * double(c.in) * double(c.out);
      Bench::Times times = bench.measure(problemOf(c, kind));
      double peak = flops / (2.0 * (1 << 30)) * times.peak;
      std::printf(
          "%-14s %-2s %5lld x %5lld x %5lld  reference %.3f  own %.3f  %9.1f us  peak %4.0f\n",
          name.c_str(), kKinds[kind], (long long)c.rows, (long long)c.in, (long long)c.out,
          peak / times.reference, peak / times.own, times.own * 1e6, flops / peak / 1e9);
      ideal += c.count * peak;
      spent[0] += c.count * times.reference;
      spent[1] += c.count * times.own;
    }
    if (&c + 1 == std::end(kCases) || std::strcmp(c.model, (&c + 1)->model) != 0) {
      if (ideal > 0)
        std::printf("%-14s all, by time            reference %.3f  own %.3f\n\n", c.model,
                    ideal / spent[0], ideal / spent[1]);
      ideal = spent[0] = spent[1] = 0;
    }
  }
  return 0;
}
