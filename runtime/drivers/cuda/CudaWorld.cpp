#include "runtime/drivers/cuda/CudaWorld.h"

#include "runtime/drivers/cuda/CudaCollective.h"
#include "runtime/drivers/cuda/CudaQueue.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace minigptc::runtime::cuda {

using namespace std::chrono_literals;

/// How often NCCL is asked whether all is well.
static constexpr auto kWatchPeriod = 100ms;
/// How long a call into NCCL has to end by itself before its communicator is aborted.
static constexpr auto kPatience = 2s;

//===----------------------------------------------------------------------===//
// A device's end
//===----------------------------------------------------------------------===//

namespace {

/// Sets a flag for as long as it is there.
class Inside {
public:
  explicit Inside(std::atomic<bool> &flag) : flag_(flag) { flag_ = true; }
  ~Inside() { flag_ = false; }

private:
  std::atomic<bool> &flag_;
};

} // namespace

class CudaWorld::End final : public Communicator {
public:
  End(CudaWorld &world, int64_t device, ContextRef context)
      : world_(world), device_(device), context_(std::move(context)) {}
  ~End() override;

  int64_t device() const override { return device_; }
  const NcclApi &nccl() const { return context_->api().nccl; }
  Status run(Queue &queue, const CollectiveProblem &problem, std::span<void *const> inputs,
             std::span<void *const> outputs, const CollectiveSite &site) override;
  Status beforeReplay() override;

  /// Part of a group of calls: the communicator is there when that ends.
  Status join(const DeviceGroup &group, const NcclUniqueId &id);
  /// A device that ends with a failure: others may wait for it for ever.
  bool leavesOthersWaiting() const;
  void begin() { unfinished_ = false; }
  void abort();
  Status asyncError() const;

private:
  StatusOr<NcclComm> commOf(const DeviceGroup &group) const;
  StatusOr<std::byte *> stagingOf(CudaQueue &queue, uint64_t bytes);
  Status submit(CudaQueue &queue, const CollectiveProblem &problem, std::span<void *const> inputs,
                std::span<void *const> outputs);

  CudaWorld &world_;
  int64_t device_;
  ContextRef context_;
  std::vector<std::pair<DeviceGroup, NcclComm>> comms_;
  /// By stream, whose work comes one after the other. Recordings know the address.
  std::map<Stream, std::unique_ptr<Buffer>> staging_;
  std::atomic<bool> inside_{false}; ///< of NCCL
  /// Others may wait on their GPUs for work of this device that it has not submitted.
  std::atomic<bool> unfinished_{false};
};

CudaWorld::End::~End() {
  if (!context_->enter() || world_.aborted_)
    return;
  context_->driver().ctxSynchronize();
  for (auto &[group, comm] : comms_)
    if (comm)
      nccl().commDestroy(comm);
}

Status CudaWorld::End::join(const DeviceGroup &group, const NcclUniqueId &id) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  auto &[known, comm] = comms_.emplace_back(group, nullptr);
  return checkNccl(nccl(),
                   nccl().commInitRank(&comm, int(group.size()), id, int(group.rankOf(device_))),
                   "ncclCommInitRank", nullptr);
}

StatusOr<NcclComm> CudaWorld::End::commOf(const DeviceGroup &group) const {
  if (group.size() == 1)
    return NcclComm(nullptr);
  for (const auto &[known, comm] : comms_)
    if (known == group)
      return comm;
  return Status(StatusCode::internal, "a collective of a group that has no communicator");
}

StatusOr<std::byte *> CudaWorld::End::stagingOf(CudaQueue &queue, uint64_t bytes) {
  if (bytes == 0)
    return static_cast<std::byte *>(nullptr);
  std::unique_ptr<Buffer> &memory = staging_[queue.stream()];
  if (memory && memory->size() >= bytes)
    return memory->data();
  if (queue.isRecording())
    return Status(StatusCode::internal, "a recording of a collective that has not run before");
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
  memory.reset();
  StatusOr<std::unique_ptr<Buffer>> made =
      allocateOnDevice(context_, std::max(bytes, world_.staging_));
  if (!made)
    return made.status();
  memory = std::move(*made);
  return memory->data();
}

Status CudaWorld::End::submit(CudaQueue &queue, const CollectiveProblem &problem,
                              std::span<void *const> inputs, std::span<void *const> outputs) {
  StatusOr<NcclComm> comm = commOf(problem.group);
  if (!comm)
    return comm.status();
  StatusOr<std::byte *> staging = stagingOf(queue, stagingBytes(problem));
  if (!staging)
    return staging.status();
  return submitCollective(
      {*context_, *comm, problem.group.rankOf(device_), queue.stream(), *staging}, problem, inputs,
      outputs);
}

Status CudaWorld::End::run(Queue &queue, const CollectiveProblem &problem,
                           std::span<void *const> inputs, std::span<void *const> outputs,
                           const CollectiveSite &site) {
  MINIGPTC_RETURN_IF_ERROR(world_.meetings_.meet(device_, problem.group, &problem, site));
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  Inside inside(inside_);
  Status status = world_.aborted_
                      ? world_.failure()
                      : submit(static_cast<CudaQueue &>(queue), problem, inputs, outputs);
  if (!status)
    unfinished_ = true;
  return status;
}

Status CudaWorld::End::beforeReplay() {
  int64_t all = int64_t(world_.ends_.size());
  MINIGPTC_RETURN_IF_ERROR(world_.meetings_.meet(device_, {{1}, {all}}, nullptr, {}));
  unfinished_ = true; // Until the run's end.
  return {};
}

