// Matrix products of all layouts and types against sums in f64.
#include "runtime/base/Format.h"
#include "runtime/base/Philox.h"
#include "runtime/base/Scalar.h"
#include "runtime/cts/CheckBench.h"
#include "runtime/cts/Conformance.h"

#include <cmath>
#include <cstring>
#include <functional>

namespace minigptc::runtime {
namespace {

/// An operand's elements as doubles, and as they lie in memory.
struct Operand {
  DType dtype;
  std::vector<double> values;
  std::vector<std::byte> bytes;
};

void store(DType dtype, double value, std::byte *at) {
  if (dtype == DType::bf16) {
    uint16_t bits = floatToBf16(float(value));
    std::memcpy(at, &bits, 2);
  } else {
    storeScalar(dtype, value, at);
  }
}

/// `bits`: how many binary places the values have.
Operand randomOperand(DType dtype, int64_t count, uint64_t seed, int bits) {
  Operand operand{dtype, {}, std::vector<std::byte>(size_t(count * sizeOf(dtype)))};
  double scale = std::ldexp(1.0, bits - 1);
  for (int64_t i = 0; i < count; ++i) {
    double drawn = double(randomWord(seedKey(seed), uint64_t(i)) >> (32 - bits)) / scale - 1;
    std::byte *at = operand.bytes.data() + i * sizeOf(dtype);
    store(dtype, drawn, at);
    operand.values.push_back(loadScalar(dtype, at));
  }
  return operand;
}

int64_t extentOf(const GemmProblem &p, const MatrixLayout &layout, int64_t rows, int64_t columns) {
  int64_t last = (rows - 1) * layout.rowStride + (columns - 1) * layout.columnStride;
  for (size_t d = 0; d < p.batch.size(); ++d)
    last += (p.batch[d] - 1) * layout.batchStrides[d];
  return last + 1;
}

/// Calls `body` with the offsets of each product of the batch.
void forEachProduct(const GemmProblem &p,
                    const std::function<void(int64_t, int64_t, int64_t)> &body) {
  int64_t count = 1;
  for (int64_t size : p.batch)
    count *= size;
  for (int64_t number = 0; number < count; ++number) {
    int64_t rest = number, a = 0, b = 0, c = 0;
    for (size_t d = p.batch.size(); d-- > 0;) {
      int64_t index = rest % p.batch[d];
      rest /= p.batch[d];
      a += index * p.lhs.batchStrides[d], b += index * p.rhs.batchStrides[d];
      c += index * p.out.batchStrides[d];
    }
    body(a, b, c);
  }
}

/// Runs the product on values of so many binary places; an element may be off by
/// `tolerance` times the sum of the absolute values of what it adds up, and by rounding.
CheckOutcome product(CheckBench &bench, const GemmProblem &p, int bits, double tolerance) {
  Operand a = randomOperand(p.typeOf(p.lhs), extentOf(p, p.lhs, p.m, p.k), 1, bits);
  Operand b = randomOperand(p.typeOf(p.rhs), extentOf(p, p.rhs, p.k, p.n), 2, bits);
  Operand c = randomOperand(p.typeOf(p.out), extentOf(p, p.out, p.m, p.n), 3, 4);
  MINIGPTC_CTS_LET(lhs, bench.put(a.bytes));
  MINIGPTC_CTS_LET(rhs, bench.put(b.bytes));
  MINIGPTC_CTS_LET(out, bench.put(c.bytes));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().gemm(p, lhs->data(), rhs->data(), out->data()));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  MINIGPTC_CTS_LET(bytes, bench.get<std::byte>(*out));
  double rounding = p.out.bf16 ? 1.0 / 256 : 0;
  double worst = 0;
  std::string wrong;
  std::vector<bool> written(c.values.size());
  forEachProduct(p, [&](int64_t atA, int64_t atB, int64_t atC) {
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        int64_t at = atC + i * p.out.rowStride + j * p.out.columnStride;
        double sum = p.beta * c.values[size_t(at)], size = std::abs(sum);
        for (int64_t k = 0; k < p.k; ++k) {
          double term = a.values[size_t(atA + i * p.lhs.rowStride + k * p.lhs.columnStride)] *
                        b.values[size_t(atB + k * p.rhs.rowStride + j * p.rhs.columnStride)];
          sum += term, size += std::abs(term);
        }
        double got = loadScalar(c.dtype, bytes.data() + at * sizeOf(c.dtype));
        double allowed = tolerance * size + rounding * std::abs(sum);
        written[size_t(at)] = true;
        worst = std::max(worst, size > 0 ? std::abs(got - sum) / size : 0);
        if (!(std::abs(got - sum) <= allowed) && wrong.empty())
          wrong = format("element (%lld, %lld) is %.9g, not %.9g", (long long)i, (long long)j, got,
                         sum);
      }
  });
  for (size_t at = 0; at < written.size() && wrong.empty(); ++at)
    if (!written[at] &&
        loadScalar(c.dtype, bytes.data() + at * size_t(sizeOf(c.dtype))) != c.values[at])
      wrong = "memory between the result's rows was written";
  if (!wrong.empty())
    return failed(wrong);
  return passed(format("off by %.2g at most, of the sum of absolute values", worst));
}

struct Sizes {
  int64_t m, n, k;
};

/// Rows or columns first, with `padding` elements behind each.
MatrixLayout layoutOf(int64_t rows, int64_t columns, bool columnsFirst, int64_t padding,
                      bool bf16) {
  return columnsFirst ? MatrixLayout{1, rows + padding, {}, bf16}
                      : MatrixLayout{columns + padding, 1, {}, bf16};
}

