#include "runtime/collectives/ProcessLinks.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>

namespace minigptc::runtime {

using std::chrono::milliseconds;

namespace {

/// How often a process says that it is there, at most.
constexpr milliseconds kHeartbeat(1000);
/// Of what a message may say of itself.
constexpr uint32_t kLongestKey = 4096, kLongestText = 1 << 20;
constexpr uint64_t kMostData = uint64_t(1) << 40;

Status gone(const std::string &what) {
  return Status(StatusCode::failedPrecondition, what)
      .withHelp("see what that process says; --resume goes on from the last checkpoint");
}

std::string seconds(milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

} // namespace

ProcessLinks::ProcessLinks(int64_t rank, std::vector<std::string> names, milliseconds silence)
    : rank_(rank), names_(std::move(names)), silence_(silence), ended_(names_.size()) {}

void ProcessLinks::connect(int64_t rank, Descriptor socket) {
  Link &link = *links_.emplace_back(std::make_unique<Link>());
  link.rank = rank;
  link.socket = std::move(socket);
}

Status ProcessLinks::start() {
  try {
    for (auto &link : links_)
      link->reader = std::thread([this, link = link.get()] { readFrom(*link); });
    heart_ = std::thread([this] { sayAlive(); });
  } catch (const std::system_error &) {
    return Status(StatusCode::resourceExhausted, "the system gives no thread for other processes");
  }
  return {};
}

ProcessLinks::~ProcessLinks() {
  {
    std::lock_guard lock(mutex_);
    stop_ = leaving_ = true;
  }
  changed_.notify_all();
  for (auto &link : links_)
    shutdown(link->socket.get(), SHUT_RDWR);
  for (auto &link : links_)
    if (link->reader.joinable())
      link->reader.join();
  if (heart_.joinable())
    heart_.join();
}

ProcessLinks::Link *ProcessLinks::linkTo(int64_t rank) {
  auto found = std::ranges::find_if(
      links_, [&](const auto &link) { return rank_ != 0 || link->rank == rank; });
  return found == links_.end() ? nullptr : found->get();
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

bool ProcessLinks::write(Link &link, Header header, std::string_view key, std::string_view text,
                         Data data) {
  header.keyBytes = uint32_t(key.size());
  header.textBytes = uint32_t(text.size());
  header.dataBytes = 0;
  for (std::span<const std::byte> piece : data)
    header.dataBytes += piece.size();
  std::string start(reinterpret_cast<const char *>(&header), sizeof header);
  start.append(key).append(text);
  // By pieces: as long as the other side takes something, it is alive.
  auto send = [&](std::string_view bytes) {
    constexpr size_t piece = size_t(1) << 20;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
      if (!sendAll(link.socket.get(), bytes.substr(0, piece), SocketClock::now() + silence_))
        return false;
    return true;
  };
  std::lock_guard lock(link.sending);
  bool sent = send(start);
  for (std::span<const std::byte> piece : data)
    sent = sent && send({reinterpret_cast<const char *>(piece.data()), piece.size()});
  return sent;
}

void ProcessLinks::writeAll(const Header &header, std::string_view text) {
  for (auto &link : links_)
    write(*link, header, "", text, {}); // Who cannot be told has gone: its reader finds out.
}

Status ProcessLinks::send(int64_t to, std::string_view key, std::string_view text, Data data) {
  MINIGPTC_RETURN_IF_ERROR(failure());
  Header header{Header::Kind::message, uint32_t(rank_), uint32_t(to)};
  if (to == rank_) {
    ProcessMessage own{std::string(text), {}};
    for (std::span<const std::byte> piece : data)
      own.data.insert(own.data.end(), piece.begin(), piece.end());
    take(header, std::string(key), std::move(own));
    return {};
  }
  bool sent = true;
  for (auto &link : links_)
    if (rank_ != 0 || header.to == everybody || link->rank == to)
      sent = write(*link, header, key, text, data) && sent;
  if (sent)
    return {};
  // Its reader knows more, if it has gone.
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kHeartbeat, [&] { return !failure_; });
  lock.unlock();
  Link *link = to == everybody ? links_.front().get() : linkTo(to);
  std::string what = nameOf(link->rank) + " takes no messages any more";
  failWith(gone(what), what);
  return failure();
}

void ProcessLinks::sayAlive() {
  milliseconds period = std::min(kHeartbeat, silence_ / 4);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period, [&] { return stop_; })) {
    lock.unlock();
    Header header{Header::Kind::alive, uint32_t(rank_)};
    for (auto &link : links_)
      if (link->sending.try_lock()) { // Else something is being sent anyway.
        std::string_view bytes(reinterpret_cast<const char *>(&header), sizeof header);
        sendAll(link->socket.get(), bytes, SocketClock::now() + silence_);
        link->sending.unlock();
      }
    lock.lock();
  }
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

bool ProcessLinks::read(Link &link, void *target, size_t bytes, bool &silent) {
  auto *at = static_cast<char *>(target);
  while (bytes > 0) {
    if (!awaitSocket(link.socket.get(), POLLIN, SocketClock::now() + silence_)) {
      silent = true;
      return false;
    }
    ssize_t got = recv(link.socket.get(), at, bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    at += std::max<ssize_t>(got, 0);
    bytes -= size_t(std::max<ssize_t>(got, 0));
  }
  return true;
}

void ProcessLinks::readFrom(Link &link) {
  bool silent = false;
  try {
    for (Header header; read(link, &header, sizeof header, silent);) {
      bool sound = header.keyBytes <= kLongestKey && header.textBytes <= kLongestText &&
                   header.dataBytes <= kMostData && header.from < names_.size() &&
                   (header.to < names_.size() || header.to == everybody);
      if (!sound)
        break;
      std::string key(header.keyBytes, '\0');
      ProcessMessage message{std::string(header.textBytes, '\0'),
                             std::vector<std::byte>(header.dataBytes)};
      if (!read(link, key.data(), key.size(), silent) ||
          !read(link, message.text.data(), message.text.size(), silent) ||
          !read(link, message.data.data(), message.data.size(), silent))
        break;
      bool passesOn = rank_ == 0 && header.kind != Header::Kind::alive && header.to != 0;
      std::span<const std::byte> data(message.data);
      for (auto &other : links_)
        if (passesOn && other.get() != &link &&
            (header.to == everybody || header.to == uint32_t(other->rank)))
          write(*other, header, key, message.text, std::span(&data, 1));
      if (header.to == everybody || header.to == uint32_t(rank_))
        take(header, std::move(key), std::move(message));
    }
  } catch (const std::bad_alloc &) {
    fail(Status(StatusCode::resourceExhausted, "not enough memory for what " + nameOf(link.rank) +
                                                   " sends"));
  }
  lose(link, silent);
}

void ProcessLinks::take(const Header &header, std::string key, ProcessMessage message) {
  std::lock_guard lock(mutex_);
  switch (header.kind) {
  case Header::Kind::message:
    box_[{header.from, std::move(key)}].message =
        std::make_shared<const ProcessMessage>(std::move(message));
    break;
  case Header::Kind::failed:
    if (failure_)
      failure_ = gone(message.text);
    break;
  case Header::Kind::goodbye: ended_[header.from] = true; break;
  case Header::Kind::alive:
  case Header::Kind::roster: return;
  }
  changed_.notify_all();
}

/// The connection has ended.
void ProcessLinks::lose(Link &link, bool silent) {
  std::string what =
      nameOf(link.rank) + (silent ? " has not been heard of for " + seconds(silence_)
                                  : " has ended without a word: it was killed, or crashed");
  std::unique_lock lock(mutex_);
  bool expected = ended_[size_t(link.rank)] || leaving_;
  lock.unlock();
  if (!expected)
    failWith(gone(what), what);
  lock.lock(); // Who waits for it is told why first.
  ended_[size_t(link.rank)] = true;
  changed_.notify_all();
}

StatusOr<std::shared_ptr<const ProcessMessage>>
ProcessLinks::receive(int64_t from, std::string_view key, int readers, std::string_view why) {
  std::pair<int64_t, std::string> wanted(from, key);
  std::unique_lock lock(mutex_);
  auto found = box_.end();
  changed_.wait(lock, [&] {
    found = box_.find(wanted);
    return found != box_.end() || !failure_ || ended_[size_t(from)];
  });
  if (found == box_.end())
    return !failure_ ? failure_
                     : gone(nameOf(from) + " has ended and does not come to " + std::string(why));
  std::shared_ptr<const ProcessMessage> message = found->second.message;
  if (++found->second.taken >= readers)
    box_.erase(found);
  return message;
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

/// `told`: what the others get to read.
void ProcessLinks::failWith(const Status &status, const std::string &told) {
  {
    std::lock_guard lock(mutex_);
    if (!failure_)
      return;
    failure_ = status;
  }
  changed_.notify_all();
  writeAll({Header::Kind::failed, uint32_t(rank_), everybody},
           std::string_view(told).substr(0, kLongestText));
}

void ProcessLinks::fail(const Status &why) {
  failWith(why, nameOf(rank_) + " has failed: " + why.message());
}

Status ProcessLinks::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void ProcessLinks::leave(milliseconds farewell) {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  writeAll({Header::Kind::goodbye, uint32_t(rank_), everybody}, "");
  if (rank_ != 0) // Process 0 still passes on what others send each other.
    shutdown(links_.front()->socket.get(), SHUT_WR);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, farewell, [&] {
    return std::ranges::all_of(links_, [&](auto &link) { return ended_[size_t(link->rank)]; });
  });
}

} // namespace minigptc::runtime
