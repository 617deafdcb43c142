#include "runtime/collectives/InProcess.h"

#include "runtime/base/Spin.h"
#include "runtime/collectives/CollectiveWork.h"
#include "runtime/hal/Device.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace minigptc::runtime {

/// One device's end.
class InProcessWorld::End final : public Communicator {
public:
  End(InProcessWorld &world, int64_t device) : world_(world), device_(device) {}
  int64_t device() const override { return device_; }
  Status run(Queue &queue, const CollectiveProblem &problem, std::span<void *const> inputs,
             std::span<void *const> outputs, const CollectiveSite &site) override;
  Status send(Queue &queue, const MessageProblem &message, const void *data,
              uint32_t location) override;
  Status receive(Queue &queue, const MessageProblem &message, void *data,
                 uint32_t location) override;
  Status meet(const DeviceGroup &group, const CollectiveProblem *problem,
              const CollectiveSite &site);

private:
  Meeting &meetingOf(const DeviceGroup &group);

  InProcessWorld &world_;
  int64_t device_;
  std::vector<std::pair<DeviceGroup, Meeting *>> meetings_; ///< this device's, so far
  std::vector<const void *> inputs_;                        ///< of one operand, by rank
  std::vector<void *> outputs_;
};

/// Looked up without the lock, and without memory, from the second time on.
InProcessWorld::Meeting &InProcessWorld::End::meetingOf(const DeviceGroup &group) {
  for (auto &[known, meeting] : meetings_)
    if (known == group)
      return *meeting;
  return *meetings_.emplace_back(group, &world_.meetingOf(device_, group)).second;
}

Status InProcessWorld::End::run(Queue &queue, const CollectiveProblem &problem,
                                std::span<void *const> inputs, std::span<void *const> outputs,
                                const CollectiveSite &site) {
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize()); // Others read what the queue wrote.
  Meeting &meeting = meetingOf(problem.group);
  int64_t rank = problem.group.rankOf(device_);
  Visit &mine = meeting.visits[size_t(rank)]; // Nobody looks at it before we have come.
  mine.problem = &problem;
  mine.inputs.assign(inputs.begin(), inputs.end());
  mine.outputs.assign(outputs.begin(), outputs.end());
  mine.site = site;
  MINIGPTC_RETURN_IF_ERROR(world_.meet(meeting, device_, rank, /*entering=*/true));
  inputs_.resize(meeting.visits.size());
  outputs_.resize(meeting.visits.size());
  for (size_t operand = 0; operand < problem.operands.size(); ++operand) {
    for (size_t r = 0; r < meeting.visits.size(); ++r) {
      inputs_[r] = meeting.visits[r].inputs[operand];
      outputs_[r] = meeting.visits[r].outputs[operand];
    }
    doShare(problem, operand, rank, inputs_, outputs_);
  }
  return world_.meet(meeting, device_, rank, /*entering=*/false);
}

Status InProcessWorld::End::meet(const DeviceGroup &group, const CollectiveProblem *problem,
                                 const CollectiveSite &site) {
  Meeting &meeting = meetingOf(group);
  int64_t rank = group.rankOf(device_);
  Visit &mine = meeting.visits[size_t(rank)];
  mine.problem = problem;
  mine.site = site;
  return world_.meet(meeting, device_, rank, /*entering=*/true);
}

Status InProcessWorld::End::send(Queue &queue, const MessageProblem &message, const void *data,
                                 uint32_t location) {
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize()); // Here is read what the queue wrote.
  return world_.send(message, data, location);
}

/// What the queue has may still read what the message overwrites.
Status InProcessWorld::End::receive(Queue &queue, const MessageProblem &message, void *data,
                                    uint32_t location) {
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
  return world_.receive(message, data, location);
}

InProcessWorld::InProcessWorld(int64_t devices, InProcessOptions options)
    : options_(std::move(options)), states_(size_t(devices)) {
  for (int64_t device = 0; device < devices; ++device)
    ends_.push_back(std::make_unique<End>(*this, device));
}

InProcessWorld::~InProcessWorld() = default;

Communicator &InProcessWorld::end(int64_t device) { return *ends_[size_t(device)]; }

Status InProcessWorld::meet(int64_t device, const DeviceGroup &group,
                            const CollectiveProblem *problem, const CollectiveSite &site) {
  return ends_[size_t(device)]->meet(group, problem, site);
}

void InProcessWorld::begin() {
  std::lock_guard lock(mutex_);
  failed_ = false;
  failure_ = {};
  for (DeviceState &state : states_)
    state.state = State::running;
  for (auto &[key, meeting] : meetings_) { // A failed run may have left some half done.
    meeting->arrived = 0;
    std::fill(meeting->here.begin(), meeting->here.end(), 0);
  }
  for (auto &[key, mailbox] : mailboxes_)
    mailbox->full = false;
}

