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

struct Line {
  std::string name;
  GemmProblem problem;
  int count; ///< in one train step
  double reference = 1e9, own = 1e9;

  double flops() const {
    double result = 2.0 * double(problem.m) * double(problem.n) * double(problem.k);
    for (int64_t size : problem.batch)
      result *= double(size);
    return result;
  }
};

struct Bench {
  Queue &queue;
  std::vector<std::byte *> operands;
  int milliseconds = 300; ///< for each line
  double peak = 0;        ///< FLOP/s

  /// Seconds of one product.
  double time(const GemmProblem &problem, double flops) {
    int runs = int(std::clamp(2e8 / flops, 1.0, 2000.0));
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i)
      if (!queue.gemm(problem, operands[0], operands[1], operands[2]).ok())
        std::abort();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return seconds.count() / runs;
  }

  /// The best of several, measured in turn: other programs disturb all alike.
  void measure(Line &line) {
    MatrixLayout square{1024, 1, {}};
    GemmProblem cube{DType::f32, 1024, 1024, 1024, {}, square, square, square, 0, true};
    GemmProblem reference = line.problem;
    reference.reference = true;
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    for (int run = 0; run < 5 || std::chrono::steady_clock::now() < end; ++run) {
      peak = std::max(peak, 0x1p31 / time(cube, 0x1p31));
      line.reference = std::min(line.reference, time(reference, line.flops()));
      line.own = std::min(line.own, time(line.problem, line.flops()));
    }
  }

  /// Prints what was measured, and the sum over a train step's products.
  void print(const std::vector<Line> &lines) const {
    double ideal = 0, reference = 0, own = 0;
    for (const Line &line : lines) {
      const GemmProblem &p = line.problem;
      double best = line.flops() / peak;
      std::printf("%-16s %5lld x %5lld x %5lld  reference %.3f  own %.3f  %9.1f us\n",
                  line.name.c_str(), (long long)p.m, (long long)p.n, (long long)p.k,
                  best / line.reference, best / line.own, line.own * 1e6);
      ideal += line.count * best;
      reference += line.count * line.reference;
      own += line.count * line.own;
    }
    if (ideal > 0)
      std::printf("all, by time                            reference %.3f  own %.3f\n",
                  ideal / reference, ideal / own);
    std::printf("\n");
  }
};

/// The products, a group for each model.
std::vector<std::vector<Line>> allLines() {
  std::vector<std::vector<Line>> groups;
  for (const Case &c : kCases) {
    if (&c == kCases || std::strcmp(c.model, (&c - 1)->model) != 0)
      groups.emplace_back();
    for (int kind = 0; kind < 3; ++kind)
      groups.back().push_back(
          {std::string(c.model) + "/" + c.layer + " " + kKinds[kind], problemOf(c, kind), c.count});
  }
  // q·kᵀ and p·v of 16 sequences of 128 and 8 heads of 32, as they lie in [B, T, H, D].
  MatrixLayout row{256, 1, {128 * 256, 32}}, column{1, 256, {128 * 256, 32}};
  MatrixLayout scores{128, 1, {8 * 128 * 128, 128 * 128}};
  groups.push_back(
      {{"heads q.kT", {DType::f32, 128, 128, 32, {16, 8}, row, column, scores, 0, false}, 1},
       {"heads p.v", {DType::f32, 128, 32, 128, {16, 8}, scores, row, row, 0, false}, 1}});
  return groups;
}

} // namespace

int main(int argc, char **argv) {
  registerBuiltinDrivers();
  auto device = openDevice("host", 0, {.threads = argc > 1 ? std::atoi(argv[1]) : 0});
  if (!device)
    return std::fprintf(stderr, "%s\n", device.status().message().c_str()), 1;
  std::vector<std::unique_ptr<Buffer>> buffers;
  auto queue = (*device)->createQueue();
  std::string filter = argc > 2 ? argv[2] : "";
  Bench bench{**queue, {}};
  if (argc > 3)
    bench.milliseconds = std::atoi(argv[3]);
  for (int i = 0; i < 3; ++i) {
    std::vector<float> values(size_t(768) * 50257);
    for (size_t v = 0; v < values.size(); ++v)
      values[v] = float(v * 7 % 13) - 6;
    buffers.push_back(*(*device)->allocate(values.size() * 4));
    (void)(*device)->upload(buffers.back()->data(), std::as_bytes(std::span(values)));
    bench.operands.push_back(buffers.back()->data());
  }
  std::vector<std::vector<Line>> groups = allLines();
  for (std::vector<Line> &lines : groups) {
    std::erase_if(lines,
                  [&](const Line &line) { return line.name.find(filter) == line.name.npos; });
    for (Line &line : lines)
      bench.measure(line);
  }
  std::printf("%s: 1024^3 by the reference library %.0f GFLOP/s\n\n",
              (*device)->info().name.c_str(), bench.peak / 1e9);
  for (const std::vector<Line> &lines : groups)
    if (!lines.empty())
      bench.print(lines);
  return 0;
}
