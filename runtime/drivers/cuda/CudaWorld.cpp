#include "runtime/drivers/cuda/CudaWorld.h"

#include "runtime/collectives/TcpStore.h"
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
/// How long after an error of NCCL there may be news of why.
static constexpr auto kNews = 3s;
/// How long process 0 waits for the others' end.
static constexpr auto kFarewell = 20s;

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
  Status send(Queue &queue, const MessageProblem &message, const void *data,
              uint32_t location) override;
  Status receive(Queue &queue, const MessageProblem &message, void *data,
                 uint32_t location) override;
  Status beforeReplay() override;

  /// Memory in which collectives bring parts together.
  Status reserve(uint64_t bytes);
  /// Part of a group of calls: the communicator is there when that ends.
  Status join(const DeviceGroup &group, const NcclUniqueId &id);
  /// ... of a way between two devices, of which this is one.
  Status joinWay(int64_t from, int64_t to, const NcclUniqueId &id);
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
  /// Others may wait on their GPUs for work of this device that it has not submitted.
  std::atomic<bool> unfinished_{false};
};

CudaWorld::End::~End() {
  if (!context_->enter() || world_.aborted_)
    return;
  context_->driver().ctxSynchronize();
  for (NcclComm comm : allComms())
    nccl().commDestroy(comm);
}

std::vector<NcclComm> CudaWorld::End::allComms() const {
  std::vector<NcclComm> all;
  for (const auto &[group, comm] : comms_)
    all.push_back(comm);
  for (const Way &way : ways_)
    all.push_back(way.comm);
  std::erase(all, nullptr);
  return all;
}

Status CudaWorld::End::reserve(uint64_t bytes) {
  if (bytes == 0)
    return {};
  StatusOr<std::unique_ptr<Buffer>> memory = allocateOnDevice(context_, bytes);
  if (!memory)
    return memory.status();
  staging_ = std::move(*memory);
  return {};
}

Status CudaWorld::End::join(const DeviceGroup &group, const NcclUniqueId &id) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  auto &[known, comm] = comms_.emplace_back(group, nullptr);
  Status status = checkNccl(
      nccl(), nccl().commInitRank(&comm, int(group.size()), id, int(group.rankOf(device_))),
      "ncclCommInitRank", nullptr);
  return status ? status
                : std::move(status).withHelp(
                      "NCCL_DEBUG=INFO in the environment tells more; NCCL may be too new for the "
                      "driver");
}

Status CudaWorld::End::joinWay(int64_t from, int64_t to, const NcclUniqueId &id) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  Way &way = ways_.emplace_back(from, to, nullptr);
  return checkNccl(nccl(), nccl().commInitRank(&way.comm, 2, id, device_ == from ? 0 : 1),
                   "ncclCommInitRank", nullptr);
}

StatusOr<NcclComm> CudaWorld::End::wayOf(const MessageProblem &message) const {
  for (const Way &way : ways_)
    if (way.from == message.from && way.to == message.to)
      return way.comm;
  return Status(StatusCode::internal, message.describe() + " has no communicator");
}

Status CudaWorld::End::submit(CudaQueue &queue, const MessageProblem &message, void *data) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  Inside inside(inside_);
  if (world_.aborted_)
    return world_.failure();
  StatusOr<NcclComm> comm = wayOf(message);
  if (!comm)
    return comm.status();
  bool sends = device_ == message.from;
  NcclResult result =
      message.bytes == 0 ? NcclResult::success
      : sends            ? nccl().send(data, message.bytes, NcclType::i8, 1, *comm, queue.stream())
                         : nccl().recv(data, message.bytes, NcclType::i8, 0, *comm, queue.stream());
  Status status = checkNccl(nccl(), result, sends ? "ncclSend" : "ncclRecv", *comm);
  if (!status)
    unfinished_ = true;
  return status;
}

Status CudaWorld::End::send(Queue &queue, const MessageProblem &message, const void *data,
                            uint32_t location) {
  MINIGPTC_RETURN_IF_ERROR(world_.meetings_->send(message, nullptr, location));
  return submit(static_cast<CudaQueue &>(queue), message, const_cast<void *>(data));
}

Status CudaWorld::End::receive(Queue &queue, const MessageProblem &message, void *data,
                               uint32_t location) {
  MINIGPTC_RETURN_IF_ERROR(world_.meetings_->receive(message, nullptr, location));
  return submit(static_cast<CudaQueue &>(queue), message, data);
}

