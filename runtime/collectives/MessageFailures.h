//===- MessageFailures.h - why a message does not arrive --------*- C++ -*-===//
//
// Told with both ends. `at` is " at FILE:LINE", or nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_MESSAGEFAILURES_H
#define MINIGPTC_RUNTIME_COLLECTIVES_MESSAGEFAILURES_H

#include "runtime/hal/Communicator.h"

namespace minigptc::runtime {

/// What a device has sent, in words: it may be of another process.
struct SentMessage {
  std::string what; ///< MessageProblem::describe
  std::string at;
};

/// The sender has ended.
Status notSent(const MessageProblem &expected, const std::string &at);
/// The receiver has.
Status notReceived(int64_t receiver, const SentMessage &sent);
Status notExpected(const MessageProblem &expected, const std::string &at, const SentMessage &sent);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_MESSAGEFAILURES_H
