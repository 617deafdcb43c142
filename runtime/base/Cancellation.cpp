#include "runtime/base/Cancellation.h"

#include <atomic>
#include <csignal>

namespace minigptc::runtime {

static std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

bool cancellationRequested() { return requested.load(std::memory_order_relaxed); }
void requestCancellation() { requested.store(true, std::memory_order_relaxed); }
void clearCancellation() { requested.store(false, std::memory_order_relaxed); }

void cancelOnSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { requestCancellation(); };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &action, nullptr);
}

} // namespace minigptc::runtime