StatusOr<NcclComm> CudaWorld::End::commOf(const DeviceGroup &group) const {
  if (group.size() == 1)
    return NcclComm(nullptr);
  for (const auto &[known, comm] : comms_)
    if (known == group)
      return comm;
  return Status(StatusCode::internal, "a collective of a group that has no communicator");
}

StatusOr<std::byte *> CudaWorld::End::stagingOf(const CudaQueue &queue, uint64_t bytes) {
  if (bytes == 0)
    return static_cast<std::byte *>(nullptr);
  if (!staging_ || staging_->size() < bytes)
    return Status(StatusCode::internal, "a collective that was not known beforehand");
  if (user_ && user_ != queue.stream())
    return Status(StatusCode::internal, "collectives of a device in several queues");
  user_ = queue.stream();
  return staging_->data();
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
  MINIGPTC_RETURN_IF_ERROR(world_.meet(device_, problem.group, &problem, site));
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
  MINIGPTC_RETURN_IF_ERROR(world_.meet(device_, {{1}, {all}}, nullptr, {}));
  unfinished_ = true; // Until the run's end.
  return {};
}

bool CudaWorld::End::leavesOthersWaiting() const {
  return unfinished_ || !context_->enter() ||
         context_->driver().ctxSynchronize() != Result::success;
}

void CudaWorld::End::abort(size_t number) {
  for (auto end = std::chrono::steady_clock::now() + kPatience;
       inside_ && std::chrono::steady_clock::now() < end;)
    std::this_thread::sleep_for(1ms);
  NcclComm comm =
      number < comms_.size() ? comms_[number].second : ways_[number - comms_.size()].comm;
  if (comm && context_->enter())
    nccl().commAbort(comm);
}

Status CudaWorld::End::asyncError() const {
  for (NcclComm comm : allComms()) {
    NcclResult error = NcclResult::success;
    if (nccl().commGetAsyncError(comm, &error) != NcclResult::success ||
        error == NcclResult::success || error == NcclResult::inProgress)
      continue;
    Status status = checkNccl(nccl(), error, "a collective", comm);
    auto group = std::ranges::find(comms_, comm, [](const auto &known) { return known.second; });
    std::string among =
        group == comms_.end() ? "between two" : "among " + std::to_string(group->first.size());
    return Status(status.code(),
                  "device " + std::to_string(device_) + ", " + among + ": " + status.message());
  }
  return {};
}

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

CudaWorld::CudaWorld(std::vector<ContextRef> contexts, WorldOptions options)
    : options_(std::move(options)) {
  if (store())
    name_ = store()->newName();
  else
    meetings_ = std::make_unique<InProcessWorld>(
        int64_t(contexts.size()), InProcessOptions{options_.spinMicroseconds, options_.placeOf});
  for (size_t i = 0; i < contexts.size(); ++i)
    ends_.push_back(
        std::make_unique<End>(*this, options_.process.rank + int64_t(i), std::move(contexts[i])));
}

StatusOr<std::unique_ptr<CudaWorld>> CudaWorld::create(std::vector<ContextRef> contexts,
                                                       WorldOptions options) {
  MINIGPTC_RETURN_IF_ERROR(contexts.front()->api().ncclStatus);
  std::unique_ptr<CudaWorld> world(new CudaWorld(std::move(contexts), std::move(options)));
  for (auto &end : world->ends_)
    MINIGPTC_RETURN_IF_ERROR(end->reserve(stagingBytes(world->options_.problems)));
  if (world->store())
    MINIGPTC_RETURN_IF_ERROR(world->awaitProcesses());
  MINIGPTC_RETURN_IF_ERROR(world->joinGroups());
  try {
    world->watcher_ = std::thread([world = world.get()] { world->watch(); });
  } catch (const std::system_error &) {
    return Status(StatusCode::resourceExhausted, "the system gives no thread to watch NCCL");
  }
  return world;
}

/// NCCL itself waits for ever for a process that does not come.
Status CudaWorld::awaitProcesses() {
  MINIGPTC_RETURN_IF_ERROR(
      store()->set(name_ + "is here " + std::to_string(options_.process.rank), ""));
  for (int64_t rank = 1; isFirst() && rank < options_.process.count; ++rank)
    MINIGPTC_RETURN_IF_ERROR(store()->get(name_ + "is here " + std::to_string(rank)).status());
  return isFirst() ? store()->set(name_ + "all are here", "")
                   : store()->get(name_ + "all are here").status();
}