void InProcessWorld::finish(int64_t device, const Status &status) {
  std::lock_guard lock(mutex_);
  states_[size_t(device)].state = State::finished;
  if (!status)
    failNow(status);
  else
    failIfStuck(device);
}

void InProcessWorld::fail(Status status) {
  std::lock_guard lock(mutex_);
  failNow(std::move(status));
}

Status InProcessWorld::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

InProcessWorld::Meeting &InProcessWorld::meetingOf(int64_t device, const DeviceGroup &group) {
  std::lock_guard lock(mutex_);
  int64_t first = group.memberOf(device, 0);
  std::unique_ptr<Meeting> &meeting = meetings_[{group.strides, group.sizes, first}];
  if (!meeting) {
    meeting = std::make_unique<Meeting>();
    for (int64_t rank = 0; rank < group.size(); ++rank)
      meeting->members.push_back(group.memberOf(device, rank));
    meeting->visits.resize(meeting->members.size());
    meeting->here.resize(meeting->members.size());
  }
  return *meeting;
}

Status InProcessWorld::meet(Meeting &meeting, int64_t device, int64_t rank, bool entering) {
  std::unique_lock lock(mutex_);
  DeviceState &state = states_[size_t(device)];
  if (failed_)
    return failure_;
  meeting.here[size_t(rank)] = 1;
  if (++meeting.arrived < meeting.members.size()) {
    state.state = State::waiting;
    state.wait = {.meeting = &meeting};
    failIfStuck(device);
    return await(lock, meeting.generation, meeting.changed);
  }
  Status agreed = entering ? checkAgreement(meeting) : Status();
  if (!agreed) {
    failNow(agreed);
    return agreed;
  }
  meeting.arrived = 0;
  std::fill(meeting.here.begin(), meeting.here.end(), 0);
  for (int64_t member : meeting.members)
    states_[size_t(member)].state = State::running;
  ++meeting.generation;
  lock.unlock();
  meeting.changed.notify_all();
  return {};
}

/// Until the generation of a meeting or a mailbox is another one than now. The lock is held on
/// entry.
Status InProcessWorld::await(std::unique_lock<std::mutex> &lock,
                             const std::atomic<uint64_t> &generation,
                             std::condition_variable &changed) {
  uint64_t seen = generation;
  auto over = [&] { return generation != seen || failed_; };
  if (options_.spinMicroseconds > 0) {
    lock.unlock();
    spinUntil(options_.spinMicroseconds, over);
    lock.lock();
  }
  changed.wait(lock, over);
  // Who came after all is not to be told of somebody else's failure in between.
  return generation != seen ? Status() : failure_;
}

void InProcessWorld::failNow(Status status) {
  if (failed_)
    return;
  failure_ = std::move(status);
  failed_ = true;
  for (auto &[key, meeting] : meetings_)
    meeting->changed.notify_all();
  for (auto &[key, mailbox] : mailboxes_)
    mailbox->changed.notify_all();
}

/// Somebody waits here for that member.
bool InProcessWorld::isMissing(const Meeting &meeting, size_t rank) const {
  return meeting.arrived > 0 && !meeting.here[rank];
}

/// To be called when `device` has begun to wait, or has ended: if somebody can never go on
/// since then, it waits for that device, at once or by way of others.
void InProcessWorld::failIfStuck(int64_t device) {
  const DeviceState &state = states_[size_t(device)];
  if (failed_)
    return;
  if (state.state == State::waiting) {
    std::vector<Wait> reached;
    const Wait &wait = state.wait;
    if (isStuck(device, reached))
      failNow(!reached.empty() ? waitingForEachOther(reached)
              : wait.meeting   ? missing(*wait.meeting)
                               : missing(*wait.mailbox, wait.sends));
    return;
  }
  for (const auto &[key, mailbox] : mailboxes_) {
    if (mailbox->to == device && mailbox->full)
      return failNow(leftBehind(*mailbox));
    if (mailbox->from == device && states_[size_t(mailbox->to)].state == State::waiting &&
        states_[size_t(mailbox->to)].wait == Wait{.mailbox = mailbox.get()})
      return failNow(missing(*mailbox, /*sends=*/false));
  }
  for (const auto &[key, meeting] : meetings_)
    for (size_t rank = 0; rank < meeting->members.size(); ++rank)
      if (meeting->members[rank] == device && isMissing(*meeting, rank))
        return failNow(missing(*meeting));
}

