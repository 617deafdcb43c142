//===- Rendezvous.h - ranks of several processes meet -----------*- C++ -*-===//
//
// The ranks of a communicator that each have a process of their own, on one machine, find each
// other by its unique id: a rank listens on a Unix socket whose (abstract) name is made of id and
// rank, and calls those of all lower ranks. Whoever meets compares what both know.
//
//   Rendezvous meeting(id, {.rank = 1, .ranks = 2, .device = 1});
//   while (!meeting.isComplete() && meeting.error().empty())
//     meeting.goOn();                            // does not wait for those who are not there
//   Descriptor socket = std::move(meeting.peers()[0].socket);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_RENDEZVOUS_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_RENDEZVOUS_H

#include "runtime/collectives/Sockets.h"
#include "runtime/drivers/cuda/ApiTypes.h"

#include <cstdint>
#include <vector>

namespace minigptc::runtime::cuda::test {

/// An id that no other communicator has, with the machine's name.
NcclUniqueId newUniqueId();
/// Empty, or the name of the machine that the id is of, where that is not this one.
std::string foreignMachine(const NcclUniqueId &id);

class Rendezvous {
public:
  struct Member {
    int32_t rank = 0, ranks = 0;
    int32_t device = 0; ///< the GPU's number on the machine
    int32_t process = 0;
  };
  struct Peer {
    Member member = {.rank = -1}; ///< the rank: -1: has not come
    Descriptor socket;
  };

  Rendezvous(const NcclUniqueId &id, Member mine);

  /// Meets those who are there now.
  void goOn();
  bool isComplete() const { return met_ + 1 == mine_.ranks; }
  /// Why the ranks do not fit together, with both ends; empty: they do.
  const std::string &error() const { return error_; }
  bool isSameDevice() const { return sameDevice_; } ///< the error is that
  const Member &mine() const { return mine_; }
  bool hasMet(int rank) const { return peers_[size_t(rank)].member.rank >= 0; }
  /// By rank; this one's is empty.
  std::vector<Peer> &peers() { return peers_; }

private:
  void call(int rank);
  void answer();
  /// Both say who they are.
  void greet(Descriptor socket);
  std::string whyNot(const Member &other);

  std::string name_;
  Member mine_;
  Descriptor listener_;
  std::vector<Peer> peers_;
  int met_ = 0;
  std::string error_;
  bool sameDevice_ = false;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_RENDEZVOUS_H
