#include "runtime/drivers/host/HostGemm.h"
#include "runtime/base/Cpu.h"
#include "runtime/base/Scalar.h"
#include "runtime/drivers/host/BlisSetup.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace minigptc;
using namespace minigptc::runtime;

namespace {

template <typename T> std::vector<T> randomValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = T(random()) / T(1ull << 31) - 1;
  return values;
}

struct Layout {
  const char *name;
  bool transposeLhs, transposeRhs, transposeOut;
};

GemmProblem problemOf(int64_t m, int64_t n, int64_t k, Layout layout, int64_t batch) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.lhs = layout.transposeLhs ? MatrixLayout{1, m, {}} : MatrixLayout{k, 1, {}};
  p.rhs = layout.transposeRhs ? MatrixLayout{1, k, {}} : MatrixLayout{n, 1, {}};
  p.out = layout.transposeOut ? MatrixLayout{1, m, {}} : MatrixLayout{n, 1, {}};
  if (batch != 1) {
    p.batch = {batch};
    p.lhs.batchStrides = {m * k};
    p.rhs.batchStrides = {0}; // one matrix for all
    p.out.batchStrides = {m * n};
  }
  return p;
}

template <typename T>
void compareWithLoops(const GemmProblem &p, const std::vector<T> &a, const std::vector<T> &b,
                      const std::vector<T> &before, const std::vector<T> &after) {
  int64_t members = p.batch.empty() ? 1 : p.batch[0];
  double worst = 0;
  for (int64_t g = 0; g < members; ++g)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        auto at = [&](const MatrixLayout &l, int64_t row, int64_t column) {
          return row * l.rowStride + column * l.columnStride +
                 (p.batch.empty() ? 0 : g * l.batchStrides[0]);
        };
        double sum = p.beta == 0 ? 0 : p.beta * before[at(p.out, i, j)];
        for (int64_t k = 0; k < p.k; ++k)
          sum += double(a[at(p.lhs, i, k)]) * b[at(p.rhs, k, j)];
        worst = std::max(worst, std::fabs(sum - after[at(p.out, i, j)]));
      }
  CHECK(worst < (sizeof(T) == 4 ? 1e-6 : 1e-14) * (20 + double(p.k)));
}

/// BLIS, and our own kernels that this processor can run.
std::vector<const GemmKernels *> allKernels() {
  std::vector<const GemmKernels *> all = {nullptr};
  for (const GemmKernels *const *kernels = allGemmKernels(); *kernels; ++kernels)
    all.push_back(*kernels);
  return all;
}

/// Equal to plain loops, and the same bits for 1, 2 and 5 threads.
template <typename T> void check(GemmProblem p, const GemmKernels *kernels) {
  p.dtype = sizeof(T) == 4 ? f32 : f64;
  int64_t members = p.batch.empty() ? 1 : p.batch[0];
  auto a = randomValues<T>(size_t(members * p.m * p.k), 1),
       b = randomValues<T>(size_t(p.k * p.n), 2);
  auto before = randomValues<T>(size_t(members * p.m * p.n), 3);
  if (p.beta == 0 && !before.empty()) // must not be read
    before[0] = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> first;
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<T> out = before;
    REQUIRE(HostGemm(pool, kernels).run(p, a.data(), b.data(), out.data()).ok());
    if (threads == 1)
      compareWithLoops(p, a, b, before, first = out);
    REQUIRE((out.empty() || std::memcmp(first.data(), out.data(), out.size() * sizeof(T)) == 0));
  }
}

template <typename T> void checkAll(const GemmProblem &p) {
  for (const GemmKernels *kernels : allKernels()) {
    INFO((kernels ? kernels->name : "BLIS") << " " << p.m << " x " << p.n << " x " << p.k);
    check<T>(p, kernels);
    if (sizeof(T) == 8)
      break; // BLIS's in any case
  }
}

} // namespace

TEST_CASE("products equal plain loops, with the same bits for any number of threads") {
  const Layout layouts[] = {{"NN", false, false, false},
                            {"NT", false, true, false},
                            {"TN", true, false, false},
                            {"TT to T", true, true, true}};
  for (const Layout &layout : layouts) {
    INFO(layout.name);
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                           {1, 7, 5},
                           {7, 1, 5},
                           {13, 9, 31},
                           {31, 17, 257},
                           {200, 30, 300},
                           {1, 300, 600},
                           {1, 1033, 523},
                           {1200, 1, 261},
                           {50, 400, 70},
                           {450, 449, 33}})
      for (int64_t batch : {1, 3})
        for (double beta : {0.0, 1.0, 0.5}) {
          GemmProblem p = problemOf(m, n, k, layout, batch);
          p.beta = beta;
          checkAll<float>(p);
          if (m < 300)
            checkAll<double>(p);
        }
  }
}

