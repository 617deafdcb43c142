//===- Cancellation.h - the user asks the process to stop -------*- C++ -*-===//
//
//   int main() {
//     endOnSignals("tool: error: interrupted\n");
//     ...
//   cancelOnSignals();                      // Ctrl-C, SIGTERM
//   while (step < steps && !cancellationRequested()) ...
//
// One flag for the process. Work ends at the next point where its state is whole: the
// training loop between two steps, an entry function between two instructions, unless
// it has begun to overwrite its donated inputs. The second signal of a kind ends the process at
// once.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_CANCELLATION_H
#define MINIGPTC_RUNTIME_BASE_CANCELLATION_H

namespace minigptc::runtime {

bool cancellationRequested();
/// Safe from any thread and from signal handlers.
void requestCancellation();
/// Forgets a request (an application that goes on; tests).
void clearCancellation();
/// From now on SIGINT and SIGTERM end the process at once, with `message` on stderr and exit
/// status 130: for as long as there is nothing to be saved. `message` lives as long as the process.
void endOnSignals(const char *message);
/// SIGINT and SIGTERM request cancellation once; the next of the kind ends the process as
/// `endOnSignals(again)` does.
void cancelOnSignals(const char *again = "minigptc: error: interrupted again\n");

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_CANCELLATION_H
