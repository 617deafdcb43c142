// Products as cuBLASLt is asked for them, against three loops.
#include "runtime/drivers/cuda/CudaGemm.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/cuda/GemmLayout.h"
#include "test/runtime/cuda/FakeCuda.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::runtime::cuda;
using Catch::Matchers::Contains;
using test::FakeCuda;

namespace {

/// Small whole numbers, of which any sum is exact.
std::vector<float> values(int64_t count, int seed) {
  std::mt19937 random{unsigned(seed)};
  std::vector<float> result(size_t(count), 0.f);
  for (float &value : result)
    value = float(int(random() % 9) - 4);
  return result;
}

int64_t extent(const GemmProblem &p, const MatrixLayout &layout, int64_t rows, int64_t columns) {
  int64_t last = (rows - 1) * layout.rowStride + (columns - 1) * layout.columnStride;
  for (size_t d = 0; d < p.batch.size(); ++d)
    last += (p.batch[d] - 1) * layout.batchStrides[d];
  return last + 1;
}

void reference(const GemmProblem &p, const std::vector<float> &a, const std::vector<float> &b,
               std::vector<float> &c) {
  int64_t members = 1;
  for (int64_t size : p.batch)
    members *= size;
  for (int64_t member = 0; member < members; ++member) {
    int64_t atA = 0, atB = 0, atC = 0, rest = member;
    for (size_t d = p.batch.size(); d-- > 0; rest /= p.batch[d]) {
      atA += rest % p.batch[d] * p.lhs.batchStrides[d];
      atB += rest % p.batch[d] * p.rhs.batchStrides[d];
      atC += rest % p.batch[d] * p.out.batchStrides[d];
    }
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        float &out = c[size_t(atC + i * p.out.rowStride + j * p.out.columnStride)];
        float sum = p.beta == 0 ? 0 : float(p.beta) * out;
        for (int64_t k = 0; k < p.k; ++k)
          sum += a[size_t(atA + i * p.lhs.rowStride + k * p.lhs.columnStride)] *
                 b[size_t(atB + k * p.rhs.rowStride + j * p.rhs.columnStride)];
        out = sum;
      }
  }
}

void check(const GemmProblem &p, int expectedCalls = 1) {
  FakeCuda fake;
  auto context = CudaContext::create(fake.api(), 0);
  REQUIRE(context);
  auto gemm = CudaGemm::create(*context, nullptr);
  REQUIRE(gemm);
  std::vector<float> a = values(extent(p, p.lhs, p.m, p.k), 1),
                     b = values(extent(p, p.rhs, p.k, p.n), 2),
                     c = values(extent(p, p.out, p.m, p.n), 3), expected = c;
  Status status = (*gemm)->run(p, a.data(), b.data(), c.data());
  INFO(status.message());
  REQUIRE(status);
  reference(p, a, b, expected);
  CHECK(c == expected);
  CHECK(fake.calls("cublasLtMatmul") == expectedCalls);
}

} // namespace

TEST_CASE("cuda: products of row- and column-major matrices") {
  constexpr int64_t m = 5, n = 7, k = 3;
  for (bool turnedA : {false, true})
    for (bool turnedB : {false, true})
      for (bool turnedC : {false, true})
        for (double beta : {0.0, 1.0, 2.0}) {
          MatrixLayout a{turnedA ? 1 : k + 1, turnedA ? m + 1 : 1, {}},
              b{turnedB ? 1 : n + 1, turnedB ? k + 1 : 1, {}},
              c{turnedC ? 1 : n + 2, turnedC ? m + 2 : 1, {}};
          check({DType::f32, m, n, k, {}, a, b, c, beta, false});
        }
}

TEST_CASE("cuda: products of one row, one column, one element") {
  for (auto [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 6, 4}, {6, 1, 4}, {6, 4, 1}, {1, 1, 5}, {1, 1, 1}})
    check({DType::f32, m, n, k, {}, {k, 1, {}}, {n, 1, {}}, {n, 1, {}}, 1, false});
}

TEST_CASE("cuda: batches are one call where they are one run") {
  constexpr int64_t m = 4, n = 5, k = 3;
  SECTION("two dimensions that are one") {
    check({DType::f32,
           m,
           n,
           k,
           {2, 3},
           {k, 1, {3 * m * k, m * k}},
           {n, 1, {3 * k * n, k * n}},
           {n, 1, {3 * m * n, m * n}},
           1,
           false});
  }
  SECTION("one right operand for all") {
    check({DType::f32,
           m,
           n,
           k,
           {2, 3},
           {k, 1, {3 * m * k, m * k}},
           {n, 1, {0, 0}},
           {n, 1, {3 * m * n, m * n}},
           0,
           false});
  }
  SECTION("heads of attention: [batch, token, head, width]") {
    constexpr int64_t heads = 6;
    check({DType::f32,
           m,
           n,
           k,
           {2, heads},
           {heads * k, 1, {m * heads * k, k}},
           {1, heads * k, {n * heads * k, k}},
           {n, 1, {heads * m * n, m * n}},
           0,
           false},
          /*expectedCalls=*/2);
  }
  SECTION("nothing to do") {
    check({DType::f32,
           m,
           n,
           k,
           {1, 2},
           {k, 1, {0, m * k}},
           {n, 1, {0, 0}},
           {n, 1, {0, m * n}},
           0,
           false});
    GemmProblem none{DType::f32, 0, n, k, {}, {k, 1, {}}, {n, 1, {}}, {n, 1, {}}, 0, false};
    CHECK(isEmpty(none));
  }
}