/// Process 0 serves the store for a while, until nobody looks into it any more, or one has failed.
void CudaWorld::leaveProcesses() {
  if (!store()->set(name_ + "has left " + std::to_string(options_.process.rank), ""))
    return;
  auto mayLookIn = [&](int64_t rank) {
    StatusOr<std::optional<std::string>> left =
        store()->find(name_ + "has left " + std::to_string(rank));
    return left && !*left && !failureElsewhere();
  };
  auto end = std::chrono::steady_clock::now() + kFarewell;
  for (int64_t rank = 1; isFirst() && rank < options_.process.count; ++rank)
    while (mayLookIn(rank) && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(5ms);
}

Status CudaWorld::joinGroups() {
  std::vector<DeviceGroup> groups;
  for (const CollectiveProblem &problem : options_.problems)
    if (problem.group.size() > 1 && std::ranges::find(groups, problem.group) == groups.end())
      groups.push_back(problem.group);
  for (size_t number = 0; number < groups.size(); ++number)
    MINIGPTC_RETURN_IF_ERROR(join(groups[number], int64_t(number)));
  for (auto [from, to] : options_.ways)
    MINIGPTC_RETURN_IF_ERROR(joinWay(from, to));
  return {};
}

/// Two ranks for each direction: messages one way do not wait for those the other way.
Status CudaWorld::joinWay(int64_t from, int64_t to) {
  const NcclApi &nccl = ends_.front()->nccl();
  NcclUniqueId id{};
  MINIGPTC_RETURN_IF_ERROR(checkNccl(nccl, nccl.getUniqueId(&id), "ncclGetUniqueId", nullptr));
  MINIGPTC_RETURN_IF_ERROR(checkNccl(nccl, nccl.groupStart(), "ncclGroupStart", nullptr));
  Status status;
  for (int64_t device : {from, to})
    if (status)
      status = ends_[size_t(device)]->joinWay(from, to, id);
  Status ended = checkNccl(nccl, nccl.groupEnd(), "ncclGroupEnd", nullptr);
  return status ? ended : status;
}

/// What all members of the device's group know, from the first one.
StatusOr<NcclUniqueId> CudaWorld::idOf(const DeviceGroup &group, int64_t number, int64_t device) {
  const NcclApi &nccl = ends_.front()->nccl();
  int64_t first = group.memberOf(device, 0);
  std::string key = name_ + "id " + std::to_string(number) + " " + std::to_string(first);
  NcclUniqueId id{};
  if (!store() || first == device)
    MINIGPTC_RETURN_IF_ERROR(checkNccl(nccl, nccl.getUniqueId(&id), "ncclGetUniqueId", nullptr));
  if (!store())
    return id;
  if (first == device) {
    MINIGPTC_RETURN_IF_ERROR(store()->set(key, std::string_view(id.bytes, sizeof(id.bytes))));
    return id;
  }
  StatusOr<std::string> told = store()->get(key);
  if (!told)
    return told.status();
  if (told->size() != sizeof(id.bytes))
    return Status(StatusCode::internal, "an id of NCCL of another length");
  std::ranges::copy(*told, id.bytes);
  return id;
}

/// All groups of such strides and sizes at once: each device is in one of them.
Status CudaWorld::join(const DeviceGroup &group, int64_t number) {
  const NcclApi &nccl = ends_.front()->nccl();
  std::map<int64_t, NcclUniqueId> ids; // By the first member.
  for (auto &end : ends_) {
    auto [place, isNew] = ids.try_emplace(group.memberOf(end->device(), 0));
    if (!isNew)
      continue;
    StatusOr<NcclUniqueId> id = idOf(group, number, end->device());
    if (!id)
      return id.status();
    place->second = *id;
  }
  MINIGPTC_RETURN_IF_ERROR(checkNccl(nccl, nccl.groupStart(), "ncclGroupStart", nullptr));
  Status status;
  for (auto &end : ends_)
    if (status)
      status = end->join(group, ids[group.memberOf(end->device(), 0)]);
  Status ended = checkNccl(nccl, nccl.groupEnd(), "ncclGroupEnd", nullptr);
  return status ? ended : status;
}

CudaWorld::~CudaWorld() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (!watcher_.joinable())
    return;
  watcher_.join();
  for (std::thread &aborter : aborters_)
    aborter.join();
  if (store() && !aborted_)
    leaveProcesses();
}

Communicator &CudaWorld::end(int64_t device) {
  return *ends_[size_t(device - options_.process.rank)];
}

