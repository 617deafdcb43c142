//===- CudaWorld.h - several GPUs together ----------------------*- C++ -*-===//
//
// A NCCL communicator for each group of devices, made beforehand: making one is no matter for
// a step that is being recorded.
//
//   StatusOr<std::unique_ptr<CudaWorld>> world = CudaWorld::create(contexts, options);
//   world->begin();
//   // in thread d, for each d:
//   Status status = world->end(d).run(queue, problem, inputs, outputs, site);
//   world->finish(d, status);
//   // after all threads:
//   world->failure();
//
// Threads meet on the host before each submission, as those of an InProcessWorld do, and before
// each replay: a device that has ended, or does something else, is told by name, and no GPU is
// left waiting for one that does not come. If a device fails with work on its GPU, or NCCL
// reports an error meanwhile, which a thread looks for, all communicators are aborted, which
// ends every collective. The world is not good for another run then.
//
// To be destroyed after recordings of its collectives.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAWORLD_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAWORLD_H

#include "runtime/collectives/InProcess.h"
#include "runtime/drivers/cuda/CudaMemory.h"

#include <thread>

namespace minigptc::runtime::cuda {

class CudaWorld final : public World {
public:
  /// One context for each device, in their order. Fails if there is no NCCL.
  static StatusOr<std::unique_ptr<CudaWorld>> create(std::vector<ContextRef> contexts,
                                                     WorldOptions options);
  ~CudaWorld() override;

  Communicator &end(int64_t device) override;
  void begin() override;
  void finish(int64_t device, const Status &status) override;
  Status failure() override;

private:
  class End;
  CudaWorld(std::vector<ContextRef> contexts, WorldOptions options);
  Status join(const DeviceGroup &group);
  /// Ends everything that runs, for good.
  void abort(const Status &why);
  void watch();
  Status findAsyncError();

  WorldOptions options_;
  uint64_t staging_ = 0; ///< bytes that the largest known collective needs
  InProcessWorld meetings_;
  std::vector<std::unique_ptr<End>> ends_;
  std::atomic<bool> aborted_{false};
  std::mutex mutex_; ///< of communicators' end, and of what follows
  Status broken_;    ///< why they were aborted
  int64_t running_ = 0;
  bool stop_ = false;
  std::condition_variable changed_;
  std::thread watcher_; ///< not before there is a communicator
};

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAWORLD_H
