//===- PeerLink.h - messages with a rank of another process -----*- C++ -*-===//
//
// A connection between two emulated communicators' ranks. `send` lays a message into a queue that
// a thread writes, so that nobody who holds the machine waits for another process; a second thread
// hands over what comes.
//
//   PeerLink link(std::move(socket), [&](const PeerMessage *message) { … });   // null: the end
//   link.send({.kind = PeerMessage::left});
//   link.close();                      // after what has been sent
//
// Both ends are programs of one build and one user (Rendezvous.h): headers are sent as they lie in
// memory. To stop a link, and so to destroy one that is not over, waits for its threads, and so must
// not be done with a lock that `deliver` waits for.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PEERLINK_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PEERLINK_H

#include "runtime/collectives/Sockets.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace minigptc::runtime::cuda::test {

/// Which of a communicator's calls: the `number`th collective, or message between two ranks.
struct CallSlot {
  int from = -1, to = -1; ///< -1: a collective
  uint64_t number = 0;
  auto operator<=>(const CallSlot &) const = default;
};

struct PeerMessage {
  enum Kind : uint32_t {
    called,  ///< a rank has submitted a call: `call`, and the operation's name as text
    entered, ///< ... which has come to the head of its stream, with its input as data
    aborted, ///< its communicator
    left,    ///< it has destroyed it
    beat,    ///< some process does something: see Neighbours.h
  };
  Kind kind = called;
  CallSlot slot = {};
  /// Of `called`: as CollectiveCall has it.
  int32_t callKind = 0, type = 0, combine = 0, peer = -1;
  uint64_t count = 0;
  uint64_t origin = 0, beats = 0; ///< of `beat`
  std::string text = {};
  std::shared_ptr<const std::string> data = {};
};

class PeerLink {
public:
  using Deliver = std::function<void(const PeerMessage *)>;
  PeerLink(Descriptor socket, Deliver deliver);
  ~PeerLink();

  void send(PeerMessage message);
  /// Nothing is sent any more; what comes is still delivered.
  void close();
  /// Ends both threads, once what was sent is taken.
  void stop();
  bool isOver() const { return over_; } ///< both sides have ended

private:
  void write();
  void read();
  bool readOne(PeerMessage &message);

  Descriptor socket_;
  Deliver deliver_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PeerMessage> queue_;
  bool closed_ = false, written_ = false;
  std::atomic<bool> over_{false};
  std::thread writer_, reader_;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_PEERLINK_H
