#include "runtime/drivers/cuda/test/Rendezvous.h"

#include "runtime/base/Format.h"
#include "runtime/base/Hash.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <random>
#include <span>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace minigptc::runtime::cuda::test {
namespace {

/// How long somebody who has called, or answered, may take to say who it is.
constexpr std::chrono::seconds kGreeting{5};

std::string machineName() {
  char name[65] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

/// An abstract address: gone with the last process that uses it.
socklen_t addressOf(const std::string &name, int rank, sockaddr_un &address) {
  std::string text = name + std::to_string(rank);
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, text.data(), text.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + text.size());
}

Descriptor newSocket() { return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

bool isOwnUser(int socket) {
  ucred who{};
  socklen_t bytes = sizeof(who);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 && who.uid == getuid();
}

std::string describe(const Rendezvous::Member &member) {
  return "rank " + std::to_string(member.rank) + " (process " + std::to_string(member.process) +
         ")";
}

} // namespace

NcclUniqueId newUniqueId() {
  std::random_device random;
  NcclUniqueId id{};
  std::snprintf(id.bytes, sizeof(id.bytes), "emulated communicator %08x%08x@%s", random(),
                random(), machineName().c_str());
  return id;
}

std::string foreignMachine(const NcclUniqueId &id) {
  std::string text(id.bytes, strnlen(id.bytes, sizeof(id.bytes)));
  size_t at = text.find('@');
  std::string machine = at == std::string::npos ? "" : text.substr(at + 1);
  return machine == machineName() ? "" : machine;
}

Rendezvous::Rendezvous(const NcclUniqueId &id, Member mine)
    : name_(format("minigptc emulated NCCL %016llx ",
                   (unsigned long long)hash64(
                       std::as_bytes(std::span(id.bytes, sizeof(id.bytes)))))),
      mine_(mine), listener_(newSocket()), peers_(size_t(mine.ranks)) {
  mine_.process = int32_t(getpid());
  sockaddr_un address;
  socklen_t length = addressOf(name_, mine_.rank, address);
  if (!listener_ || bind(listener_.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      listen(listener_.get(), mine_.ranks) != 0)
    error_ = errno == EADDRINUSE
                 ? "rank " + std::to_string(mine_.rank) + " is there already, in another process"
                 : std::string("no socket to meet the other ranks: ") + std::strerror(errno);
}

void Rendezvous::goOn() {
  for (int rank = 0; rank < mine_.rank && error_.empty(); ++rank)
    if (!hasMet(rank))
      call(rank);
  while (error_.empty() && awaitSocket(listener_.get(), POLLIN, SocketClock::now()))
    answer();
}

void Rendezvous::call(int rank) {
  sockaddr_un address;
  socklen_t length = addressOf(name_, rank, address);
  Descriptor socket = newSocket();
  if (socket && connect(socket.get(), reinterpret_cast<sockaddr *>(&address), length) == 0)
    greet(std::move(socket));
}

void Rendezvous::answer() {
  if (Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); socket)
    greet(std::move(socket));
}

void Rendezvous::greet(Descriptor socket) {
  auto deadline = SocketClock::now() + kGreeting;
  Member other;
  if (!isOwnUser(socket.get()) ||
      !sendAll(socket.get(), {reinterpret_cast<const char *>(&mine_), sizeof(mine_)}, deadline) ||
      !receiveAll(socket.get(), reinterpret_cast<char *>(&other), sizeof(other), deadline))
    return; // Who has ended meanwhile has not come.
  error_ = whyNot(other);
  if (!error_.empty())
    return;
  peers_[size_t(other.rank)] = {other, std::move(socket)};
  ++met_;
}

std::string Rendezvous::whyNot(const Member &other) {
  const std::string both = describe(mine_) + " and " + describe(other);
  if (other.ranks != mine_.ranks || other.rank < 0 || other.rank >= mine_.ranks)
    return both + " disagree: " + std::to_string(mine_.ranks) + " ranks, and " +
           std::to_string(other.ranks);
  if (hasMet(other.rank))
    return describe(other) + " is there already, in process " +
           std::to_string(peers_[size_t(other.rank)].member.process);
  sameDevice_ = other.device == mine_.device;
  return sameDevice_ ? both + " are both on device " + std::to_string(mine_.device) : "";
}

} // namespace minigptc::runtime::cuda::test