/// Who has to come, or to go on, for the wait to end.
std::vector<int64_t> InProcessWorld::awaitedBy(const Wait &wait) const {
  if (wait.mailbox)
    return {wait.sends ? wait.mailbox->to : wait.mailbox->from};
  std::vector<int64_t> devices;
  for (size_t rank = 0; rank < wait.meeting->members.size(); ++rank)
    if (isMissing(*wait.meeting, rank))
      devices.push_back(wait.meeting->members[rank]);
  return devices;
}

/// Whether `device` waits for one that has ended (`reached` is empty then), or for one that waits
/// where `device` does, by way of the waits in `reached`.
bool InProcessWorld::isStuck(int64_t device, std::vector<Wait> &reached) const {
  reached = {states_[size_t(device)].wait};
  bool cycle = false;
  for (size_t next = 0; next < reached.size(); ++next)
    for (int64_t awaited : awaitedBy(reached[next])) {
      const DeviceState &state = states_[size_t(awaited)];
      if (state.state == State::running)
        continue;
      if (state.state == State::finished) { // Of `device`: others would have failed before.
        reached.clear();
        return true;
      }
      cycle |= state.wait == reached.front();
      if (std::ranges::find(reached, state.wait) == reached.end())
        reached.push_back(state.wait);
    }
  return cycle;
}

Status InProcessWorld::checkAgreement(const Meeting &meeting) {
  const Visit &first = meeting.visits.front();
  for (size_t r = 1; r < meeting.visits.size(); ++r) {
    const Visit &other = meeting.visits[r];
    bool same = other.problem && first.problem ? *other.problem == *first.problem
                                               : other.problem == first.problem;
    if (same && other.site.instruction == first.site.instruction)
      continue;
    return Status(StatusCode::internal, "device " + std::to_string(meeting.members.front()) +
                                            " is in " + describeVisit(first) + ", but device " +
                                            std::to_string(meeting.members[r]) + " in " +
                                            describeVisit(other));
  }
  return {};
}

std::string InProcessWorld::describeVisit(const Visit &visit) const {
  if (!visit.problem)
    return "the recording or replay of a step";
  return visit.problem->describe() + at(visit.site.location);
}

/// " at FILE:LINE", or nothing.
std::string InProcessWorld::at(uint32_t location) const {
  std::string place = options_.placeOf ? options_.placeOf(location) : "";
  return place.empty() ? "" : " at " + place;
}

/// "device 3", "devices 0, 1, 2"; of many, some.
static std::string listed(const std::vector<int64_t> &devices) {
  constexpr size_t kShown = 16;
  std::string text = devices.size() == 1 ? "device " : "devices ";
  for (size_t i = 0; i < std::min(devices.size(), kShown); ++i)
    text += (i ? ", " : "") + std::to_string(devices[i]);
  return devices.size() > kShown ? text + " and others" : text;
}

/// "device 2 has ended and does not come to all_reduce … at FILE:LINE, where devices 0, 1 wait".
Status InProcessWorld::missing(const Meeting &meeting) const {
  std::vector<int64_t> waiting, absent;
  const Visit *visit = nullptr;
  for (size_t r = 0; r < meeting.members.size(); ++r) {
    int64_t member = meeting.members[r];
    if (meeting.here[r]) {
      visit = &meeting.visits[r];
      waiting.push_back(member);
    } else if (states_[size_t(member)].state == State::finished) {
      absent.push_back(member);
    }
  }
  bool one = absent.size() == 1;
  return Status(StatusCode::internal,
                listed(absent) + (one ? " has ended and does" : " have ended and do") +
                    " not come to " + describeVisit(*visit) + ", where " + listed(waiting) +
                    (waiting.size() == 1 ? " waits" : " wait"));
}

/// "devices wait for each other: devices 0, 3 in all_reduce … at FILE:LINE; device 1 in …".
Status InProcessWorld::waitingForEachOther(const std::vector<Wait> &waits) const {
  std::map<int64_t, std::string> places;
  for (const auto &[meeting, mailbox, sends] : waits) {
    if (mailbox)
      places[sends ? mailbox->from : mailbox->to] =
          (sends ? "the sending of " : "the receiving of ") + mailbox->wanted->describe() +
          at(mailbox->wantedAt);
    for (size_t r = 0; meeting && r < meeting->members.size(); ++r)
      if (meeting->here[r])
        places[meeting->members[r]] = describeVisit(meeting->visits[r]);
  }
  std::string text;
  while (!places.empty()) {
    std::string place = places.begin()->second;
    std::vector<int64_t> devices;
    std::erase_if(places, [&](const auto &entry) {
      if (entry.second == place)
        devices.push_back(entry.first);
      return entry.second == place;
    });
    text += (text.empty() ? "" : "; ") + listed(devices) + " in " + place;
  }
  return Status(StatusCode::internal, "devices wait for each other: " + text);
}

} // namespace minigptc::runtime
