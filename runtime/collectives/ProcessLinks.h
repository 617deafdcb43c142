//===- ProcessLinks.h - messages between processes --------------*- C++ -*-===//
//
// Process 0 has a connection to each other one, and passes on what these send each other. A
// thread for each connection reads it and lays what comes in a box, from which others take it
// by sender and key; nobody who sends waits for somebody who computes.
//
//   ProcessLinks links(rank, names, silence);
//   links.connect(1, std::move(socket));          // all of them, then
//   links.start();
//   links.send(links.everybody, "key", "text", {});
//   links.receive(2, "key", /*readers=*/1, "why");
//   links.leave(farewell);                        // after the last message, if all is well
//
// Each process says once a second that it is there. The first failure (its own, one that it is
// told, a connection that ends or is silent) is kept, wakes everybody, and goes to all others.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_PROCESSLINKS_H
#define MINIGPTC_RUNTIME_COLLECTIVES_PROCESSLINKS_H

#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/collectives/Sockets.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace minigptc::runtime {

/// What comes before each message.
struct MessageHeader {
  enum class Kind : uint32_t { message, failed, goodbye, alive, roster };
  Kind kind = Kind::alive;
  uint32_t from = 0, to = 0;
  uint32_t keyBytes = 0, textBytes = 0;
  uint32_t unused = 0;
  uint64_t dataBytes = 0;
};

class ProcessLinks {
public:
  static constexpr uint32_t everybody = 0xffffffff;
  using Data = std::span<const std::span<const std::byte>>;

  ProcessLinks(int64_t rank, std::vector<std::string> names, std::chrono::milliseconds silence);
  ~ProcessLinks();

  void connect(int64_t rank, Descriptor socket);
  /// Fails if the system gives too few threads.
  Status start();

  Status send(int64_t to, std::string_view key, std::string_view text, Data data);
  StatusOr<std::shared_ptr<const ProcessMessage>> receive(int64_t from, std::string_view key,
                                                          int readers, std::string_view why);
  void fail(const Status &why);
  Status failure() const;
  /// Says that no more comes, and waits for the others to say so, too, or to be gone.
  void leave(std::chrono::milliseconds farewell);

private:
  using Header = MessageHeader;
  struct Link {
    int64_t rank = 0;
    Descriptor socket;
    std::mutex sending;
    std::thread reader;
  };
  struct Delivery {
    std::shared_ptr<const ProcessMessage> message;
    int taken = 0;
  };

  std::string nameOf(int64_t rank) const { return names_[size_t(rank)]; }
  /// The connection by which a process is reached.
  Link *linkTo(int64_t rank);
  bool write(Link &link, Header header, std::string_view key, std::string_view text, Data data);
  void writeAll(const Header &header, std::string_view text);
  /// Waits no longer than `silence_` for more; false at the connection's end.
  bool read(Link &link, void *target, size_t bytes, bool &silent);
  void readFrom(Link &link);
  void take(const Header &header, std::string key, ProcessMessage message);
  void lose(Link &link, bool silent);
  void failWith(const Status &status, const std::string &told);
  void sayAlive();

  int64_t rank_;
  std::vector<std::string> names_;
  std::chrono::milliseconds silence_;
  std::vector<std::unique_ptr<Link>> links_; ///< of process 0: all others; else: process 0
  std::thread heart_;

  mutable std::mutex mutex_; ///< of what follows
  std::condition_variable changed_;
  std::map<std::pair<int64_t, std::string>, Delivery> box_; ///< by sender and key
  std::vector<bool> ended_;                                 ///< by rank: nothing comes any more
  Status failure_;
  bool leaving_ = false, stop_ = false;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_PROCESSLINKS_H
