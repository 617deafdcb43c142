#include "runtime/drivers/host/HostGemm.h"

#include "runtime/base/Log.h"
#include "runtime/base/Scalar.h"
#include "runtime/drivers/host/BlisSetup.h"

#include <algorithm>
#include <blis.h>
#include <cstring>

namespace minigptc::runtime {
namespace {

void blisGemm(int64_t m, int64_t n, int64_t k, const float *a, inc_t rsa, inc_t csa, const float *b,
              inc_t rsb, inc_t csb, float beta, float *c, inc_t rsc, inc_t csc, rntm_t *rntm) {
  float one = 1;
  bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, const_cast<float *>(a), rsa,
               csa, const_cast<float *>(b), rsb, csb, &beta, c, rsc, csc, nullptr, rntm);
}

void blisGemm(int64_t m, int64_t n, int64_t k, const double *a, inc_t rsa, inc_t csa,
              const double *b, inc_t rsb, inc_t csb, double beta, double *c, inc_t rsc, inc_t csc,
              rntm_t *rntm) {
  double one = 1;
  bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, const_cast<double *>(a), rsa,
               csa, const_cast<double *>(b), rsb, csb, &beta, c, rsc, csc, nullptr, rntm);
}

/// Strides for BLIS, which looks at those of dimensions of size 1 too.
struct Strides {
  inc_t row, column;
  Strides(const MatrixLayout &layout, int64_t rows, int64_t columns)
      : row(layout.rowStride), column(layout.columnStride) {
    if (columns <= 1)
      column = std::max<int64_t>(row, 1) * std::max<int64_t>(rows, 1);
    if (rows <= 1)
      row = std::max<int64_t>(column, 1) * std::max<int64_t>(columns, 1);
  }
};

/// Rows [row, row+m) and columns [column, column+n) of one member's product.
template <typename T>
void multiplyPanel(const GemmProblem &p, const T *lhs, const T *rhs, T *out, int64_t row, int64_t m,
                   int64_t column, int64_t n) {
  lhs += row * p.lhs.rowStride;
  rhs += column * p.rhs.columnStride;
  out += row * p.out.rowStride + column * p.out.columnStride;
  Strides a(p.lhs, m, p.k), b(p.rhs, p.k, n), c(p.out, m, n);
  rntm_t rntm;
  bli_rntm_init(&rntm);
  bli_rntm_set_num_threads(1, &rntm);
  bli_rntm_disable_l3_sup(&rntm);
  blisGemm(m, n, p.k, lhs, a.row, a.column, rhs, b.row, b.column, T(p.beta), out, c.row, c.column,
           &rntm);
}

template <typename T>
void multiply(const GemmProblem &p, const T *lhs, const T *rhs, T *out, ThreadPool &pool) {
  int64_t members = 1;
  for (int64_t size : p.batch)
    members *= size;
  if (members == 0 || p.m == 0 || p.n == 0)
    return;
  GemmCut cut = cutGemm(p.m, p.n, p.k);
  pool.run(members * cut.panels, [&](int64_t task) {
    int64_t member = task / cut.panels, begin = task % cut.panels * cut.size;
    const T *a = lhs + batchOffset(p.batch, p.lhs.batchStrides, member);
    const T *b = rhs + batchOffset(p.batch, p.rhs.batchStrides, member);
    T *c = out + batchOffset(p.batch, p.out.batchStrides, member);
    if (cut.alongRows)
      multiplyPanel(p, a, b, c, begin, std::min(cut.size, p.m - begin), 0, p.n);
    else
      multiplyPanel(p, a, b, c, 0, p.m, begin, std::min(cut.size, p.n - begin));
  });
}

/// Calls fn(place) for every element of an operand, in elements from its start.
template <typename Fn>
void forEachPlace(const GemmProblem &p, const MatrixLayout &layout, int64_t rows, int64_t columns,
                  Fn &&fn) {
  int64_t members = 1;
  for (int64_t size : p.batch)
    members *= size;
  for (int64_t member = 0; member < members; ++member) {
    int64_t offset = batchOffset(p.batch, layout.batchStrides, member);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        fn(offset + row * layout.rowStride + column * layout.columnStride);
  }
}

/// An operand as f32: itself, or a copy of a bf16 one.
class WideOperand {
public:
  WideOperand(const GemmProblem &p, const MatrixLayout &layout, int64_t rows, int64_t columns,
              const void *data)
      : data_(static_cast<const float *>(data)) {
    if (!layout.bf16)
      return;
    int64_t size = 0;
    forEachPlace(p, layout, rows, columns, [&](int64_t at) { size = std::max(size, at + 1); });
    copy_.resize(size_t(size));
    auto *bits = static_cast<const uint16_t *>(data);
    forEachPlace(p, layout, rows, columns,
                 [&](int64_t at) { copy_[size_t(at)] = bf16ToFloat(bits[at]); });
    data_ = copy_.data();
  }
  const float *data() const { return data_; }

private:
  const float *data_;
  std::vector<float> copy_;
};

