// Messages of an InProcessWorld: through mailboxes.
#include "runtime/collectives/InProcess.h"
#include "runtime/collectives/MessageFailures.h"

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

/// Of a message that is waited for. One that is to be sent is not yet, for want of room.
Status InProcessWorld::missing(const Mailbox &mailbox, bool sends) const {
  std::string at = this->at(mailbox.wantedAt);
  return sends ? notReceived(mailbox.to, {mailbox.wanted->describe(), at})
               : notSent(*mailbox.wanted, at);
}

Status InProcessWorld::leftBehind(const Mailbox &mailbox) const {
  return notReceived(mailbox.to, {mailbox.message.describe(), at(mailbox.location)});
}

Status InProcessWorld::unexpected(const Mailbox &mailbox, const MessageProblem &message,
                                  uint32_t location) const {
  return notExpected(message, at(location), {mailbox.message.describe(), at(mailbox.location)});
}

} // namespace minigptc::runtime
