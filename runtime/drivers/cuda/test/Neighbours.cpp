#include "runtime/drivers/cuda/test/Neighbours.h"

#include <algorithm>
#include <random>

namespace minigptc::runtime::cuda::test {

/// Beats within the patience.
static constexpr int kBeats = 8;

static uint64_t drawOrigin() {
  std::random_device random;
  return uint64_t(random()) << 32 | random();
}

Neighbours::Neighbours(Machine &machine)
    : machine_(machine), self_(drawOrigin()), thread_([this] { beat(); }) {}

Neighbours::~Neighbours() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
  for (const auto &link : links_)
    link->stop();
}

void Neighbours::add(std::shared_ptr<PeerLink> link) {
  std::lock_guard lock(mutex_);
  std::erase_if(links_, [](const auto &old) { return old->isOver(); });
  links_.push_back(std::move(link));
}

void Neighbours::tellAll(uint64_t origin, uint64_t beats) {
  for (const auto &link : links_)
    link->send({.kind = PeerMessage::beat, .origin = origin, .beats = beats});
}

bool Neighbours::hear(uint64_t origin, uint64_t beats) {
  std::lock_guard lock(mutex_);
  if (origin == self_ || heard_[origin] >= beats)
    return false;
  heard_[origin] = beats;
  tellAll(origin, beats);
  return true;
}

/// Who holds the machine does something.
void Neighbours::beat() {
  auto period =
      std::chrono::milliseconds(std::max(machine_.options.patienceMilliseconds / kBeats, 1));
  uint64_t seen = 0, beats = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period, [&] { return stop_; })) {
    lock.unlock(); // Who holds the machine may want this.
    bool active = true;
    if (std::unique_lock inside(machine_.mutex, std::try_to_lock); inside)
      active = machine_.work() != std::exchange(seen, machine_.work());
    lock.lock();
    if (active)
      tellAll(self_, ++beats);
  }
}

} // namespace minigptc::runtime::cuda::test