bool CudaWorld::End::leavesOthersWaiting() const {
  return unfinished_ || !context_->enter() ||
         context_->driver().ctxSynchronize() != Result::success;
}

void CudaWorld::End::abort() {
  for (auto end = std::chrono::steady_clock::now() + kPatience;
       inside_ && std::chrono::steady_clock::now() < end;)
    std::this_thread::sleep_for(1ms);
  if (!context_->enter())
    return;
  for (auto &[group, comm] : comms_)
    if (comm)
      nccl().commAbort(comm);
}

Status CudaWorld::End::asyncError() const {
  for (const auto &[group, comm] : comms_) {
    NcclResult error = NcclResult::success;
    if (!comm || nccl().commGetAsyncError(comm, &error) != NcclResult::success ||
        error == NcclResult::success || error == NcclResult::inProgress)
      continue;
    Status status = checkNccl(nccl(), error, "a collective", comm);
    return Status(status.code(), "device " + std::to_string(device_) + ", among " +
                                     std::to_string(group.size()) + ": " + status.message());
  }
  return {};
}

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

CudaWorld::CudaWorld(std::vector<ContextRef> contexts, WorldOptions options)
    : options_(std::move(options)),
      meetings_(int64_t(contexts.size()), {options_.spinMicroseconds, options_.placeOf}) {
  for (size_t device = 0; device < contexts.size(); ++device)
    ends_.push_back(std::make_unique<End>(*this, int64_t(device), std::move(contexts[device])));
  for (const CollectiveProblem &problem : options_.problems)
    staging_ = std::max(staging_, stagingBytes(problem));
}

StatusOr<std::unique_ptr<CudaWorld>> CudaWorld::create(std::vector<ContextRef> contexts,
                                                       WorldOptions options) {
  const CudaApi &api = contexts.front()->api();
  MINIGPTC_RETURN_IF_ERROR(api.ncclStatus);
  std::unique_ptr<CudaWorld> world(new CudaWorld(std::move(contexts), std::move(options)));
  std::vector<DeviceGroup> groups;
  for (const CollectiveProblem &problem : world->options_.problems)
    if (problem.group.size() > 1 && std::ranges::find(groups, problem.group) == groups.end())
      groups.push_back(problem.group);
  for (const DeviceGroup &group : groups)
    MINIGPTC_RETURN_IF_ERROR(world->join(group));
  if (groups.empty())
    return world;
  try {
    world->watcher_ = std::thread([world = world.get()] { world->watch(); });
  } catch (const std::system_error &) {
    return Status(StatusCode::resourceExhausted, "the system gives no thread to watch NCCL");
  }
  return world;
}

/// All groups of such strides and sizes at once: each device is in one of them.
Status CudaWorld::join(const DeviceGroup &group) {
  const NcclApi &nccl = ends_.front()->nccl();
  std::map<int64_t, NcclUniqueId> ids; // By the first member.
  MINIGPTC_RETURN_IF_ERROR(checkNccl(nccl, nccl.groupStart(), "ncclGroupStart", nullptr));
  Status status;
  for (auto &end : ends_) {
    auto [id, isNew] = ids.try_emplace(group.memberOf(end->device(), 0));
    if (status && isNew)
      status = checkNccl(nccl, nccl.getUniqueId(&id->second), "ncclGetUniqueId", nullptr);
    if (status)
      status = end->join(group, id->second);
  }
  Status ended = checkNccl(nccl, nccl.groupEnd(), "ncclGroupEnd", nullptr);
  return status ? ended : status;
}

CudaWorld::~CudaWorld() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable())
    watcher_.join();
}

Communicator &CudaWorld::end(int64_t device) { return *ends_[size_t(device)]; }

void CudaWorld::begin() {
  meetings_.begin();
  std::lock_guard lock(mutex_);
  for (auto &end : ends_)
    end->begin();
  if (aborted_)
    meetings_.fail(broken_);
  running_ = int64_t(ends_.size());
  changed_.notify_all();
}

void CudaWorld::finish(int64_t device, const Status &status) {
  meetings_.finish(device, status);
  if (!status && status.code() != StatusCode::cancelled && !aborted_ &&
      ends_[size_t(device)]->leavesOthersWaiting())
    abort(status);
  std::lock_guard lock(mutex_);
  --running_;
}

Status CudaWorld::failure() { return meetings_.failure(); }

void CudaWorld::abort(const Status &why) {
  meetings_.fail(why);
  std::lock_guard lock(mutex_);
  if (aborted_)
    return;
  broken_ = Status(why.code(), "collectives ended with a failure before: " + why.message())
                .withHelp("load the program again");
  aborted_ = true;
  for (auto &end : ends_)
    end->abort();
}

void CudaWorld::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (running_ == 0 || aborted_) {
      changed_.wait(lock, [&] { return stop_ || (running_ > 0 && !aborted_); });
      continue;
    }
    changed_.wait_for(lock, kWatchPeriod, [&] { return stop_; });
    if (stop_ || running_ == 0 || aborted_)
      continue;
    Status error = findAsyncError();
    if (error)
      continue;
    lock.unlock();
    abort(error);
    lock.lock();
  }
}

/// With the mutex: nobody aborts meanwhile.
Status CudaWorld::findAsyncError() {
  for (auto &end : ends_)
    MINIGPTC_RETURN_IF_ERROR(end->asyncError());
  return {};
}

} // namespace minigptc::runtime::cuda
