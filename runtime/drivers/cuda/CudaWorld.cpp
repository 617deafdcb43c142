#include "runtime/drivers/cuda/CudaWorld.h"

#include "runtime/collectives/TcpStore.h"
#include "runtime/drivers/cuda/CudaCollective.h"
#include "runtime/drivers/cuda/CudaEnd.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace minigptc::runtime::cuda {

using namespace std::chrono_literals;

/// How often NCCL is asked whether all is well.
static constexpr auto kWatchPeriod = 100ms;
/// How long after an error of NCCL there may be news of why.
static constexpr auto kNews = 3s;
/// How long process 0 waits for the others' end.
static constexpr auto kFarewell = 20s;

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
  if (Status status = world->meetAndJoin(); !status)
    return status;
  try {
    world->watcher_ = std::thread([world = world.get()] { world->watch(); });
  } catch (const std::system_error &) {
    return Status(StatusCode::resourceExhausted, "the system gives no thread to watch NCCL");
  }
  return world;
}

/// NCCL itself waits for ever for a process that has ended, before it comes or while
/// communicators are made: then these, too, are aborted.
Status CudaWorld::meetAndJoin() {
  if (!store())
    return joinGroups();
  Status status = awaitProcesses();
  if (status)
    status = joinGroups();
  if (status)
    return {};
  status = awaitReason(status);
  abort(status);
  return status;
}

Status CudaWorld::awaitProcesses() {
  MINIGPTC_RETURN_IF_ERROR(
      store()->set(name_ + "is here " + std::to_string(options_.process.rank), ""));
  for (int64_t rank = 1; isFirst() && rank < options_.process.count; ++rank)
    MINIGPTC_RETURN_IF_ERROR(told("is here " + std::to_string(rank)).status());
  return isFirst() ? store()->set(name_ + "all are here", "") : told("all are here").status();
}

/// What another process says, unless one has failed.
StatusOr<std::string> CudaWorld::told(const std::string &key) {
  return store()->get(name_ + key, [&] { return failureElsewhere().value_or(Status()); });
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

/// Two ranks for each direction: messages one way do not wait for those the other way. All
/// processes have the ways in one order, in which each joins those that it has an end of.
Status CudaWorld::joinWay(int64_t from, int64_t to) {
  auto isEnd = [&](int64_t device) { return device == from || device == to; };
  if (std::ranges::none_of(ends_, [&](const auto &end) { return isEnd(end->device()); }))
    return {};
  StatusOr<NcclUniqueId> id = idOf("way to " + std::to_string(to), from);
  if (!id)
    return id.status();
  return inGroup(
      [&](End &end) { return isEnd(end.device()) ? end.joinWay(from, to, *id) : Status(); });
}

/// What all ranks of a communicator know from `first`, by the store.
StatusOr<NcclUniqueId> CudaWorld::idOf(const std::string &what, int64_t first) {
  NcclUniqueId id{};
  const std::string key = "id of " + what + " from " + std::to_string(first);
  if (!store() || first == options_.process.rank) {
    const NcclApi &nccl = ends_.front()->nccl();
    MINIGPTC_RETURN_IF_ERROR(checkNccl(nccl, nccl.getUniqueId(&id), "ncclGetUniqueId", nullptr));
    if (store())
      MINIGPTC_RETURN_IF_ERROR(
          store()->set(name_ + key, std::string_view(id.bytes, sizeof(id.bytes))));
    return id;
  }
  StatusOr<std::string> bytes = told(key);
  if (!bytes)
    return bytes.status();
  if (bytes->size() != sizeof(id.bytes))
    return Status(StatusCode::internal, "an id of NCCL of another length");
  std::ranges::copy(*bytes, id.bytes);
  return id;
}

/// All groups of such strides and sizes at once: each device is in one of them.
Status CudaWorld::join(const DeviceGroup &group, int64_t number) {
  std::map<int64_t, NcclUniqueId> ids; // By the first member.
  for (auto &end : ends_) {
    auto [place, isNew] = ids.try_emplace(group.memberOf(end->device(), 0));
    if (!isNew)
      continue;
    StatusOr<NcclUniqueId> id = idOf("group " + std::to_string(number), place->first);
    if (!id)
      return id.status();
    place->second = *id;
  }
  return inGroup([&](End &end) { return end.join(group, ids[group.memberOf(end.device(), 0)]); });
}

/// `join` for each end: what it makes is there when all have been called. Between processes there
/// is no group of calls, and one end.
Status CudaWorld::inGroup(const std::function<Status(End &)> &join) {
  if (store()) {
    MINIGPTC_RETURN_IF_ERROR(join(*ends_.front()));
    return ends_.front()->settleLast();
  }
  const NcclApi &nccl = ends_.front()->nccl();
  MINIGPTC_RETURN_IF_ERROR(checkNccl(nccl, nccl.groupStart(), "ncclGroupStart", nullptr));
  Status status;
  for (auto &end : ends_)
    if (status)
      status = join(*end);
  Status ended = checkNccl(nccl, nccl.groupEnd(), "ncclGroupEnd", nullptr);
  return status ? ended : status;
}

CudaWorld::~CudaWorld() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  bool wasMade = watcher_.joinable();
  if (wasMade)
    watcher_.join();
  for (std::thread &aborter : aborters_)
    aborter.join();
  if (store() && wasMade && !aborted_)
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