TEST_CASE("nothing to do, and nothing to add up") {
  for (auto [m, n, k] : {std::array<int64_t, 3>{0, 5, 5}, {5, 0, 5}, {5, 5, 0}})
    for (double beta : {0.0, 1.0}) {
      GemmProblem p = problemOf(m, n, k, {"NN", false, false, false}, 1);
      p.beta = beta;
      checkAll<float>(p);
    }
  checkAll<float>(problemOf(5, 5, 5, {"NN", false, false, false}, 0));
  GemmProblem integers = problemOf(2, 2, 2, {"NN", false, false, false}, 1);
  integers.dtype = i32;
  ThreadPool pool(1);
  CHECK_FALSE(HostGemm(pool).run(integers, nullptr, nullptr, nullptr).ok());
}

TEST_CASE("cuts depend on the shape and cover it") {
  for (int64_t m : {1, 100, 512, 2048, 50257})
    for (int64_t n : {1, 100, 768, 3072}) {
      GemmCut cut = cutGemm(m, n, 256);
      CHECK(cut.alongRows == (m >= n));
      CHECK(cut.size * cut.panels >= std::max(m, n));
      CHECK(cut.size * (cut.panels - 1) < std::max(m, n));
    }
  CHECK(cutGemm(2048, 1024, 256).panels > 4);
  CHECK(cutGemm(16, 16, 16).panels == 1);
  CHECK(cutGemm(128, 128, 2048).size == 64); // halves, for two cores
  CHECK(cutGemm(128, 512, 2048).size == 256);
}

TEST_CASE("parts of a large product have the bits of a small product of them") {
  // Small products take another path; and so would BLIS, unless told not to.
  constexpr int64_t m = 600, n = 460, k = 600, part = 20;
  auto a = randomValues<float>(m * k, 1), b = randomValues<float>(k * n, 2);
  ThreadPool pool(1);
  for (const GemmKernels *kernels : allKernels()) {
    INFO((kernels ? kernels->name : "BLIS"));
    HostGemm gemm(pool, kernels);
    std::vector<float> whole(m * n), rows(part * n), columns(m * part);
    REQUIRE(gemm.run(problemOf(m, n, k, {"NN", false, false, false}, 1), a.data(), b.data(),
                     whole.data())
                .ok());
    for (int64_t row : {int64_t(0), int64_t(97), m - part}) {
      GemmProblem p = problemOf(part, n, k, {"NN", false, false, false}, 1);
      REQUIRE(gemm.run(p, a.data() + row * k, b.data(), rows.data()).ok());
      CHECK(std::memcmp(rows.data(), whole.data() + row * n, rows.size() * sizeof(float)) == 0);
      if (!kernels)
        continue;
      p.m = 1; // A single row is not packed.
      REQUIRE(gemm.run(p, a.data() + row * k, b.data(), rows.data()).ok());
      CHECK(std::memcmp(rows.data(), whole.data() + row * n, n * sizeof(float)) == 0);
    }
    for (int64_t column : {int64_t(0), int64_t(97), n - part}) {
      GemmProblem p = problemOf(m, part, k, {"NN", false, false, false}, 1);
      p.rhs.rowStride = n;
      REQUIRE(gemm.run(p, a.data(), b.data() + column, columns.data()).ok());
      bool same = true;
      for (int64_t i = 0; i < m * part; ++i)
        same &= columns[i] == whole[i / part * n + column + i % part];
      CHECK(same);
    }
  }
}

TEST_CASE("own products with little memory for panels: the same bits, in more pieces") {
  constexpr int64_t m = 300, n = 290, k = 1100;
  auto a = randomValues<float>(m * k, 1), b = randomValues<float>(k * m, 2);
  ThreadPool pool(2);
  for (const GemmKernels *const *kernels = allGemmKernels(); *kernels; ++kernels)
    for (bool wide : {false, true}) { // either operand may be packed ahead
      GemmProblem p = problemOf(wide ? n : m, wide ? m : n, k, {"NN", false, false, false}, 1);
      p.beta = 1;
      std::vector<float> first(m * n, 1), second = first;
      REQUIRE(PackedGemm(pool, **kernels).run(p, a.data(), b.data(), first.data()).ok());
      // Two pieces of the lanes, five of the depth.
      PackedGemm little(pool, **kernels, 256 * 192);
      REQUIRE(little.run(p, a.data(), b.data(), second.data()).ok());
      CHECK(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0);
      // Room for twice the depth.
      PackedGemm more(pool, **kernels, 512 * 320);
      std::fill(second.begin(), second.end(), 1.f);
      REQUIRE(more.run(p, a.data(), b.data(), second.data()).ok());
      CHECK(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0);
    }
}

