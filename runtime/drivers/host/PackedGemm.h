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

/// Owns the memory for panels. It is taken at the first product and kept: as much as any
/// product uses, some 16 MiB and half a MiB for each thread, of which small products touch
/// little. One product at a time.
class PackedGemm {
public:
  /// `ahead`: elements that are packed ahead at once, of each operand.
  PackedGemm(ThreadPool &pool, const GemmKernels &kernels, int64_t ahead = 2 << 20)
      : pool_(pool), kernels_(kernels), ahead_(ahead) {}

  /// See GemmProblem for what must hold; f32 only, with operands and results in f32 or bf16.
  Status run(const GemmProblem &problem, const void *lhs, const void *rhs, void *out);

private:
  void runRow(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
              int64_t members);
  void multiplyRowPart(const PackedProduct &p, const PackedSide &columns) const;
  Status runAhead(const PackedProduct &product);
  void runChunk(const PackedProduct &product);
  Status reserveSums(int64_t count);
  void packAhead(const PackedProduct &product);
  void multiplyBlock(const PackedProduct &block, int worker) const;
  float *shared() const;
  float *scratch(int worker) const;

  ThreadPool &pool_;
  const GemmKernels &kernels_;
  int64_t ahead_;
  std::shared_ptr<std::byte[]> memory_;
  /// Sums of bf16 results over part of the depth; as many as any product needed.
  struct {
    std::shared_ptr<std::byte[]> memory;
    float *data = nullptr;
    int64_t count = 0;
  } sums_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_PACKEDGEMM_H