TEST_CASE("cuda: a batch larger than a grid is several calls") {
  constexpr int64_t members = 3 * kMaxBatch - 3; // three calls of 65534
  check({DType::f32, 1, 1, 2, {members}, {2, 1, {2}}, {1, 1, {0}}, {1, 1, {1}}, 1, false}, 3);
  GemmProblem prime{DType::f32, 1, 1, 2, {65537}, {2, 1, {2}}, {1, 1, {0}}, {1, 1, {1}}, 1, false};
  CHECK(layoutForBlas(prime)->calls.size() == 1);
}

TEST_CASE("cuda: what cuBLASLt cannot do says so") {
  auto refusal = [](const GemmProblem &p) {
    auto layout = layoutForBlas(p);
    return layout ? std::string() : layout.status().message();
  };
  GemmProblem good{DType::f32, 4, 5, 3, {}, {3, 1, {}}, {5, 1, {}}, {5, 1, {}}, 0, false};
  CHECK(refusal(good) == "");
  GemmProblem bad = good;
  bad.lhs = {6, 2, {}};
  CHECK_THAT(refusal(bad), Contains("stride in both dimensions"));
  bad = good;
  bad.lhs.bf16 = true;
  CHECK_THAT(refusal(bad), Contains("no bf16 matrix by one of f32"));
  bad = good;
  bad.out.bf16 = true;
  CHECK_THAT(refusal(bad), Contains("rounds no product of f32"));
  bad.lhs.bf16 = bad.rhs.bf16 = true;
  CHECK(refusal(bad) == "");
  bad.dtype = DType::i8;
  CHECK_FALSE(refusal(bad).empty());

  FakeCuda fake;
  fake.heuristicFinds = false;
  auto context = CudaContext::create(fake.api(), 0);
  auto gemm = CudaGemm::create(*context, nullptr);
  CHECK((*gemm)->prepare(good).message() ==
        "cuBLASLt has no algorithm for the product 4x5x3 of f32 on Fake GPU");
  fake.heuristicFinds = true;
  CHECK((*gemm)->algorithm(good) == "");
  CHECK((*gemm)->prepare(good));
  CHECK((*gemm)->algorithm(good) == "id 21");
  CHECK((*gemm)->prepare(good)); // Known by now.
  CHECK(fake.calls("cublasLtMatmulAlgoGetHeuristic") == 2);

  fake.table->blasStatus = Status(StatusCode::failedPrecondition, "no cuBLASLt");
  CHECK(CudaGemm::create(*context, nullptr).status().message() == "no cuBLASLt");
}

TEST_CASE("cuda: bf16 products, and those of f64") {
  FakeCuda fake;
  auto context = CudaContext::create(fake.api(), 0);
  auto gemm = CudaGemm::create(*context, nullptr);
  REQUIRE(gemm);
  auto bf16 = [](std::vector<float> from) {
    std::vector<uint16_t> to;
    for (float value : from) {
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      to.push_back(uint16_t(bits >> 16));
    }
    return to;
  };
  std::vector<float> expected = {19, 22, 43, 50};
  auto a = bf16({1, 2, 3, 4}), b = bf16({5, 6, 7, 8}), narrow = bf16({0, 0, 0, 0});
  std::vector<float> wide(4);
  GemmProblem p{DType::f32, 2, 2, 2, {}, {2, 1, {}, true}, {2, 1, {}, true}, {2, 1, {}}, 0, false};
  REQUIRE((*gemm)->run(p, a.data(), b.data(), wide.data()));
  CHECK(wide == expected);
  p.out.bf16 = true;
  REQUIRE((*gemm)->run(p, a.data(), b.data(), narrow.data()));
  CHECK(narrow == bf16(expected));
  std::vector<double> c(4), d = {1, 2, 3, 4};
  GemmProblem q{DType::f64, 2, 2, 2, {}, {2, 1, {}}, {2, 1, {}}, {2, 1, {}}, 0, false};
  REQUIRE((*gemm)->run(q, d.data(), d.data(), c.data()));
  CHECK(c == std::vector<double>{7, 10, 15, 22});
}
