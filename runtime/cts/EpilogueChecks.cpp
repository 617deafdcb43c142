// What products do beside: biases, sums of the right operand, and that a NaN gets through both, or
// training would go on with numbers that are none.
#include "runtime/base/Format.h"
#include "runtime/base/Scalar.h"
#include "runtime/cts/CheckBench.h"
#include "runtime/cts/Conformance.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace minigptc::runtime {
namespace {

/// Row-major numbers, and as they lie in memory: eighths, so that f32 sums are exact.
struct Numbers {
  Numbers(int64_t count, bool bf16, int64_t step) : values(size_t(count)), bf16(bf16) {
    for (int64_t i = 0; i < count; ++i)
      values[size_t(i)] = double(i * step % 17 - 8) / 8;
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> result(values.size() * (bf16 ? 2 : 4));
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t narrow = floatToBf16(float(values[i]));
      float wide = float(values[i]);
      std::memcpy(&result[i * (bf16 ? 2 : 4)], bf16 ? static_cast<void *>(&narrow) : &wide,
                  bf16 ? 2 : 4);
    }
    return result;
  }
  std::vector<double> values;
  bool bf16;
};

std::vector<double> widened(const std::vector<std::byte> &bytes, bool bf16) {
  DType type = bf16 ? DType::bf16 : DType::f32;
  std::vector<double> values(bytes.size() / size_t(sizeOf(type)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = loadScalar(type, &bytes[i * size_t(sizeOf(type))]);
  return values;
}

GemmProblem rowMajor(int64_t m, int64_t n, int64_t k, GemmEpilogue epilogue, bool bf16In,
                     bool bf16Out) {
  GemmProblem p{DType::f32,          m, n,    k, {}, {k, 1, {}, bf16In}, {n, 1, {}, bf16In},
                {n, 1, {}, bf16Out}, 0, false};
  p.epilogue = epilogue;
  return p;
}

struct Made {
  std::vector<double> out, vector;
};

StatusOr<Made> run(CheckBench &bench, const GemmProblem &p, const Numbers &a, const Numbers &b,
                   const Numbers &vector) {
  MINIGPTC_CTS_LET(lhs, bench.put(a.bytes()));
  MINIGPTC_CTS_LET(rhs, bench.put(b.bytes()));
  MINIGPTC_CTS_LET(side, bench.put(vector.bytes()));
  MINIGPTC_CTS_LET(out, bench.put(Numbers(p.m * p.n, p.out.bf16, 1).bytes()));
  MINIGPTC_RETURN_IF_ERROR(
      bench.queue().gemm(p, lhs->data(), rhs->data(), out->data(), side->data()));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  MINIGPTC_CTS_LET(outBytes, bench.get<std::byte>(*out));
  MINIGPTC_CTS_LET(sideBytes, bench.get<std::byte>(*side));
  return Made{widened(outBytes, p.out.bf16), widened(sideBytes, p.out.bf16)};
}

/// Against sums in f64; what is bf16 is rounded once.
CheckOutcome compare(CheckBench &bench, const GemmProblem &p) {
  Numbers a(p.m * p.k, p.lhs.bf16, 5), b(p.k * p.n, p.rhs.bf16, 3), vector(p.n, p.out.bf16, 7);
  MINIGPTC_CTS_LET(made, run(bench, p, a, b, vector));
  auto isNear = [&](double got, double want) {
    return std::abs(got - want) <= (p.out.bf16 ? std::abs(want) / 256 : 1e-6) + 1e-6;
  };
  bool bias = p.epilogue == GemmEpilogue::bias;
  for (int64_t j = 0; j < p.n; ++j) {
    double column = 0;
    for (int64_t k = 0; k < p.k; ++k)
      column += b.values[size_t(k * p.n + j)];
    double got = made.vector[size_t(j)];
    if (!isNear(got, bias ? vector.values[size_t(j)] : column))
      return failed(format("the vector has %.9g for column %lld", got, (long long)j));
    for (int64_t i = 0; i < p.m; ++i) {
      double want = bias ? vector.values[size_t(j)] : 0;
      for (int64_t k = 0; k < p.k; ++k)
        want += a.values[size_t(i * p.k + k)] * b.values[size_t(k * p.n + j)];
      if (double element = made.out[size_t(i * p.n + j)]; !isNear(element, want))
        return failed(format("element (%lld, %lld) is %.9g, not %.9g", (long long)i, (long long)j,
                             element, want));
    }
  }
  return passed();
}

/// One in the right operand, and one in a bias.
CheckOutcome passesNaN(CheckBench &bench, GemmEpilogue epilogue) {
  GemmProblem p = rowMajor(24, 16, 40, epilogue, false, false);
  Numbers a(p.m * p.k, false, 5), b(p.k * p.n, false, 3), vector(p.n, false, 7);
  for (double &value : a.values)
    value = 1;
  b.values[size_t(3 * p.n + 5)] = std::numeric_limits<double>::quiet_NaN();
  if (epilogue == GemmEpilogue::bias)
    vector.values[9] = std::numeric_limits<double>::quiet_NaN();
  MINIGPTC_CTS_LET(made, run(bench, p, a, b, vector));
  for (int64_t j = 0; j < p.n; ++j) {
    bool want = j == 5 || (epilogue == GemmEpilogue::bias && j == 9);
    for (int64_t i = 0; i < p.m; ++i)
      MINIGPTC_CTS_EXPECT(std::isnan(made.out[size_t(i * p.n + j)]) == want,
                          want ? "a NaN is lost" : "a NaN comes from nowhere");
    MINIGPTC_CTS_EXPECT(epilogue == GemmEpilogue::bias ||
                            std::isnan(made.vector[size_t(j)]) == want,
                        want ? "the sums lose a NaN" : "a NaN of the sums comes from nowhere");
  }
  return passed();
}

CheckOutcome sumsTwice(CheckBench &bench) {
  GemmProblem p = rowMajor(96, 64, 8192, GemmEpilogue::sums, false, false);
  Numbers a(p.m * p.k, false, 5), b(p.k * p.n, false, 3), vector(p.n, false, 7);
  for (size_t i = 0; i < b.values.size(); ++i)
    b.values[i] = 1 / double(i % 89 + 3) - 0.1;
  std::vector<double> first;
  for (int turn = 0; turn < 5; ++turn) {
    MINIGPTC_CTS_LET(made, run(bench, p, a, b, vector));
    if (turn == 0)
      first = made.vector;
    MINIGPTC_CTS_EXPECT(made.vector == first, "sums have other bits the second time");
  }
  return passed();
}

} // namespace

void addEpilogueChecks(std::vector<Check> &checks) {
  for (GemmEpilogue epilogue : {GemmEpilogue::bias, GemmEpilogue::sums}) {
    const char *name = epilogue == GemmEpilogue::bias ? "a bias" : "sums of the right operand";
    for (auto [bf16In, bf16Out] : {std::pair(false, false), {true, false}, {true, true}})
      for (auto [m, n, k] : {std::array<int64_t, 3>{64, 48, 80}, {33, 17, 129}, {1, 8, 5}}) {
        GemmProblem p = rowMajor(m, n, k, epilogue, bf16In, bf16Out);
        checks.push_back(
            {format("product: %s, %s to %s, %lldx%lldx%lld", name, bf16In ? "bf16" : "f32",
                    bf16Out ? "bf16" : "f32", (long long)m, (long long)n, (long long)k),
             [p](CheckBench &bench) { return compare(bench, p); }});
      }
    checks.push_back({format("product: a NaN passes through %s", name),
                      [epilogue](CheckBench &bench) { return passesNaN(bench, epilogue); }});
  }
  checks.push_back({"product: sums have the same bits each time", sumsTwice});
}

} // namespace minigptc::runtime
