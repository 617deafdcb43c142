#include "runtime/collectives/RemoteMailbox.h"

#include "runtime/collectives/MessageFailures.h"

#include <cstring>

namespace minigptc::runtime {

/// In place of a message: there are no more.
static constexpr std::string_view kEnd = "end";

/// What it is and where it was sent, in one text and back.
static std::string toText(const SentMessage &sent) { return sent.what + "\n" + sent.at; }
static SentMessage fromText(const std::string &text) {
  size_t line = text.find('\n');
  return {text.substr(0, line), line == std::string::npos ? "" : text.substr(line + 1)};
}

std::string RemoteMailbox::keyOf(const char *kind, int64_t number) const {
  return name_ + kind + std::to_string(number);
}

void RemoteMailbox::begin(const std::string &run) {
  name_ = run + std::to_string(ends_.from) + ">" + std::to_string(ends_.to) + "/";
  number_ = 0;
}

Status RemoteMailbox::awaitReceipt() {
  if (number_ == 0)
    return {};
  return group_
      .receive(ends_.process, keyOf("receipt ", number_ - 1), 1,
               "the receiving of messages from device " + std::to_string(ends_.from))
      .status();
}

Status RemoteMailbox::send(const MessageProblem &message, const void *data, const std::string &at) {
  MINIGPTC_RETURN_IF_ERROR(awaitReceipt());
  std::span<const std::byte> bytes(static_cast<const std::byte *>(data), size_t(message.bytes));
  return group_.send(ends_.process, keyOf("", number_++), toText({message.describe(), at}),
                     std::span(&bytes, 1));
}

RemoteMailbox::Delivery RemoteMailbox::take(const std::string &why) {
  Delivery delivery = group_.receive(ends_.process, keyOf("", number_), 1, why);
  ++number_;
  return delivery;
}

Status RemoteMailbox::receive(const MessageProblem &message, void *data, const std::string &at) {
  Delivery delivery = take("the sending of " + message.describe());
  if (!delivery)
    return delivery.status();
  const ProcessMessage &taken = **delivery;
  if (taken.text == kEnd)
    return notSent(message, at);
  SentMessage sent = fromText(taken.text);
  if (sent.what != message.describe() || taken.data.size() != message.bytes)
    return notExpected(message, at, sent);
  if (message.bytes)
    std::memcpy(data, taken.data.data(), size_t(message.bytes));
  return group_.send(ends_.process, keyOf("receipt ", number_ - 1), "", {});
}

void RemoteMailbox::sayEnd() {
  if (ends_.sends)
    said_ = group_.send(ends_.process, keyOf("", number_), kEnd, {});
}

Status RemoteMailbox::checkEnd() {
  if (ends_.sends) {
    MINIGPTC_RETURN_IF_ERROR(said_);
    return awaitReceipt();
  }
  Delivery delivery = take("the end of device " + std::to_string(ends_.from));
  if (!delivery)
    return delivery.status();
  const std::string &text = (*delivery)->text;
  return text == kEnd ? Status() : notReceived(ends_.to, fromText(text));
}

} // namespace minigptc::runtime
