// Kernels run under the emulator give what plain C++ gives, in any order of blocks and warps, and
// nothing is objected to.
#include "test/compiler/target/cuda/EmulationHarness.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>

using namespace minigptc::test;

static EmulatedKernels &kernels() {
  static EmulatedKernels kernels = EmulatedKernels::fromFile("kernels.ll");
  return kernels;
}

static void checkClean(const Report &report) {
  INFO((report.findings.empty() ? std::string() : report.findings.front().toString()));
  CHECK(report.clean());
}

static void checkClose(const std::vector<float> &values, const std::vector<double> &expected,
                       double tolerance = 1e-5) {
  REQUIRE(values.size() == expected.size());
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i)
    worst = std::max(worst, std::isfinite(values[i]) ? std::abs(values[i] - expected[i]) : 1e30);
  CHECK(worst <= tolerance);
}

static const uint64_t kSeeds[] = {0, 1, 2, 3};

TEST_CASE("elementwise kernels with tails") {
  for (int n : {1, 255, 256, 1000, 1023}) {
    DeviceBuffer<float> in(kernels(), "in", someValues(size_t(n))),
        out(kernels(), "out", std::vector<float>(size_t(n)));
    float factor = 3;
    std::vector<double> expected;
    for (float value : in.contents())
      expected.push_back(value * factor);
    for (const char *name : {"scale", "scale4"})
      for (uint64_t seed : kSeeds) {
        std::fill(out.contents().begin(), out.contents().end(), NAN);
        checkClean(kernels().launch({.kernel = name,
                                     .grid = {uint32_t(n + 127) / 128},
                                     .block = {128},
                                     .parameters = parameters(out, in, factor, n)},
                                    {.seed = seed}));
        checkClose(out.contents(), expected, 0);
      }
  }
}

TEST_CASE("what a launch has read and written is recorded") {
  int n = 100;
  DeviceBuffer<float> in(kernels(), "in", someValues(1000)),
      out(kernels(), "out", std::vector<float>(1000));
  float factor = 3;
  auto touched = [&](bool record) {
    return kernels()
        .launch({.kernel = "scale",
                 .grid = {uint32_t(n + 127) / 128},
                 .block = {128},
                 .parameters = parameters(out, in, factor, n)},
                {.recordTouched = record})
        .touched;
  };
  // What earlier launches did does not count.
  n = 1000;
  CHECK(touched(false).empty());
  n = 100;
  std::vector<TouchedRange> ranges = touched(true);
  REQUIRE(ranges.size() == 2);
  for (const TouchedRange &range : ranges) {
    CHECK(range.end - range.begin == 400);
    bool isOut = range.begin == reinterpret_cast<uintptr_t>(out.contents().data());
    CHECK(range.begin == reinterpret_cast<uintptr_t>((isOut ? out : in).contents().data()));
    CHECK(range.written == isOut);
    CHECK(range.read != isOut);
  }
}

TEST_CASE("softmax with shuffles and shared memory") {
  for (int columns : {5, 128, 777}) {
    uint32_t rows = 3;
    DeviceBuffer<float> in(kernels(), "in", someValues(rows * size_t(columns))),
        out(kernels(), "out", std::vector<float>(rows * size_t(columns)));
    std::vector<double> expected;
    for (uint32_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int c = 0; c < columns; ++c)
        sum += std::exp(double(in.contents()[r * size_t(columns) + size_t(c)]));
      for (int c = 0; c < columns; ++c)
        expected.push_back(std::exp(double(in.contents()[r * size_t(columns) + size_t(c)])) / sum);
    }
    for (uint64_t seed : kSeeds) {
      checkClean(kernels().launch({.kernel = "softmax",
                                   .grid = {rows},
                                   .block = {256},
                                   .parameters = parameters(out, in, columns)},
                                  {.seed = seed}));
      checkClose(out.contents(), expected, 1e-6);
    }
  }
}

TEST_CASE("layer norm") {
  int columns = 300;
  uint32_t rows = 4;
  DeviceBuffer<float> in(kernels(), "in", someValues(rows * size_t(columns))),
      weight(kernels(), "weight", someValues(size_t(columns), 2)),
      bias(kernels(), "bias", someValues(size_t(columns), 3)),
      out(kernels(), "out", std::vector<float>(rows * size_t(columns)));
  std::vector<double> expected;
  for (uint32_t r = 0; r < rows; ++r) {
    const float *row = in.contents().data() + r * size_t(columns);
    double mean = 0, squares = 0;
    for (int c = 0; c < columns; ++c)
      mean += row[c] / double(columns);
    for (int c = 0; c < columns; ++c)
      squares += (row[c] - mean) * (row[c] - mean) / columns;
    for (int c = 0; c < columns; ++c)
      expected.push_back((row[c] - mean) / std::sqrt(squares + 1e-5) *
                             weight.contents()[size_t(c)] +
                         bias.contents()[size_t(c)]);
  }
  for (uint64_t seed : kSeeds) {
    checkClean(kernels().launch({.kernel = "layerNorm",
                                 .grid = {rows},
                                 .block = {96},
                                 .parameters = parameters(out, in, weight, bias, columns)},
                                {.seed = seed}));
    checkClose(out.contents(), expected);
  }
}

