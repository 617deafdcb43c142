//===- Sockets.h - bytes between processes ----------------------*- C++ -*-===//
//
//   StatusOr<Listener> listener = listenOn(0);              // any port that is free
//   Descriptor socket = connectTo("node0", 29500, why);     // none: why
//   sendAll(socket.get(), "hello", deadline);
//
// Nothing here waits beyond its deadline.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_SOCKETS_H
#define MINIGPTC_RUNTIME_COLLECTIVES_SOCKETS_H

#include "minigptc/runtime/Status.h"

#include <chrono>
#include <string>
#include <string_view>

namespace minigptc::runtime {

/// A socket, or another descriptor, closed with the object.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor();
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_;
};

using SocketClock = std::chrono::steady_clock;

struct Listener {
  Descriptor socket;
  int port = 0;
};

/// On all addresses of this machine, or on `address` alone if that is a loopback one, which no
/// other machine reaches; port 0: any that is free.
StatusOr<Listener> listenOn(int port, const std::string &address = "");
/// One attempt; none says why.
Descriptor connectTo(const std::string &address, int port, std::string &why);
Descriptor acceptFrom(int listener);

/// Until the socket can be read (POLLIN) or written (POLLOUT); false at the deadline.
bool awaitSocket(int socket, short events, SocketClock::time_point deadline);
/// False: the other side has gone, or the deadline.
bool sendAll(int socket, std::string_view bytes, SocketClock::time_point deadline);
bool receiveAll(int socket, char *target, size_t bytes, SocketClock::time_point deadline);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_SOCKETS_H