/// Where there are no kernels of our own, bf16 matrices are multiplied as f32 copies.
Status multiplyCopies(const GemmProblem &p, const void *lhs, const void *rhs, void *out,
                      ThreadPool &pool) {
  WideOperand a(p, p.lhs, p.m, p.k, lhs), b(p, p.rhs, p.k, p.n, rhs), c(p, p.out, p.m, p.n, out);
  GemmProblem wide = p;
  wide.lhs.bf16 = wide.rhs.bf16 = wide.out.bf16 = false;
  multiply(wide, a.data(), b.data(), const_cast<float *>(c.data()), pool);
  if (p.out.bf16)
    forEachPlace(p, p.out, p.m, p.n,
                 [&](int64_t at) { static_cast<uint16_t *>(out)[at] = floatToBf16(c.data()[at]); });
  return {};
}

/// One shape and layout: the whole product against panels of 48 rows and of 48 columns.
bool splitsAgree(bool transposeLhs, bool transposeRhs) {
  constexpr int64_t m = 100, n = 116, k = 300;
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.lhs = transposeLhs ? MatrixLayout{1, m, {}} : MatrixLayout{k, 1, {}};
  p.rhs = transposeRhs ? MatrixLayout{1, k, {}} : MatrixLayout{n, 1, {}};
  p.out = {n, 1, {}};
  std::vector<float> a(m * k), b(k * n), whole(m * n), cut(m * n);
  uint32_t state = 1;
  for (std::vector<float> *values : {&a, &b})
    for (float &value : *values)
      value = float(int32_t(state = state * 1664525 + 1013904223)) * 0x1p-31f;
  multiplyPanel(p, a.data(), b.data(), whole.data(), 0, m, 0, n);
  auto same = [&] { return std::memcmp(whole.data(), cut.data(), sizeof(float) * m * n) == 0; };
  for (int64_t row = 0; row < m; row += 48)
    multiplyPanel(p, a.data(), b.data(), cut.data(), row, std::min<int64_t>(48, m - row), 0, n);
  bool rows = same();
  std::fill(cut.begin(), cut.end(), 0.f);
  for (int64_t column = 0; column < n; column += 48)
    multiplyPanel(p, a.data(), b.data(), cut.data(), 0, m, column,
                  std::min<int64_t>(48, n - column));
  return rows && same();
}

} // namespace

GemmCut cutGemm(int64_t m, int64_t n, int64_t k) {
  // Every row panel packs all of B again, so panels are as large as a dozen cores leave
  // them; an even number, for two cores.
  constexpr int64_t unit = 16, smallest = 192, wanted = 16;
  GemmCut cut;
  cut.alongRows = m >= n;
  int64_t extent = std::max(m, n);
  double work = 2.0 * double(m) * double(n) * double(k);
  if (work < 2e6) { // some 20 µs: not worth waking anybody
    cut.size = extent;
    return cut;
  }
  int64_t panels = std::clamp<int64_t>(extent / smallest / 2 * 2, 2, wanted);
  cut.size = ((extent + panels - 1) / panels + unit - 1) / unit * unit;
  cut.panels = (extent + cut.size - 1) / cut.size;
  return cut;
}

HostGemm::HostGemm(ThreadPool &pool, const GemmKernels *kernels) : pool_(pool) {
  initializeBlis();
  if (kernels)
    packed_.emplace(pool, *kernels);
}

Status HostGemm::run(const GemmProblem &problem, const void *lhs, const void *rhs, void *out) {
  if (problem.dtype == DType::f32) {
    if (packed_ && !problem.reference)
      return packed_->run(problem, lhs, rhs, out);
    if (problem.lhs.bf16 || problem.rhs.bf16 || problem.out.bf16)
      return multiplyCopies(problem, lhs, rhs, out, pool_);
    multiply(problem, static_cast<const float *>(lhs), static_cast<const float *>(rhs),
             static_cast<float *>(out), pool_);
    return {};
  }
  if (problem.dtype != DType::f64)
    return Status(StatusCode::invalidArgument, "the host multiplies f32 and f64 matrices, not " +
                                                   std::string(nameOf(problem.dtype)));
  multiply(problem, static_cast<const double *>(lhs), static_cast<const double *>(rhs),
           static_cast<double *>(out), pool_);
  return {};
}

uint64_t HostGemm::memoryFor(std::span<const GemmProblem> problems, int threads,
                             const GemmKernels *kernels) {
  GemmMemory memory;
  for (const GemmProblem &problem : problems)
    if (kernels && problem.dtype == DType::f32 && !problem.reference)
      memory.include(PackedGemm::memoryFor(problem, *kernels, threads));
  return uint64_t(memory.bytes());
}

bool checkGemmSplits() {
  static const bool agree = [] {
    initializeBlis();
    bool all = splitsAgree(false, false) && splitsAgree(false, true) && splitsAgree(true, false);
    if (!all)
      logWarning("BLIS on this CPU rounds differently when a matrix product is cut: runs repeat "
                 "bit for bit here, also with other numbers of threads, but not on other meshes");
    return all;
  }();
  return agree;
}

} // namespace minigptc::runtime
