#include "runtime/collectives/Sockets.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace minigptc::runtime {

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
Descriptor::~Descriptor() {
  if (number_ >= 0)
    close(number_);
}

/// Whether it is a loopback address of IPv4, which is set.
static bool isLoopback(const std::string &address, in_addr &number) {
  number.s_addr = htonl(INADDR_LOOPBACK);
  return address == "localhost" || (inet_pton(AF_INET, address.c_str(), &number) == 1 &&
                                    ntohl(number.s_addr) >> 24 == 127);
}

StatusOr<Listener> listenOn(int port, const std::string &address) {
  in_addr loopback{};
  const bool onlyFour = isLoopback(address, loopback), onlySix = address == "::1";
  Listener made;
  if (!onlyFour)
    made.socket = Descriptor(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  bool six = bool(made.socket);
  if (!six) // A machine without IPv6.
    made.socket = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int listener = made.socket.get(), yes = 1, no = 0;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in6 address6{};
  address6.sin6_family = AF_INET6;
  address6.sin6_port = htons(uint16_t(port));
  sockaddr_in address4{};
  address4.sin_family = AF_INET;
  address4.sin_port = htons(uint16_t(port));
  if (onlyFour)
    address4.sin_addr = loopback;
  if (onlySix)
    address6.sin6_addr = in6addr_loopback;
  if (six)
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  auto *place =
      six ? reinterpret_cast<sockaddr *>(&address6) : reinterpret_cast<sockaddr *>(&address4);
  socklen_t bytes = six ? sizeof(address6) : sizeof(address4);
  if (bind(listener, place, bytes) != 0 || listen(listener, 1024) != 0 ||
      getsockname(listener, place, &bytes) != 0)
    return Status(StatusCode::failedPrecondition, "process 0 cannot listen on port " +
                                                      std::to_string(port) + ": " +
                                                      std::strerror(errno))
        .withHelp("set MASTER_PORT to one that is free; is there another process with RANK 0?");
  made.port = ntohs(six ? address6.sin6_port : address4.sin_port);
  return made;
}

static void sendAtOnce(int socket) {
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

Descriptor connectTo(const std::string &address, int port, std::string &why) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  Descriptor made;
  if (int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found))
    why = gai_strerror(error);
  for (addrinfo *at = found; at && !made; at = at->ai_next) {
    Descriptor tried(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (tried && connect(tried.get(), at->ai_addr, at->ai_addrlen) == 0)
      made = std::move(tried);
    else
      why = std::strerror(errno);
  }
  if (found)
    freeaddrinfo(found);
  if (made)
    sendAtOnce(made.get());
  return made;
}

Descriptor acceptFrom(int listener) {
  Descriptor made(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (made)
    sendAtOnce(made.get());
  return made;
}

bool awaitSocket(int socket, short events, SocketClock::time_point deadline) {
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SocketClock::now()).count();
    pollfd wanted{socket, events, 0};
    int ready = poll(&wanted, 1, int(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready > 0)
      return true;
    if (ready < 0 && errno != EINTR)
      return false;
    if (ready == 0 && SocketClock::now() >= deadline)
      return false;
  }
}

bool sendAll(int socket, std::string_view bytes, SocketClock::time_point deadline) {
  while (!bytes.empty()) {
    if (!awaitSocket(socket, POLLOUT, deadline))
      return false;
    ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
      return false;
    bytes.remove_prefix(size_t(std::max<ssize_t>(sent, 0)));
  }
  return true;
}

bool receiveAll(int socket, char *target, size_t bytes, SocketClock::time_point deadline) {
  while (bytes > 0) {
    if (!awaitSocket(socket, POLLIN, deadline))
      return false;
    ssize_t got = recv(socket, target, bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    target += std::max<ssize_t>(got, 0);
    bytes -= size_t(std::max<ssize_t>(got, 0));
  }
  return true;
}

} // namespace minigptc::runtime
