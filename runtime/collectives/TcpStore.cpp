#include "runtime/collectives/TcpStore.h"

#include "runtime/base/Log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace minigptc::runtime {
namespace {

using Clock = SocketClock;
using std::chrono::milliseconds;

/// Who connects says this first, and hears it back: nobody else's protocol is taken for ours.
constexpr std::string_view kGreeting = "MGPTSTR1";
/// How long a message that has begun may take to come, or to be taken.
constexpr milliseconds kPatience(10000);
/// How often who waits for a key asks whether to go on.
constexpr milliseconds kLook(50);

/// What comes before a request's key and value.
struct Request {
  char operation = 0; ///< 's': set, 'g': get
  uint32_t keyBytes = 0, valueBytes = 0, timeout = 0;
};
/// What comes before a reply's value.
struct Reply {
  char result = 0; ///< 'v': a value, 'n': no such key
  uint32_t valueBytes = 0;
};

template <typename T> std::string bytesOf(const T &header) {
  return std::string(reinterpret_cast<const char *>(&header), sizeof(header));
}

Status failure(const std::string &what) { return Status(StatusCode::failedPrecondition, what); }
} // namespace

//===----------------------------------------------------------------------===//
// Server
//===----------------------------------------------------------------------===//

/// One thread, which never waits for one connection alone.
class TcpStore::Server {
public:
  static StatusOr<std::unique_ptr<Server>> start(const TcpStoreOptions &options);
  ~Server();
  int port() const { return port_; }

private:
  struct Connection {
    Descriptor socket;
    bool greeted = false;
    std::string input = {};
    std::optional<std::string> awaited = {}; ///< the key that a request waits for
    Clock::time_point deadline = {};
  };
  void loop();
  bool read(Connection &connection);
  bool handle(Connection &connection);
  bool answer(Connection &connection);
  bool reply(Connection &connection, Reply header, std::string_view value);

  Descriptor listener_, stop_;
  int port_ = 0;
  std::map<std::string, std::string> values_;
  std::list<Connection> connections_;
  std::thread thread_;
};

StatusOr<std::unique_ptr<TcpStore::Server>>
TcpStore::Server::start(const TcpStoreOptions &options) {
  StatusOr<Listener> listener = listenOn(options.port, options.address);
  if (!listener)
    return listener.status();
  auto server = std::make_unique<Server>();
  server->listener_ = std::move(listener->socket);
  server->port_ = listener->port;
  server->stop_ = Descriptor(eventfd(0, EFD_CLOEXEC));
  try {
    server->thread_ = std::thread([server = server.get()] { server->loop(); });
  } catch (const std::exception &) {
    return Status(StatusCode::resourceExhausted, "the system gives no thread for the store");
  }
  return server;
}

TcpStore::Server::~Server() {
  uint64_t one = 1;
  if (thread_.joinable() && write(stop_.get(), &one, sizeof(one)) == sizeof(one))
    thread_.join();
}

void TcpStore::Server::loop() {
  for (;;) {
    std::vector<pollfd> sockets = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    int64_t wait = -1; // For ever.
    for (const Connection &connection : connections_) {
      sockets.push_back({connection.socket.get(), POLLIN, 0});
      int64_t left = std::chrono::ceil<milliseconds>(connection.deadline - Clock::now()).count();
      if (connection.awaited)
        wait = wait < 0 ? std::max<int64_t>(left, 0) : std::clamp<int64_t>(left, 0, wait);
    }
    if (poll(sockets.data(), sockets.size(), int(std::min<int64_t>(wait, 1 << 30))) < 0 &&
        errno != EINTR)
      return;
    if (sockets[0].revents)
      return;
    size_t number = 2;
    for (auto at = connections_.begin(); at != connections_.end(); ++number) {
      bool good = !sockets[number].revents || read(*at);
      at = good ? std::next(at) : connections_.erase(at);
    }
    if (sockets[1].revents)
      if (Descriptor one = acceptFrom(listener_.get()))
        connections_.push_back({std::move(one)});
    // What one has set, others may wait for.
    for (auto at = connections_.begin(); at != connections_.end();)
      at = answer(*at) ? std::next(at) : connections_.erase(at);
  }
}

