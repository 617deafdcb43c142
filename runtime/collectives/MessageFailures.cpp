#include "runtime/collectives/MessageFailures.h"

namespace minigptc::runtime {

static std::string device(int64_t number) { return "device " + std::to_string(number); }

Status notSent(const MessageProblem &expected, const std::string &at) {
  return Status(StatusCode::internal, device(expected.from) + " has ended and does not send " +
                                          expected.describe() + ", which " + device(expected.to) +
                                          " expects" + at);
}

Status notReceived(int64_t receiver, const SentMessage &sent) {
  return Status(StatusCode::internal, device(receiver) + " has ended and does not receive " +
                                          sent.what + ", sent" + sent.at);
}

Status notExpected(const MessageProblem &expected, const std::string &at, const SentMessage &sent) {
  return Status(StatusCode::internal, device(expected.to) + " expects " + expected.describe() + at +
                                          ", but " + device(expected.from) + " has sent " +
                                          sent.what + sent.at);
}

} // namespace minigptc::runtime
