// Messages of an InProcessWorld: through mailboxes.
#include "runtime/collectives/InProcess.h"

#include <cstring>

namespace minigptc::runtime {

InProcessWorld::Mailbox &InProcessWorld::mailboxOf(int64_t from, int64_t to) {
  std::unique_ptr<Mailbox> &mailbox = mailboxes_[{from, to}];
  if (!mailbox) {
    mailbox = std::make_unique<Mailbox>();
    mailbox->from = from;
    mailbox->to = to;
  }
  return *mailbox;
}

/// Until a message is there, or (to send one) none is. Success, or why it will never be so.
Status InProcessWorld::awaitMailbox(std::unique_lock<std::mutex> &lock, Mailbox &mailbox,
                                    bool sends, const MessageProblem &message, uint32_t location) {
  if (failed_)
    return failure_;
  if (mailbox.full != sends)
    return {};
  int64_t device = sends ? mailbox.from : mailbox.to;
  mailbox.wanted = &message;
  mailbox.wantedAt = location;
  DeviceState &state = states_[size_t(device)];
  state.state = State::waiting;
  state.wait = {.mailbox = &mailbox, .sends = sends};
  failIfStuck(device);
  return await(lock, mailbox.generation, mailbox.changed);
}

void InProcessWorld::change(Mailbox &mailbox, bool full) {
  mailbox.full = full;
  ++mailbox.generation;
  for (int64_t device : {mailbox.from, mailbox.to}) {
    DeviceState &state = states_[size_t(device)];
    if (state.state == State::waiting && state.wait.mailbox == &mailbox)
      state.state = State::running;
  }
  mailbox.changed.notify_all();
  if (full && states_[size_t(mailbox.to)].state == State::finished)
    failNow(leftBehind(mailbox));
}

/// The mailbox is the sender's until it is full, the receiver's until it is empty: both copy
/// without the lock.
Status InProcessWorld::send(const MessageProblem &message, const void *data, uint32_t location) {
  std::unique_lock lock(mutex_);
  Mailbox &mailbox = mailboxOf(message.from, message.to);
  MINIGPTC_RETURN_IF_ERROR(awaitMailbox(lock, mailbox, /*sends=*/true, message, location));
  lock.unlock();
  if (data && mailbox.bytes.size() < message.bytes)
    mailbox.bytes.resize(message.bytes);
  if (data && message.bytes)
    std::memcpy(mailbox.bytes.data(), data, message.bytes);
  lock.lock();
  mailbox.message = message;
  mailbox.location = location;
  change(mailbox, /*full=*/true);
  return failed_ ? failure_ : Status();
}

Status InProcessWorld::receive(const MessageProblem &message, void *data, uint32_t location) {
  std::unique_lock lock(mutex_);
  Mailbox &mailbox = mailboxOf(message.from, message.to);
  MINIGPTC_RETURN_IF_ERROR(awaitMailbox(lock, mailbox, /*sends=*/false, message, location));
  if (!(mailbox.message == message)) {
    failNow(unexpected(mailbox, message, location));
    return failure_;
  }
  lock.unlock();
  if (data && message.bytes)
    std::memcpy(data, mailbox.bytes.data(), message.bytes);
  lock.lock();
  change(mailbox, /*full=*/false);
  return {};
}

/// "device 0 has ended and does not send message 3 …, which device 2 expects at FILE:LINE".
Status InProcessWorld::missing(const Mailbox &mailbox, bool sends) const {
  std::string other = std::to_string(sends ? mailbox.to : mailbox.from);
  return Status(StatusCode::internal, "device " + other + " has ended and does not " +
                                          (sends ? "receive " : "send ") +
                                          mailbox.wanted->describe() + ", which device " +
                                          std::to_string(sends ? mailbox.from : mailbox.to) +
                                          (sends ? " sends" : " expects") + at(mailbox.wantedAt));
}

Status InProcessWorld::leftBehind(const Mailbox &mailbox) const {
  return Status(StatusCode::internal,
                "device " + std::to_string(mailbox.to) + " has ended and does not receive " +
                    mailbox.message.describe() + ", sent" + at(mailbox.location));
}

Status InProcessWorld::unexpected(const Mailbox &mailbox, const MessageProblem &message,
                                  uint32_t location) const {
  return Status(StatusCode::internal, "device " + std::to_string(mailbox.to) + " expects " +
                                          message.describe() + at(location) + ", but device " +
                                          std::to_string(mailbox.from) + " has sent " +
                                          mailbox.message.describe() + at(mailbox.location));
}

} // namespace minigptc::runtime
