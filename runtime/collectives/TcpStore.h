//===- TcpStore.h - what processes tell each other --------------*- C++ -*-===//
//
// A table of strings that one process serves, so that others learn how to reach each other.
// Who asks for a key waits until somebody has set it.
//
//   auto store = TcpStore::open({.address = "node0", .port = 29500, .serves = rank == 0});
//   if (rank == 0) (*store)->set("id", id);
//   StatusOr<std::string> id = (*store)->get("id");
//
// The port is open to the network, unless the address is a loopback one: who reaches it can read
// and set keys, and nothing else. Lengths are checked before memory is taken.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_TCPSTORE_H
#define MINIGPTC_RUNTIME_COLLECTIVES_TCPSTORE_H

#include "minigptc/runtime/Status.h"
#include "runtime/collectives/Sockets.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace minigptc::runtime {

struct TcpStoreOptions {
  std::string address;
  int port = 29500; ///< 0, of who serves: any that is free
  bool serves = false;
  /// How long to wait for the server, and for a key.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

/// A connection to the store. Any thread may use it; one at a time does.
class TcpStore {
public:
  static constexpr size_t kLongestKey = 1024, kLongestValue = size_t(1) << 20;

  /// A failure names address and port.
  static StatusOr<std::unique_ptr<TcpStore>> open(const TcpStoreOptions &options);
  ~TcpStore();

  Status set(std::string_view key, std::string_view value);
  /// Waits for the key, as long as the options say or `timeout`; a failure names it.
  StatusOr<std::string> get(std::string_view key) { return get(key, timeout_); }
  StatusOr<std::string> get(std::string_view key, std::chrono::milliseconds timeout);
  /// ... and as long as `mayWait` is a success; its failure is the result.
  StatusOr<std::string> get(std::string_view key, const std::function<Status()> &mayWait);
  /// Does not wait.
  StatusOr<std::optional<std::string>> find(std::string_view key);
  int port() const { return port_; }
  /// A name that no other part of this process has got. All processes get the same ones if they
  /// ask in the same order.
  std::string newName() { return std::to_string(names_++) + "/"; }

private:
  class Server;
  TcpStore() = default;
  Status connect(const TcpStoreOptions &options);
  Status gone() const;
  Status notSet(std::string_view key, std::chrono::milliseconds timeout) const;
  StatusOr<std::optional<std::string>> ask(char operation, std::string_view key,
                                           std::string_view value,
                                           std::chrono::milliseconds timeout);

  std::unique_ptr<Server> server_; ///< null: another process serves
  std::string place_;              ///< "node0:29500"
  int port_ = 0;
  std::chrono::milliseconds timeout_{};
  std::atomic<int64_t> names_{0};
  std::mutex mutex_;
  Descriptor socket_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_TCPSTORE_H