/// False: the connection has ended, or says what nobody should.
bool TcpStore::Server::read(Connection &connection) {
  char buffer[4096];
  ssize_t got = recv(connection.socket.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  if (got < 0)
    return errno == EAGAIN || errno == EINTR;
  if (got == 0)
    return false;
  connection.input.append(buffer, size_t(got));
  if (!connection.greeted && connection.input.size() >= kGreeting.size()) {
    if (!connection.input.starts_with(kGreeting) ||
        !sendAll(connection.socket.get(), kGreeting, Clock::now() + kPatience))
      return false;
    connection.greeted = true;
    connection.input.erase(0, kGreeting.size());
  }
  return !connection.greeted || handle(connection);
}

/// A request, if a whole one is there. The next one comes after its answer.
bool TcpStore::Server::handle(Connection &connection) {
  Request request;
  std::string &input = connection.input;
  if (connection.awaited || input.size() < sizeof(request))
    return true;
  std::memcpy(&request, input.data(), sizeof(request));
  if (request.keyBytes > kLongestKey || request.valueBytes > kLongestValue)
    return false;
  size_t bytes = sizeof(request) + request.keyBytes + request.valueBytes;
  if (input.size() < bytes)
    return true;
  std::string key = input.substr(sizeof(request), request.keyBytes);
  std::string value = input.substr(sizeof(request) + request.keyBytes, request.valueBytes);
  input.erase(0, bytes);
  if (request.operation == 's') {
    values_[key] = std::move(value);
    return reply(connection, {'v', 0}, "");
  }
  connection.awaited = std::move(key);
  connection.deadline = Clock::now() + milliseconds(request.timeout);
  return request.operation == 'g';
}

bool TcpStore::Server::answer(Connection &connection) {
  if (!connection.awaited)
    return true;
  auto found = values_.find(*connection.awaited);
  if (found == values_.end() && Clock::now() < connection.deadline)
    return true;
  connection.awaited.reset();
  bool sent = found != values_.end()
                  ? reply(connection, {'v', uint32_t(found->second.size())}, found->second)
                  : reply(connection, {'n', 0}, "");
  return sent && handle(connection);
}

bool TcpStore::Server::reply(Connection &connection, Reply header, std::string_view value) {
  return sendAll(connection.socket.get(), bytesOf(header) + std::string(value),
                 Clock::now() + kPatience);
}

//===----------------------------------------------------------------------===//
// Connection
//===----------------------------------------------------------------------===//

StatusOr<std::unique_ptr<TcpStore>> TcpStore::open(const TcpStoreOptions &options) {
  std::unique_ptr<TcpStore> store(new TcpStore());
  store->port_ = options.port;
  store->timeout_ = options.timeout;
  TcpStoreOptions reached = options;
  if (options.serves) {
    StatusOr<std::unique_ptr<Server>> server = Server::start(options);
    if (!server)
      return server.status();
    store->server_ = std::move(*server);
    store->port_ = reached.port = store->server_->port();
    if (options.address != "::1" && !options.address.starts_with("127.")) // Listened on alone.
      reached.address = "localhost";
  }
  store->place_ = options.address + ":" + std::to_string(store->port_);
  MINIGPTC_RETURN_IF_ERROR(store->connect(reached));
  return store;
}

TcpStore::~TcpStore() = default;

Status TcpStore::gone() const {
  return failure("the store of process 0 at " + place_ + " is gone")
      .withHelp("see what process 0 says: it has ended, or the network fails");
}

/// The server may start later than this process.
Status TcpStore::connect(const TcpStoreOptions &options) {
  auto deadline = Clock::now() + options.timeout;
  std::string reason;
  for (;;) {
    socket_ = connectTo(options.address, options.port, reason);
    if (socket_ || Clock::now() >= deadline)
      break;
    std::this_thread::sleep_for(milliseconds(50));
  }
  if (!socket_)
    return failure("process 0 is not reached at " + place_ + ": " + reason)
        .withHelp("MASTER_ADDR and MASTER_PORT say where it is; is it running?");
  char heard[kGreeting.size()];
  if (!sendAll(socket_.get(), kGreeting, Clock::now() + kPatience) ||
      !receiveAll(socket_.get(), heard, sizeof(heard), Clock::now() + kPatience))
    return failure("what answers at " + place_ + " has closed the connection")
        .withHelp("see what process 0 says: it has ended, or MASTER_PORT is another program's");
  if (std::string_view(heard, sizeof(heard)) != kGreeting)
    return failure("what answers at " + place_ + " is not process 0 of this program")
        .withHelp("set MASTER_PORT to one that no other program uses");
  return {};
}

StatusOr<std::optional<std::string>> TcpStore::ask(char operation, std::string_view key,
                                                   std::string_view value, milliseconds timeout) {
  if (key.size() > kLongestKey || value.size() > kLongestValue)
    return Status(StatusCode::invalidArgument, "a key or value too long for the store");
  std::lock_guard lock(mutex_);
  if (!socket_)
    return gone();
  Request request{operation, uint32_t(key.size()), uint32_t(value.size()),
                  uint32_t(std::clamp<int64_t>(timeout.count(), 0, 1 << 30))};
  auto deadline = Clock::now() + timeout + kPatience;
  Reply reply;
  std::string answer;
  bool done =
      sendAll(socket_.get(), bytesOf(request) + std::string(key) + std::string(value), deadline) &&
      receiveAll(socket_.get(), reinterpret_cast<char *>(&reply), sizeof(reply), deadline) &&
      reply.valueBytes <= kLongestValue;
  if (done) {
    answer.resize(reply.valueBytes);
    done = receiveAll(socket_.get(), answer.data(), answer.size(), deadline);
  }
  if (!done) {
    socket_ = Descriptor(); // What comes later would be taken for another answer.
    return gone();
  }
  if (reply.result != 'v')
    return std::optional<std::string>();
  return std::optional<std::string>(std::move(answer));
}

Status TcpStore::set(std::string_view key, std::string_view value) {
  return ask('s', key, value, milliseconds(0)).status();
}

StatusOr<std::optional<std::string>> TcpStore::find(std::string_view key) {
  return ask('g', key, "", milliseconds(0));
}

StatusOr<std::string> TcpStore::get(std::string_view key, milliseconds timeout) {
  StatusOr<std::optional<std::string>> found = ask('g', key, "", timeout);
  if (!found)
    return found.status();
  return *found ? std::move(**found) : StatusOr<std::string>(notSet(key, timeout));
}

StatusOr<std::string> TcpStore::get(std::string_view key, const std::function<Status()> &mayWait) {
  for (auto end = Clock::now() + timeout_; Clock::now() < end;) {
    MINIGPTC_RETURN_IF_ERROR(mayWait());
    auto found = ask('g', key, "", kLook);
    if (!found)
      return found.status();
    if (*found)
      return std::move(**found);
  }
  return notSet(key, timeout_);
}

Status TcpStore::notSet(std::string_view key, milliseconds timeout) const {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
  return failure("nobody has set " + quote(key) + " in " + std::to_string(seconds) + " s")
      .withHelp("see what the other processes say: one has ended, or is slow to start");
}

} // namespace minigptc::runtime
