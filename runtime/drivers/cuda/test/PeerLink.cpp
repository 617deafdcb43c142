#include "runtime/drivers/cuda/test/PeerLink.h"

#include <sys/socket.h>
#include <type_traits>

namespace minigptc::runtime::cuda::test {
namespace {

/// How long the end of a link waits for the other side to take what was sent.
constexpr std::chrono::seconds kFarewell{2};
constexpr uint64_t kLongestText = uint64_t(1) << 16, kLongestData = uint64_t(1) << 36;
constexpr auto kNever = SocketClock::time_point::max();

/// What is sent before text and data.
struct Header {
  uint32_t kind;
  int32_t from, to, callKind, type, combine, peer;
  uint32_t textBytes;
  uint64_t number, count, origin, beats, dataBytes;
};
static_assert(std::is_trivially_copyable_v<Header>);

template <typename T> std::string_view bytesOf(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

} // namespace

PeerLink::PeerLink(Descriptor socket, Deliver deliver)
    : socket_(std::move(socket)), deliver_(std::move(deliver)), writer_([this] { write(); }),
      reader_([this] { read(); }) {}

PeerLink::~PeerLink() { stop(); }

void PeerLink::stop() {
  close();
  if (!reader_.joinable())
    return;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kFarewell, [&] { return written_; });
  }
  shutdown(socket_.get(), SHUT_RDWR);
  writer_.join();
  reader_.join();
}

void PeerLink::send(PeerMessage message) {
  std::lock_guard lock(mutex_);
  if (closed_)
    return;
  queue_.push_back(std::move(message));
  changed_.notify_all();
}

void PeerLink::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void PeerLink::write() {
  std::unique_lock lock(mutex_);
  for (bool good = true; good;) {
    changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
    if (queue_.empty())
      break;
    PeerMessage message = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    std::string_view data = message.data ? *message.data : std::string_view();
    Header header{message.kind,
                  message.slot.from,
                  message.slot.to,
                  message.callKind,
                  message.type,
                  message.combine,
                  message.peer,
                  uint32_t(message.text.size()),
                  message.slot.number,
                  message.count,
                  message.origin,
                  message.beats,
                  data.size()};
    good = sendAll(socket_.get(), bytesOf(header), kNever) &&
           sendAll(socket_.get(), message.text, kNever) && sendAll(socket_.get(), data, kNever);
    lock.lock();
  }
  written_ = closed_ = true;
  queue_.clear();
  changed_.notify_all();
}

bool PeerLink::readOne(PeerMessage &message) {
  Header header{};
  if (!receiveAll(socket_.get(), reinterpret_cast<char *>(&header), sizeof(header), kNever) ||
      header.kind > PeerMessage::beat || header.textBytes > kLongestText ||
      header.dataBytes > kLongestData)
    return false;
  message.kind = PeerMessage::Kind(header.kind);
  message.slot = {header.from, header.to, header.number};
  message.callKind = header.callKind;
  message.type = header.type;
  message.combine = header.combine;
  message.peer = header.peer;
  message.count = header.count;
  message.origin = header.origin;
  message.beats = header.beats;
  message.text.resize(header.textBytes);
  auto data = std::make_shared<std::string>(header.dataBytes, '\0');
  message.data = data;
  return receiveAll(socket_.get(), message.text.data(), message.text.size(), kNever) &&
         receiveAll(socket_.get(), data->data(), data->size(), kNever);
}

void PeerLink::read() {
  for (PeerMessage message; readOne(message); message = {})
    deliver_(&message);
  deliver_(nullptr);
  close(); // Who has gone takes nothing.
  over_ = true;
}

} // namespace minigptc::runtime::cuda::test
