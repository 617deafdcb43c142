#include "runtime/base/Cancellation.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace minigptc::runtime {

static std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

bool cancellationRequested() { return requested.load(std::memory_order_relaxed); }
void requestCancellation() { requested.store(true, std::memory_order_relaxed); }
void clearCancellation() { requested.store(false, std::memory_order_relaxed); }

static void handleSignals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &action, nullptr);
}

static const char *endMessage = "";
static size_t endMessageSize = 0;

void endOnSignals(const char *message) {
  endMessage = message;
  endMessageSize = std::strlen(message);
  handleSignals([](int) { // What a signal handler may do: no stdio, no destructors.
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, endMessage, endMessageSize);
    _exit(130);
  });
}

void cancelOnSignals() {
  handleSignals([](int) { requestCancellation(); });
}

} // namespace minigptc::runtime
