//===- CudaEnd.h - a GPU's end of its communicators -------------*- C++ -*-===//
//
// A part of CudaWorld: the communicators of one device, its staging memory, and what its thread
// submits.
//
// Between processes NCCL's communicators do not block (`NcclConfig::blocking`), since only such a
// one can be aborted while it is made. What is called then goes on by itself, and nothing
// else may be called, or submitted behind it, before `settle` has seen it done.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAEND_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAEND_H

#include "runtime/drivers/cuda/CudaQueue.h"
#include "runtime/drivers/cuda/CudaWorld.h"

namespace minigptc::runtime::cuda {

class CudaWorld::End final : public Communicator {
public:
  End(CudaWorld &world, int64_t device, ContextRef context)
      : world_(world), device_(device), context_(std::move(context)) {}
  ~End() override;

  int64_t device() const override { return device_; }
  const NcclApi &nccl() const { return context_->api().nccl; }
  Status run(Queue &queue, const CollectiveProblem &problem, std::span<void *const> inputs,
             std::span<void *const> outputs, const CollectiveSite &site) override;
  Status send(Queue &queue, const MessageProblem &message, const void *data,
              uint32_t location) override;
  Status receive(Queue &queue, const MessageProblem &message, void *data,
                 uint32_t location) override;
  Status meetAll() override;
  void submittedAll() override;

  /// Memory in which collectives bring parts together.
  Status reserve(uint64_t bytes);
  /// Part of a group of calls: the communicator is there when that ends. Between processes there
  /// is no group, and it is there when `settleLast` succeeds.
  Status join(const DeviceGroup &group, const NcclUniqueId &id);
  /// ... of a way between two devices, of which this is one.
  Status joinWay(int64_t from, int64_t to, const NcclUniqueId &id);
  /// Waits for what was called in between several processes, where NCCL does not block: nothing
  /// else may be called before.
  Status settle(NcclComm comm, const char *call);
  /// ... of the last communicator that this has joined.
  Status settleLast();
  /// A device that ends with a failure: others may wait for it for ever.
  bool leavesOthersWaiting() const;
  void begin() { unfinished_ = false; }
  size_t numComms() const { return comms_.size() + ways_.size(); }
  /// In a thread of its own; see CudaWorld::abort.
  void abort(size_t number);
  Status asyncError() const;

private:
  struct Way {
    int64_t from, to;
    NcclComm comm;
  };
  std::vector<NcclComm> allComms() const;
  Status init(NcclComm &comm, int64_t ranks, const NcclUniqueId &id, int64_t rank);
  /// NCCL's communicators that do not block are for one thread at a time.
  std::unique_lock<std::mutex> enterNccl() const;
  StatusOr<NcclComm> wayOf(const MessageProblem &message) const;
  /// Submits one end of a message.
  Status submit(CudaQueue &queue, const MessageProblem &message, void *data);
  StatusOr<NcclComm> commOf(const DeviceGroup &group) const;
  StatusOr<std::byte *> stagingOf(const CudaQueue &queue, uint64_t bytes);
  Status submit(CudaQueue &queue, const CollectiveProblem &problem, std::span<void *const> inputs,
                std::span<void *const> outputs);

  CudaWorld &world_;
  int64_t device_;
  ContextRef context_;
  std::vector<std::pair<DeviceGroup, NcclComm>> comms_;
  std::vector<Way> ways_;
  std::unique_ptr<Buffer> staging_; ///< null: no collective needs any; recordings know the address
  Stream user_ = nullptr;           ///< of `staging_`: its work comes one after the other
  std::atomic<bool> inside_{false}; ///< of NCCL
  mutable std::mutex calls_;        ///< of communicators that do not block
  /// Others may wait on their GPUs for work of this device that it has not submitted.
  std::atomic<bool> unfinished_{false};
};

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDAEND_H