void addLayouts(std::vector<Check> &checks, DType dtype, bool bf16In, bool bf16Out, Sizes sizes,
                double beta, int64_t padding) {
  auto [m, n, k] = sizes;
  for (int order = 0; order < 8; ++order) {
    GemmProblem p{dtype, m, n, k, {}, {}, {}, {}, beta, false};
    p.lhs = layoutOf(m, k, order & 4, padding, bf16In);
    p.rhs = layoutOf(k, n, order & 2, padding, bf16In);
    p.out = layoutOf(m, n, order & 1, padding, bf16Out);
    std::string name = format(
        "product: %s to %s, %lldx%lldx%lld, %c%c%c%s%s",
        std::string(nameOf(p.typeOf(p.lhs))).c_str(), std::string(nameOf(p.typeOf(p.out))).c_str(),
        (long long)m, (long long)n, (long long)k, order & 4 ? 'T' : 'N', order & 2 ? 'T' : 'N',
        order & 1 ? 'T' : 'N', beta != 0 ? ", added" : "", padding ? ", padded rows" : "");
    double tolerance = dtype == DType::f64 ? 1e-14 : 1e-6;
    checks.push_back({name, [p, tolerance](CheckBench &bench) {
                        return product(bench, p, p.lhs.bf16 ? 8 : 24, tolerance);
                      }});
  }
}

GemmProblem batched() {
  // Two dimensions of a batch; the second operand is the same along the first one.
  GemmProblem p{DType::f32, 16, 24, 32, {3, 2}, {}, {}, {}, 0, false};
  p.lhs = {32, 1, {1024, 512}};
  p.rhs = {24, 1, {0, 768}};
  p.out = {24, 1, {768, 384}};
  return p;
}

/// Heads of attention: the batch dimensions lie inside of rows.
GemmProblem heads() {
  GemmProblem p{DType::f32, 40, 8, 40, {2, 4}, {}, {}, {}, 0, false};
  p.lhs = {40, 1, {6400, 1600}};
  p.rhs = {32, 1, {1280, 8}};
  p.out = {32, 1, {1280, 8}};
  return p;
}

CheckOutcome twice(CheckBench &bench) {
  GemmProblem p{DType::f32,    256,          256,          8192, {},
                {8192, 1, {}}, {256, 1, {}}, {256, 1, {}}, 0,    false};
  Operand a = randomOperand(DType::f32, p.m * p.k, 1, 24),
          b = randomOperand(DType::f32, p.k * p.n, 2, 24);
  MINIGPTC_CTS_LET(lhs, bench.put(a.bytes));
  MINIGPTC_CTS_LET(rhs, bench.put(b.bytes));
  std::vector<float> first;
  for (int turn = 0; turn < 5; ++turn) {
    MINIGPTC_CTS_LET(out, bench.device().allocate(uint64_t(p.m * p.n * 4)));
    MINIGPTC_RETURN_IF_ERROR(bench.queue().gemm(p, lhs->data(), rhs->data(), out->data()));
    MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
    MINIGPTC_CTS_LET(values, bench.get<float>(*out));
    if (turn == 0)
      first = values;
    MINIGPTC_CTS_EXPECT(values == first, "a product gives other bits the second time");
  }
  return passed();
}

CheckOutcome refused(CheckBench &bench) {
  GemmProblem p{DType::i8, 2, 2, 2, {}, {2, 1, {}}, {2, 1, {}}, {2, 1, {}}, 0, false};
  MINIGPTC_CTS_LET(buffer, bench.put(std::vector<float>(16)));
  MINIGPTC_CTS_EXPECT(!bench.queue().gemm(p, buffer->data(), buffer->data(), buffer->data()).ok(),
                      "a product of i8 was taken");
  return passed();
}

} // namespace

void addProductChecks(std::vector<Check> &checks) {
  addLayouts(checks, DType::f32, false, false, {64, 48, 80}, 0, 0);
  addLayouts(checks, DType::f32, false, false, {64, 48, 80}, 1, 0);
  addLayouts(checks, DType::f32, false, false, {33, 17, 129}, 0, 3);
  addLayouts(checks, DType::f32, true, true, {64, 48, 80}, 0, 0);
  addLayouts(checks, DType::f32, true, false, {64, 48, 80}, 1, 0);
  addLayouts(checks, DType::f32, true, true, {33, 17, 129}, 0, 0);
  addLayouts(checks, DType::f64, false, false, {16, 24, 40}, 0, 0);
  auto add = [&](const char *name, GemmProblem p, double tolerance = 1e-6) {
    checks.push_back({name, [=](CheckBench &bench) {
                        return product(bench, p, p.lhs.bf16 ? 8 : 24, tolerance);
                      }});
  };
  add("product: one element",
      {DType::f32, 1, 1, 1, {}, {1, 1, {}}, {1, 1, {}}, {1, 1, {}}, 0, false});
  add("product: a row",
      {DType::f32, 1, 200, 300, {}, {300, 1, {}}, {200, 1, {}}, {200, 1, {}}, 0, false});
  add("product: a column",
      {DType::f32, 200, 1, 300, {}, {300, 1, {}}, {1, 1, {}}, {1, 1, {}}, 0, false});
  add("product: a long sum",
      {DType::f32, 8, 8, 20000, {}, {20000, 1, {}}, {8, 1, {}}, {8, 1, {}}, 0, false}, 1e-5);
  add("product: a batch of two dimensions", batched());
  add("product: heads within rows", heads());
  GemmProblem bf16 = heads();
  bf16.lhs.bf16 = bf16.rhs.bf16 = bf16.out.bf16 = true;
  add("product: heads within rows, bf16", bf16);
  checks.push_back({"product: the same bits each time", twice});
  checks.push_back({"product: types without products are refused", refused});
}

} // namespace minigptc::runtime
