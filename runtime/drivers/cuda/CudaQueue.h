//===- CudaQueue.h - instructions in the order of a stream ------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAQUEUE_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAQUEUE_H

#include "runtime/drivers/cuda/CudaCode.h"
#include "runtime/drivers/cuda/CudaGemm.h"

#include <map>

namespace minigptc::runtime::cuda {

/// A stream of the GPU; recordings are CUDA graphs. Buffer tables of grouped kernels are kept
/// in the GPU's memory, so that a launch that comes again uploads nothing. A recording keeps what
/// of the queue's memory it names.
class CudaQueue final : public Queue {
public:
  /// More tables than most programs have; beyond, a caller's addresses change from run to run.
  static constexpr size_t kTables = 4096;

  /// With so many `tables` those that no recording has are dropped.
  static StatusOr<std::unique_ptr<CudaQueue>> create(ContextRef context, size_t tables = kTables);
  ~CudaQueue() override;

  Stream stream() const { return stream_->get(); }

  Status launch(const Executable &executable, const Launch &launch) override;
  Status gemm(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
              void *vector) override;
  Status copy(void *target, const void *source, uint64_t bytes) override;
  Status write(void *target, const void *staging, uint64_t bytes) override;
  Status read(void *staging, const void *source, uint64_t bytes) override;
  Status prepare(std::span<const GemmProblem> products) override;
  std::string algorithmOf(const GemmProblem &product) const override;
  Status useAlgorithm(const GemmProblem &product, const std::string &algorithm) override;
  StatusOr<std::unique_ptr<Event>> record() override;
  Status waitFor(Event &event) override;
  Status synchronize() override;
  Status beginRecording() override;
  StatusOr<std::unique_ptr<Recording>> endRecording() override;
  Status replay(const Recording &recording) override;

private:
  CudaQueue(ContextRef context, size_t tables) : context_(std::move(context)), maxTables_(tables) {}
  const DriverApi &cu() const { return context_->driver(); }
  Status check(Result result, const char *call) const { return context_->check(result, call); }
  /// In the GPU's memory.
  StatusOr<void *> tableOf(std::span<void *const> buffers);
  /// Those that no recording has.
  Status dropTables();
  StatusOr<CudaGemm *> products();
  Status copyOverlapping(void *target, const void *source, uint64_t bytes);

  ContextRef context_;
  std::unique_ptr<StreamHolder> stream_;
  std::unique_ptr<Transfer> transfer_; ///< of tables
  std::unique_ptr<CudaGemm> gemm_;     ///< null: no product yet
  std::map<std::vector<void *>, std::shared_ptr<Buffer>> tables_;
  size_t maxTables_;
  std::shared_ptr<Buffer> overlap_; ///< between the ranges of a copy that overlap
  bool recording_ = false;
  std::vector<std::shared_ptr<Buffer>> named_; ///< by what is being recorded
};

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAQUEUE_H
