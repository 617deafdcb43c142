//===- PackedGemm.h - our own matrix products -------------------*- C++ -*-===//
//
// C = A · B + beta · C in f32, by packed panels (GemmKernels.h). Three ways, by shape:
//
//   ahead    all threads pack one operand (or both) into a shared block, then take tasks,
//            blocks of C, from a counter; a task packs the other operand, depth by depth.
//            The operand with fewer lanes is packed ahead, for it is read by every task.
//   within   products too small for that, and members of batches: a task packs both.
//   row      a vector and a matrix, whose rows a task reads as they lie: nothing is packed,
//            the time is that of reading the matrix.
//
// Depth is cut into blocks of 256, which one thread adds to C in order. So an element's
// bits depend on its row of A, its column of B and nothing else: neither on the number of
// threads, nor on how M and N are cut, nor on the instructions that this processor has.
//
// Operands may be bf16: they are widened when they are packed. Sums of a bf16 result are
// kept in f32 to the last depth, and rounded once: the bits are those of the f32 result,
// rounded.
//
//   PackedGemm gemm(pool, *findGemmKernels());
//   gemm.run(problem, a, b, c);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_HOST_PACKEDGEMM_H
#define MINIGPTC_RUNTIME_DRIVERS_HOST_PACKEDGEMM_H

#include "minigptc/runtime/Status.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/drivers/host/GemmKernels.h"
#include "runtime/hal/Gemm.h"

#include <cstddef>
#include <memory>

namespace minigptc::runtime {

struct PackedProduct;

/// Elements from an operand's start to a member of the batch, which is counted row-major.
int64_t batchOffset(const std::vector<int64_t> &batch, const std::vector<int64_t> &strides,
                    int64_t member);
struct PackedSide;

/// Memory that products take beside their operands, in elements of f32.
struct GemmMemory {
  int64_t lhs = 0, rhs = 0; ///< panels packed ahead
  int64_t sums = 0;         ///< of a bf16 result over part of the depth
  int64_t scratch = 0;      ///< panels that a task packs, of all threads

  /// Now enough for either.
  void include(const GemmMemory &other);
  int64_t bytes() const { return (lhs + rhs + sums + scratch) * int64_t(sizeof(float)); }
};

/// Owns the memory for panels, which is kept: as much as any product so far has used, 16 MiB
/// and half a MiB for each thread at most, but for sums. One product at a time.
class PackedGemm {
public:
  static constexpr int64_t kAhead = 2 << 20;
  /// `ahead`: elements that are packed ahead at once, of each operand.
  PackedGemm(ThreadPool &pool, const GemmKernels &kernels, int64_t ahead = kAhead)
      : pool_(pool), kernels_(kernels), ahead_(ahead) {}

  /// See GemmProblem for what must hold; f32 only, with operands and results in f32 or bf16.
  Status run(const GemmProblem &problem, const void *lhs, const void *rhs, void *out);

  /// What `run` takes for a product, with so many threads.
  static GemmMemory memoryFor(const GemmProblem &problem, const GemmKernels &kernels, int threads,
                              int64_t ahead = kAhead);

private:
  /// As many elements as any product needed.
  struct Elements {
    std::shared_ptr<std::byte[]> memory;
    float *data = nullptr;
    int64_t count = 0;
    Status reserve(int64_t wanted);
  };
  void runRow(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
              int64_t members);
  void multiplyRowPart(const PackedProduct &p, const PackedSide &columns) const;
  Status runAhead(const PackedProduct &product);
  Status runChunk(const PackedProduct &product);
  void packAhead(const PackedProduct &product);
  void multiplyBlock(const PackedProduct &block, int worker) const;
  float *scratch(int worker) const;

  ThreadPool &pool_;
  const GemmKernels &kernels_;
  int64_t ahead_;
  Elements lhs_, rhs_, sums_, scratch_; ///< as in GemmMemory
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_PACKEDGEMM_H