TEST_CASE("transpose through shared memory, uneven sizes") {
  int rows = 45, columns = 70;
  DeviceBuffer<float> in(kernels(), "in", someValues(size_t(rows * columns))),
      out(kernels(), "out", std::vector<float>(size_t(rows * columns)));
  for (uint64_t seed : kSeeds) {
    checkClean(kernels().launch({.kernel = "transpose",
                                 .grid = {3, 2},
                                 .block = {256},
                                 .parameters = parameters(out, in, rows, columns)},
                                {.seed = seed}));
    bool equal = true;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        equal &= out.contents()[size_t(c * rows + r)] == in.contents()[size_t(r * columns + c)];
    CHECK(equal);
  }
}

TEST_CASE("a tree in dynamic shared memory") {
  int n = 1000;
  DeviceBuffer<float> in(kernels(), "in", std::vector<float>(size_t(n), 1)),
      out(kernels(), "out", std::vector<float>(4));
  for (uint64_t seed : kSeeds) {
    checkClean(kernels().launch({.kernel = "treeSum",
                                 .grid = {4},
                                 .block = {256},
                                 .sharedBytes = 1024,
                                 .parameters = parameters(out, in, n)},
                                {.seed = seed}));
    CHECK(out.contents() == std::vector<float>{256, 256, 256, 232});
  }
}

TEST_CASE("asynchronous copies in two stages") {
  int tiles = 5;
  DeviceBuffer<float> in(kernels(), "in", someValues(size_t(tiles) * 256)),
      out(kernels(), "out", std::vector<float>(size_t(tiles) * 256));
  for (uint64_t seed : kSeeds) {
    checkClean(kernels().launch(
        {.kernel = "asyncScale", .block = {256}, .parameters = parameters(out, in, tiles)},
        {.seed = seed}));
    bool equal = true;
    for (size_t i = 0; i < out.contents().size(); ++i)
      equal &= out.contents()[i] == in.contents()[i / 256 * 256 + 255 - i % 256] * 2;
    CHECK(equal);
  }
}

TEST_CASE("atomic operations of many blocks are no race") {
  int n = 2000;
  std::vector<int> ids(static_cast<size_t>(n));
  std::vector<unsigned> expected(16);
  for (int i = 0; i < n; ++i)
    ++expected[size_t(ids[size_t(i)] = i * 7 % 13)];
  DeviceBuffer<int> in(kernels(), "in", ids);
  DeviceBuffer<unsigned> bins(kernels(), "bins", std::vector<unsigned>(16));
  checkClean(kernels().launch(
      {.kernel = "histogram", .grid = {8}, .block = {256}, .parameters = parameters(bins, in, n)},
      {.seed = 5}));
  CHECK(bins.contents() == expected);
}

TEST_CASE("barriers of a warp order the accesses of its lanes") {
  DeviceBuffer<float> in(kernels(), "in", someValues(256)),
      out(kernels(), "out", std::vector<float>(256));
  checkClean(kernels().launch(
      {.kernel = "reverseWarps", .block = {256}, .parameters = parameters(out, in)}, {.seed = 3}));
  CHECK(out.contents()[40] == in.contents()[40 ^ 31]);
}

TEST_CASE("small kernels run at a million threads a second", "[.speed]") {
  int n = 1 << 20;
  DeviceBuffer<float> in(kernels(), "in", someValues(size_t(n))),
      out(kernels(), "out", std::vector<float>(size_t(n)));
  float factor = 2;
  int columns = 1024;
  auto measure = [&](const char *name, uint32_t blocks, std::vector<const void *> values,
                     LaunchOptions options) {
    auto start = std::chrono::steady_clock::now();
    Report report = kernels().launch(
        {.kernel = name, .grid = {blocks}, .block = {256}, .parameters = std::move(values)},
        options);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%s: %.2f M threads/s, tracked: %d\n", name, double(report.threads) / seconds / 1e6,
                int(options.trackAccesses));
    checkClean(report);
  };
  for (bool track : {false, true, true}) {
    measure("scale", uint32_t(n / 256), parameters(out, in, factor, n), {.trackAccesses = track});
    measure("softmax", 1024, parameters(out, in, columns), {.trackAccesses = track});
  }
}
