//===- HostGemm.h - matrix products on the host -----------------*- C++ -*-===//
//
// f32 products are our own (PackedGemm.h) where this processor has kernels for them; those
// of f64, and the reference that the own ones are measured and tested against, are BLIS's:
// a product is cut into panels along the larger of M and N, in sizes that depend on the
// shape only; each panel of each batch member is one task and one serial call of BLIS,
// with its path for small matrices switched off. K is never cut. So results are the same
// bits for any number of threads; and since BLIS then gives an element the same bits in
// whatever panel it lies, for any other cut too.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_HOST_HOSTGEMM_H
#define MINIGPTC_RUNTIME_DRIVERS_HOST_HOSTGEMM_H

#include "runtime/drivers/host/PackedGemm.h"

#include <optional>
#include <span>

namespace minigptc::runtime {

/// How BLIS's part of one member of the batch is cut: `panels` panels of `size` rows or
/// columns of C, the last one smaller.
struct GemmCut {
  bool alongRows = true;
  int64_t size = 0, panels = 1;
};
GemmCut cutGemm(int64_t m, int64_t n, int64_t k);

/// Products, one at a time.
class HostGemm {
public:
  /// `kernels` null: BLIS for everything.
  explicit HostGemm(ThreadPool &pool, const GemmKernels *kernels = findGemmKernels());

  /// See GemmProblem for what must hold.
  Status run(const GemmProblem &problem, const void *lhs, const void *rhs, void *out);

  /// Bytes that are kept beside the operands once all of these have run; what BLIS keeps
  /// does not count.
  static uint64_t memoryFor(std::span<const GemmProblem> problems, int threads,
                            const GemmKernels *kernels = findGemmKernels());

private:
  ThreadPool &pool_;
  std::optional<PackedGemm> packed_;
};

/// Checks once per process, in well under 5 ms, that this machine's BLIS gives the same
/// bits for whole and cut products; warns if not (then another mesh may give other
/// rounding; another number of threads still does not). Says whether it does.
bool checkGemmSplits();

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_HOSTGEMM_H