Status CudaWorld::meet(int64_t device, const DeviceGroup &group, const CollectiveProblem *problem,
                       const CollectiveSite &site) {
  return meetings_ ? meetings_->meet(device, group, problem, site) : failure();
}

void CudaWorld::begin() {
  if (meetings_)
    meetings_->begin();
  {
    std::lock_guard lock(mutex_);
    failure_ = {};
    for (auto &end : ends_)
      end->begin();
    running_ = int64_t(ends_.size());
    changed_.notify_all();
  }
  if (aborted_)
    fail(broken_);
}

void CudaWorld::finish(int64_t device, const Status &status) {
  if (meetings_)
    meetings_->finish(device, status);
  else if (!status)
    fail(status);
  Status why = status;
  if (status) { // Collectives that were aborted end as others do.
    std::lock_guard lock(mutex_);
    why = aborted_ ? Status() : findAsyncError(/*alwaysAsksStore=*/false);
  } else if (!store() && options_.ways.empty() &&
             (status.code() == StatusCode::cancelled || aborted_ ||
              !ends_[size_t(device)]->leavesOthersWaiting())) {
    // Those who wait do so on the host, but for who has sent a message. Of other processes nobody
    // knows.
    why = {};
  }
  if (!why)
    abort(status ? awaitReason(why) : why);
  std::lock_guard lock(mutex_);
  --running_;
}

void CudaWorld::fail(const Status &why) {
  if (meetings_)
    return meetings_->fail(why);
  std::lock_guard lock(mutex_);
  if (failure_)
    failure_ = why;
}

Status CudaWorld::failure() {
  if (meetings_)
    return meetings_->failure();
  std::lock_guard lock(mutex_);
  return failure_;
}

/// NCCL gives an aborted communicator's memory back, which waits for the GPU, and so for
/// kernels of communicators that do not know of it; and it waits for the end of recordings, which
/// comes after that of the run. So all learn of it at once, and nobody waits before the world ends.
void CudaWorld::abort(const Status &why) {
  fail(why);
  std::lock_guard lock(mutex_);
  if (aborted_)
    return;
  broken_ = Status(why.code(), "collectives ended with a failure before: " + why.message())
                .withHelp("load the program again");
  aborted_ = true;
  if (store()) // If it cannot be told, others find out by the store's end.
    tellProcesses(why);
  for (auto &end : ends_)
    for (size_t number = 0; number < end->numComms(); ++number)
      startAbort(*end, number);
}

void CudaWorld::startAbort(End &end, size_t number) {
  try {
    aborters_.emplace_back([&end, number] { end.abort(number); });
  } catch (const std::exception &) { // Without a thread: the others know already.
    end.abort(number);
  }
}

/// The first failure counts; what follows from it is none.
void CudaWorld::tellProcesses(const Status &why) {
  StatusOr<std::optional<std::string>> told = store()->find(name_ + "failed");
  if (told && !*told)
    (void)store()->set(name_ + "failed", why.message()).ok();
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
    Status error = findAsyncError(/*alwaysAsksStore=*/true);
    if (error)
      continue;
    lock.unlock();
    abort(awaitReason(error));
    lock.lock();
  }
}

/// With the mutex: nobody aborts meanwhile.
Status CudaWorld::findAsyncError(bool alwaysAsksStore) {
  Status error;
  for (auto &end : ends_)
    if (error)
      error = end->asyncError();
  if (!store() || (error && !alwaysAsksStore))
    return error;
  if (std::optional<Status> elsewhere = failureElsewhere())
    return *elsewhere;
  StatusOr<std::optional<std::string>> asked = store()->find(name_ + "failed");
  return asked || !error ? error : asked.status(); // Process 0 has ended, with the store.
}

std::optional<Status> CudaWorld::failureElsewhere() {
  if (Status others = options_.process.failure ? options_.process.failure() : Status(); !others)
    return others;
  StatusOr<std::optional<std::string>> failed = store()->find(name_ + "failed");
  if (failed && *failed)
    return Status(StatusCode::internal, "another process has failed: " + **failed);
  return std::nullopt;
}

/// NCCL sees that a connection has ended, maybe before this process is told whose and why.
Status CudaWorld::awaitReason(Status reported) {
  for (auto end = std::chrono::steady_clock::now() + kNews;
       store() && std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(20ms))
    if (std::optional<Status> elsewhere = failureElsewhere())
      return *elsewhere;
  return reported;
}

} // namespace minigptc::runtime::cuda
