#include "runtime/drivers/host/GemmEpilogue.h"

#include "runtime/base/Scalar.h"

#include <vector>

namespace minigptc::runtime {
namespace {

/// Elements of a type in memory, as numbers.
struct Elements {
  DType type;
  std::byte *data;

  Elements(DType type, const void *data)
      : type(type), data(static_cast<std::byte *>(const_cast<void *>(data))) {}
  double operator[](int64_t i) const { return loadScalar(type, data + i * sizeOf(type)); }
  void set(int64_t i, double value) const {
    if (type != DType::bf16) {
      storeScalar(type, value, data + i * sizeOf(type));
      return;
    }
    *reinterpret_cast<uint16_t *>(data + i * sizeOf(type)) = floatToBf16(float(value));
  }
};

/// Sums over k, one for each of `count` columns `stride` apart.
void sumOverDepth(const Elements &matrix, int64_t count, int64_t stride, int64_t k,
                  int64_t depthStride, const Elements &sums) {
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t at = 0; at < k; ++at)
      sum += matrix[i * stride + at * depthStride];
    sums.set(i, sum);
  }
}

} // namespace

Status runWithEpilogue(HostGemm &gemm, const GemmProblem &problem, const void *lhs, const void *rhs,
                       void *out, void *vector) {
  GemmProblem plain = problem;
  plain.epilogue = GemmEpilogue::none;
  DType type = problem.typeOf(problem.out);
  Elements side(type, vector), to(type, out);
  if (problem.epilogue == GemmEpilogue::sums) {
    const MatrixLayout &b = problem.rhs;
    sumOverDepth({problem.typeOf(b), rhs}, problem.n, b.columnStride, problem.k, b.rowStride, side);
    return gemm.run(plain, lhs, rhs, out);
  }
  plain.out.bf16 = false;
  std::vector<std::byte> memory(size_t(problem.m * problem.n * sizeOf(problem.dtype)));
  MINIGPTC_RETURN_IF_ERROR(gemm.run(plain, lhs, rhs, memory.data()));
  Elements sums(problem.dtype, memory.data());
  for (int64_t i = 0; i < problem.m * problem.n; ++i)
    to.set(i, sums[i] + side[i % problem.n]);
  return {};
}

} // namespace minigptc::runtime
