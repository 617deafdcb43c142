#include "runtime/base/Cancellation.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace minigptc::runtime {

static std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

bool cancellationRequested() { return requested.load(std::memory_order_relaxed); }
void requestCancellation() { requested.store(true, std::memory_order_relaxed); }
void clearCancellation() { requested.store(false, std::memory_order_relaxed); }

static void handleSignals(std::initializer_list<int> signals, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (int signal : signals)
    sigaction(signal, &action, nullptr);
}

static std::atomic<const char *> endMessage{""};
static_assert(std::atomic<const char *>::is_always_lock_free, "read in a signal handler");

/// What a signal handler may do: no stdio, no destructors.
static void endProcess(int) {
  const char *message = endMessage.load();
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, message, std::strlen(message));
  _exit(130);
}

void endOnSignals(const char *message) {
  endMessage.store(message);
  handleSignals({SIGINT, SIGTERM}, endProcess);
}

void cancelOnSignals(const char *again) {
  endMessage.store(again);
  handleSignals({SIGINT, SIGTERM}, [](int signal) {
    requestCancellation();
    handleSignals({signal}, endProcess);
  });
}

} // namespace minigptc::runtime
