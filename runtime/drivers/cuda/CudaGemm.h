//===- CudaGemm.h - matrix products by cuBLASLt -----------------*- C++ -*-===//
//
// A product is described to the library once, when it is prepared: layouts, and the
// algorithm that its heuristic says is best for them. f32 products are computed in f32, and
// in TF32 only where the problem allows it; those of bf16 operands add up in f32. Sums that an
// algorithm splits are added in a fixed order, so that a product gives the same bits each time.
//
// The library's matrices are column-major and may be transposed; its batch has one stride.
// A row-major result is computed as the transposed product; batch dimensions that are not
// one run of a stride are walked here.
//
//   StatusOr<std::unique_ptr<CudaGemm>> gemm = CudaGemm::create(context, stream);
//   gemm->prepare(problem);
//   gemm->run(problem, lhs, rhs, out);
//   gemm->algorithm(problem);                   // "id 21, tile 20, stages 5, …"
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAGEMM_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAGEMM_H

#include "runtime/drivers/cuda/CudaMemory.h"

#include <map>

namespace minigptc::runtime::cuda {

struct GemmParts;

class CudaGemm {
public:
  /// Fails if there is no cuBLASLt. `stream` outlives it.
  static StatusOr<std::unique_ptr<CudaGemm>> create(ContextRef context, Stream stream);
  ~CudaGemm();
  CudaGemm(const CudaGemm &) = delete;
  CudaGemm &operator=(const CudaGemm &) = delete;

  Status prepare(const GemmProblem &problem);
  /// Prepares it if need be. Device pointers, aligned to 64 bytes.
  Status run(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
             void *vector = nullptr);
  /// The chosen algorithm, of a product that is prepared; else "". Two of one that is computed in
  /// parts: "id 1, tile 20, …, then id 1, …".
  std::string algorithm(const GemmProblem &problem) const;
  /// Computes it by what `algorithm` said of it, with the same library on the same kind of GPU.
  /// Fails, and changes nothing, where the library refuses. Not while products are captured.
  Status useAlgorithm(const GemmProblem &problem, const std::string &algorithm);
  /// "cuBLASLt 13.1.0 on NVIDIA H200"; "" if there is none.
  static std::string libraryOf(const CudaContext &context);

  /// Of the workspace, which all products of a queue share.
  static constexpr uint64_t kWorkspace = uint64_t(32) << 20;

private:
  struct Plan;
  CudaGemm(ContextRef context, Stream stream);
  StatusOr<const Plan *> planOf(const GemmProblem &problem);
  /// Of a product whose epilogue the library does not have: GemmParts.h.
  Status planParts(const GemmProblem &problem, Plan &plan);
  Status usePartsAlgorithms(const GemmParts &parts, const std::string &algorithms);
  Status runParts(const GemmProblem &problem, const Plan &plan, const void *lhs, const void *rhs,
                  void *out, void *vector);
  Status check(BlasStatus status, const char *call) const;
  Status describe(const GemmProblem &problem, Plan &plan) const;
  Status describeEpilogue(const GemmProblem &problem, Plan &plan) const;
  Status setVector(const Plan &plan, void *vector) const;
  Status set(MatmulDesc desc, MatmulDescAttribute attribute, const void *value, size_t bytes) const;
  Status choose(const GemmProblem &problem, Plan &plan) const;

  ContextRef context_;
  Stream stream_;
  BlasHandle handle_ = nullptr;
  std::unique_ptr<Buffer> workspace_;
  std::map<std::string, std::unique_ptr<Plan>> plans_; ///< by what identifies a problem
};

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAGEMM_H
