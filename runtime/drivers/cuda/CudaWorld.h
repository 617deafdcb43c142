//===- CudaWorld.h - several GPUs together ----------------------*- C++ -*-===//
//
// A NCCL communicator for each group of devices, and for each way that messages go from one device
// to another, made beforehand: making one is no matter for
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
// ends every collective. The world is not good for another run then. Communicators that recordings
// know come to their end when the recordings are given back, which nobody waits for but the
// world's end.
//
// With a store (`WorldOptions::process`) each process has one device, and a world of one end:
// the store carries the ids of communicators and the news that a process has failed. Nobody
// meets on the host then.
//
// To be destroyed after recordings of its collectives.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAWORLD_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAWORLD_H

#include "runtime/collectives/InProcess.h"
#include "runtime/drivers/cuda/CudaMemory.h"

#include <optional>
#include <thread>
#include <vector>

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
  TcpStore *store() const { return options_.process.store; }
  bool isFirst() const { return options_.process.rank == 0; }
  Status meetAndJoin();
  /// Waits until all processes are here.
  Status awaitProcesses();
  StatusOr<std::string> told(const std::string &key);
  void leaveProcesses();
  void tellProcesses(const Status &why);
  Status joinGroups();
  Status join(const DeviceGroup &group, int64_t number);
  Status joinWay(int64_t from, int64_t to);
  Status inGroup(const std::function<Status(End &)> &join);
  StatusOr<NcclUniqueId> idOf(const std::string &what, int64_t first);
  Status meet(int64_t device, const DeviceGroup &group, const CollectiveProblem *problem,
              const CollectiveSite &site);
  void fail(const Status &why);
  /// Ends everything that runs, for good.
  void abort(const Status &why);
  void startAbort(End &end, size_t number);
  void watch();
  /// What NCCL, or the store, has to tell.
  Status findAsyncError(bool alwaysAsksStore);
  /// What is known of another process's failure; none: nothing.
  std::optional<Status> failureElsewhere();
  /// What NCCL reports of a process that has ended, others know better.
  Status awaitReason(Status reported);

  WorldOptions options_;
  std::string name_;                         ///< before keys in the store
  std::unique_ptr<InProcessWorld> meetings_; ///< null: one process for each device
  std::vector<std::unique_ptr<End>> ends_;
  std::atomic<bool> aborted_{false};
  std::mutex mutex_; ///< of communicators' end, and of what follows
  Status broken_;    ///< why they were aborted
  Status failure_;   ///< of the run; without `meetings_`
  int64_t running_ = 0;
  bool stop_ = false;
  std::condition_variable changed_;
  std::thread watcher_;               ///< not before there is a communicator
  std::vector<std::thread> aborters_; ///< one for each communicator that is aborted
};

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAWORLD_H
