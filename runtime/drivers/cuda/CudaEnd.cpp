#include "runtime/drivers/cuda/CudaEnd.h"

#include "runtime/drivers/cuda/CudaCollective.h"

#include <algorithm>
#include <chrono>

namespace minigptc::runtime::cuda {

using namespace std::chrono_literals;

/// How long a call into NCCL has to end by itself before its communicator is aborted.
static constexpr auto kPatience = 2s;
/// How long NCCL has for a group of calls before a thread that waits for it sleeps meanwhile.
static constexpr auto kSpin = 1ms;
/// How often others are asked, while that thread waits, whether they are still there.
static constexpr auto kNewsPeriod = 20ms;

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
  return init(comm, group.size(), id, group.rankOf(device_));
}

static Status withNcclHelp(Status status) {
  return status || !status.help().empty()
             ? status
             : std::move(status).withHelp(
                   "NCCL_DEBUG=INFO in the environment tells more; NCCL may be too new for the "
                   "driver");
}

/// Only a communicator that does not block can be aborted while it is made. One process needs
/// none: its ranks come or go together.
Status CudaWorld::End::init(NcclComm &comm, int64_t ranks, const NcclUniqueId &id, int64_t rank) {
  if (!world_.store())
    return withNcclHelp(checkNccl(nccl(), nccl().commInitRank(&comm, int(ranks), id, int(rank)),
                                  "ncclCommInitRank", nullptr));
  NcclConfig config;
  config.blocking = 0;
  return withNcclHelp(
      checkNccl(nccl(), nccl().commInitRankConfig(&comm, int(ranks), id, int(rank), &config),
                "ncclCommInitRankConfig", nullptr));
}

Status CudaWorld::End::settle(NcclComm comm, const char *call) {
  auto begin = std::chrono::steady_clock::now(), news = begin + kNewsPeriod;
  for (;;) {
    NcclResult state = NcclResult::success;
    MINIGPTC_RETURN_IF_ERROR(
        checkNccl(nccl(), nccl().commGetAsyncError(comm, &state), "ncclCommGetAsyncError", comm));
    if (state != NcclResult::inProgress)
      return checkNccl(nccl(), state, call, comm);
    if (world_.aborted_)
      return world_.failure();
    auto now = std::chrono::steady_clock::now();
    if (now >= news) {
      if (std::optional<Status> elsewhere = world_.failureElsewhere())
        return *elsewhere;
      news = now + kNewsPeriod;
    }
    if (now > begin + kSpin)
      std::this_thread::sleep_for(1ms);
    else
      std::this_thread::yield();
  }
}

Status CudaWorld::End::settleLast() {
  return withNcclHelp(settle(allComms().back(), "ncclCommInitRankConfig"));
}

std::unique_lock<std::mutex> CudaWorld::End::enterNccl() const {
  return world_.store() ? std::unique_lock(calls_) : std::unique_lock<std::mutex>();
}

Status CudaWorld::End::joinWay(int64_t from, int64_t to, const NcclUniqueId &id) {
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  Way &way = ways_.emplace_back(from, to, nullptr);
  return init(way.comm, 2, id, device_ == from ? 0 : 1);
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
  std::unique_lock calls = enterNccl();
  bool sends = device_ == message.from;
  NcclResult result =
      message.bytes == 0 ? NcclResult::success
      : sends            ? nccl().send(data, message.bytes, NcclType::i8, 1, *comm, queue.stream())
                         : nccl().recv(data, message.bytes, NcclType::i8, 0, *comm, queue.stream());
  const char *call = sends ? "ncclSend" : "ncclRecv";
  Status status = checkNccl(nccl(), result, call, *comm);
  if (status && result == NcclResult::inProgress)
    status = settle(*comm, call);
  if (!status)
    unfinished_ = true;
  return status;
}

Status CudaWorld::End::send(Queue &queue, const MessageProblem &message, const void *data,
                            uint32_t location) {
  MINIGPTC_RETURN_IF_ERROR(world_.meetings_ ? world_.meetings_->send(message, nullptr, location)
                                            : world_.failure());
  return submit(static_cast<CudaQueue &>(queue), message, const_cast<void *>(data));
}

Status CudaWorld::End::receive(Queue &queue, const MessageProblem &message, void *data,
                               uint32_t location) {
  MINIGPTC_RETURN_IF_ERROR(world_.meetings_ ? world_.meetings_->receive(message, nullptr, location)
                                            : world_.failure());
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
  std::unique_lock calls = enterNccl();
  CollectiveMember member{*context_, *comm, problem.group.rankOf(device_), queue.stream(),
                          *staging};
  if (calls)
    member.settle = [&] { return settle(*comm, "ncclGroupEnd"); };
  return submitCollective(member, problem, inputs, outputs);
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

Status CudaWorld::End::meetAll() {
  int64_t all = int64_t(world_.ends_.size());
  MINIGPTC_RETURN_IF_ERROR(world_.meet(device_, {{1}, {all}}, nullptr, {}));
  unfinished_ = true; // Until the run's end.
  return {};
}

/// From here on its thread waits for the GPU, which may wait for that of a device whose thread
/// waits for this one.
void CudaWorld::End::submittedAll() {
  if (world_.meetings_)
    world_.meetings_->finish(device_, {});
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
  std::unique_lock calls(calls_, std::defer_lock);
  if (world_.store() && !calls.try_lock())
    return {}; // Who is inside looks for itself.
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

} // namespace minigptc::runtime::cuda
