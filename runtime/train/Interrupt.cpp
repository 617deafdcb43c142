#include "runtime/train/Interrupt.h"

#include <cerrno>
#include <unistd.h>

namespace minigptc::runtime {
namespace {

volatile std::sig_atomic_t signalsSeen = 0;

void onSignal(int) {
  int saved = errno;
  if (signalsSeen > 0)
    _exit(130);
  signalsSeen = 1;
  constexpr char text[] = "\nstopping after this step (once more: at once)\n";
  (void)!::write(STDERR_FILENO, text, sizeof text - 1);
  errno = saved;
}

} // namespace

InterruptGuard::InterruptGuard(bool install) : installed_(install) {
  signalsSeen = 0;
  if (!install)
    return;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &oldInterrupt_);
  sigaction(SIGTERM, &action, &oldTerminate_);
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, &oldFileSize_);
}

InterruptGuard::~InterruptGuard() {
  if (!installed_)
    return;
  sigaction(SIGINT, &oldInterrupt_, nullptr);
  sigaction(SIGTERM, &oldTerminate_, nullptr);
  sigaction(SIGXFSZ, &oldFileSize_, nullptr);
}

bool InterruptGuard::requested() { return signalsSeen > 0; }

} // namespace minigptc::runtime