TEST_CASE("own products have the same bits with any instructions") {
  GemmProblem p = problemOf(100, 290, 600, {"NT", false, true, false}, 1);
  auto a = randomValues<float>(100 * 600, 1), b = randomValues<float>(600 * 290, 2);
  ThreadPool pool(2);
  std::vector<float> first;
  for (const GemmKernels *const *kernels = allGemmKernels(); *kernels; ++kernels) {
    std::vector<float> out(100 * 290);
    REQUIRE(PackedGemm(pool, **kernels).run(p, a.data(), b.data(), out.data()).ok());
    if (first.empty())
      first = out;
    CHECK(std::memcmp(first.data(), out.data(), out.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("a processor with AVX2 runs our own kernels") {
  const std::vector<std::string> &features = hostCpuFeatures();
  auto has = [&](const char *name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  if (!has("avx2") || !has("fma"))
    return;
  REQUIRE(findGemmKernels());
  if (has("avx512f"))
    CHECK(std::string(findGemmKernels()->name) == "avx512");
}

TEST_CASE("BLIS gives the same bits for cut products here") { CHECK(checkGemmSplits()); }

TEST_CASE("a processor that BLIS is older than runs no reference kernels") {
  const std::vector<std::string> &features = hostCpuFeatures();
  if (std::find(features.begin(), features.end(), "avx2") != features.end())
    CHECK(std::string(blisKernels()) != "generic");
}

TEST_CASE("bf16 operands and results: the bits of the f32 product, rounded once") {
  auto halves = [](size_t count, unsigned seed) {
    std::vector<uint16_t> bits;
    for (float value : randomValues<float>(count, seed))
      bits.push_back(floatToBf16(value));
    return bits;
  };
  auto widened = [](const std::vector<uint16_t> &bits) {
    std::vector<float> values;
    for (uint16_t b : bits)
      values.push_back(bf16ToFloat(b));
    return values;
  };
  const Layout layouts[] = {{"NN", false, false, false},
                            {"NT", false, true, false},
                            {"TN", true, false, false},
                            {"TT to T", true, true, true}};
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 0},
                         {1, 300, 600},
                         {37, 29, 257},
                         {40, 65, 256},
                         {300, 130, 700},
                         {90, 300, 530}})
    for (const Layout &layout : layouts)
      for (int64_t batch : {1, 3})
        for (const GemmKernels *kernels : allKernels()) {
          INFO(m << " x " << n << " x " << k << ", " << layout.name << ", "
                 << (kernels ? kernels->name : "BLIS"));
          GemmProblem p = problemOf(m, n, k, layout, batch);
          auto a = halves(size_t(batch * m * k), 1), b = halves(size_t(k * n), 2);
          auto wideA = widened(a), wideB = widened(b);
          std::vector<float> wide(size_t(batch * m * n));
          ThreadPool alone(1), three(3);
          REQUIRE(HostGemm(alone, kernels).run(p, wideA.data(), wideB.data(), wide.data()).ok());
          std::vector<uint16_t> expected;
          for (float value : wide)
            expected.push_back(floatToBf16(value));

          p.lhs.bf16 = p.rhs.bf16 = true;
          for (ThreadPool *pool : {&alone, &three}) {
            HostGemm gemm(*pool, kernels);
            std::vector<float> sums(wide.size());
            p.out.bf16 = false;
            REQUIRE(gemm.run(p, a.data(), b.data(), sums.data()).ok());
            CHECK(std::memcmp(sums.data(), wide.data(), wide.size() * sizeof(float)) == 0);
            std::vector<uint16_t> out(wide.size(), 0x7fff);
            p.out.bf16 = true;
            REQUIRE(gemm.run(p, a.data(), b.data(), out.data()).ok());
            CHECK(out == expected);
          }
          p.rhs.bf16 = false; // of one operand only
          std::vector<uint16_t> mixed(wide.size());
          REQUIRE(HostGemm(three, kernels).run(p, a.data(), wideB.data(), mixed.data()).ok());
          CHECK(mixed == expected);
        }
}
