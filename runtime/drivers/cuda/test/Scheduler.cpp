// Which pending operation runs next, and what happens when none can.
#include "runtime/drivers/cuda/test/Spread.h"

#include <algorithm>

namespace minigptc::runtime::cuda::test {

/// Operations after which the order of streams is drawn anew.
static constexpr uint64_t kPhase = 5;
/// Every such seed runs what it can at once instead of as late as possible.
static constexpr uint64_t kEagerSeeds = 4;

uint64_t mixBits(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

std::shared_ptr<Lane> Machine::makeLane(int device, const std::string &name) {
  auto lane = std::make_shared<Lane>();
  lane->number = lanesMade++;
  lane->device = device;
  lane->name = name;
  std::erase_if(lanes,
                [](const auto &old) { return old.use_count() == 1 && old->pending.empty(); });
  lanes.push_back(lane);
  return lane;
}

std::shared_ptr<Operation> Machine::submit(Lane &lane, std::shared_ptr<const Work> work,
                                           const std::vector<std::shared_ptr<Operation>> &after) {
  auto operation = std::make_shared<Operation>();
  lane.clock.join(host);
  for (const auto &other : after) {
    lane.clock.join(other->clock);
    if (!other->done)
      operation->after.push_back(other);
  }
  operation->time = lane.clock.advance(lane.number);
  operation->clock = lane.clock;
  operation->work = std::move(work);
  operation->lane = &lane;
  operation->laneNumber = lane.number;
  operation->device = lane.device;
  operation->number = ++submissions;
  operation->name = std::make_shared<const std::string>(operation->work->label + " (number " +
                                                        std::to_string(operation->time) + " of " +
                                                        lane.name + ")");
  lane.pending.push_back(operation);
  lane.last = operation;
  if (operation->work->pinned)
    pinned.begin(operation);
  if (const auto &module = operation->work->module)
    module->uses.push_back(operation);
  if (const auto &unit = operation->work->collective)
    unit->submitted(operation);
  changed.notify_all();
  if (options.seed && options.seed % kEagerSeeds == 0)
    drain();
  return operation;
}

std::vector<std::shared_ptr<Operation>> Machine::implicitOrder(const StreamState &stream) {
  std::vector<std::shared_ptr<Operation>> after;
  StreamState &standard = devices[size_t(stream.device)]->defaultStream;
  if (&stream == &standard) {
    for (const auto &[handle, other] : streams.all())
      if (other->device == stream.device && !other->nonBlocking && other->lane->last)
        after.push_back(other->lane->last);
  } else if (!stream.nonBlocking && standard.lane->last) {
    after.push_back(standard.lane->last);
  }
  return after;
}

bool Machine::isAtHead(const Operation &operation) const {
  return operation.lane->pending.front().get() == &operation &&
         std::all_of(operation.after.begin(), operation.after.end(),
                     [](const auto &other) { return other->done; });
}

bool Machine::canRun(Operation &operation, std::vector<Operation *> &together) {
  together = {&operation};
  for (size_t i = 0; i < together.size(); ++i) {
    if (!isAtHead(*together[i]))
      return false;
    const auto &unit = together[i]->work->collective;
    std::vector<Operation *> partners;
    if (unit && !unit->addPartners(*together[i], partners))
      return false;
    for (Operation *partner : partners)
      if (std::find(together.begin(), together.end(), partner) == together.end())
        together.push_back(partner);
  }
  return true;
}

uint64_t Machine::priority(const Lane &lane, const Operation &operation) const {
  if (!options.seed)
    return ~operation.number; // The oldest first.
  return mixBits(mixBits(options.seed + executions / kPhase) + lane.number);
}

bool Machine::step() {
  std::vector<Operation *> heads;
  for (const auto &lane : lanes)
    if (!lane->pending.empty())
      heads.push_back(lane->pending.front().get());
  std::sort(heads.begin(), heads.end(), [&](const Operation *a, const Operation *b) {
    return priority(*a->lane, *a) > priority(*b->lane, *b);
  });
  std::vector<Operation *> together;
  for (Operation *head : heads)
    if (canRun(*head, together)) {
      run(together);
      return true;
    }
  return false;
}

void Machine::run(const std::vector<Operation *> &together) {
  ++executions;
  std::vector<std::shared_ptr<Operation>> alive;
  for (Operation *operation : together)
    alive.push_back(operation->lane->pending.front());
  const Work &work = *together.front()->work;
  if (work.collective)
    work.collective->run(together);
  else if (work.run)
    work.run(*together.front());
  for (const auto &operation : alive) {
    operation->done = true;
    operation->finished = std::chrono::steady_clock::now();
    operation->after.clear();
    operation->lane->pending.pop_front();
    operation->lane = nullptr;
  }
  changed.notify_all();
}

void Machine::drain() {
  while (step())
    ;
}

void Machine::hostKnows(const VectorClock &clock) {
  host.join(clock);
  pinned.settle(host, [&](const Operation &operation, bool write) {
    reportHostAccess(operation, write);
  });
}

void Machine::reportHostAccess(const Operation &operation, bool write) {
  report(HazardKind::hostAccess, std::string("the host ") + (write ? "writes" : "reads") +
                                     " memory of " + *operation.name +
                                     " without having synchronised with it");
}

void Machine::progress(Lock &lock) {
  if (step())
    return;
  uint64_t seen = work() + messages;
  if (!waitFor(lock, [&] { return work() + messages != seen; }))
    reportStuck();
}

void Machine::awaitDevices(Lock &lock, const std::vector<int> &numbers) {
  auto hasWork = [&](const std::shared_ptr<Lane> &lane) {
    return !lane->pending.empty() && std::ranges::find(numbers, lane->device) != numbers.end();
  };
  while (std::ranges::any_of(lanes, hasWork))
    progress(lock);
}

Result Machine::synchronise(Lock &lock, const std::shared_ptr<Operation> &operation) {
  while (operation && !operation->done)
    progress(lock);
  if (operation)
    hostKnows(operation->clock);
  return failed ? Result::launchFailed : Result::success;
}

bool Machine::waitFor(Lock &lock, const std::function<bool()> &reached) {
  return waitFor(lock, reached, std::chrono::milliseconds(options.patienceMilliseconds));
}

bool Machine::waitFor(Lock &lock, const std::function<bool()> &reached,
                      std::chrono::milliseconds time) {
  return changed.wait_for(lock, time, reached);
}

void Machine::reportStuck() {
  std::vector<std::shared_ptr<Operation>> stuck;
  for (const auto &lane : lanes)
    if (!lane->pending.empty() && lane->pending.front()->work->collective)
      stuck.push_back(lane->pending.front());
  bool someoneMissing = false;
  for (const auto &operation : stuck) {
    std::string missing = operation->work->collective->missing(*operation);
    someoneMissing |= !missing.empty();
    if (!missing.empty())
      report(HazardKind::missingRank, *operation->name + " waits for ever: " + missing);
  }
  std::string order;
  for (const auto &operation : stuck)
    order += (order.empty() ? "" : ", ") + *operation->name;
  if (std::string elsewhere = waitingElsewhere(*this); !elsewhere.empty())
    order += "; " + elsewhere;
  if (!someoneMissing)
    report(HazardKind::collectiveMismatch,
           "every rank waits for another, as they call in different orders: " + order);
  for (const auto &operation : stuck)
    operation->work->collective->giveUp();
}

} // namespace minigptc::runtime::cuda::test
