//===- Spread.h - communicators over several processes ----------*- C++ -*-===//
//
// A communicator whose ranks each have a process of their own. What Collectives.h says of calls
// holds here, too, with messages in place of looking at each other's operations: a rank tells the
// others of a call when it is submitted, so that both ends find what does not match, and sends
// its input when the operation has come to the head of its stream. The operation runs when
// the input of every rank it meets is there; each rank combines by itself, in the order of ranks:
// the bits of one process. A rank whose process has ended is an asynchronous error.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_SPREAD_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_SPREAD_H

#include "runtime/drivers/cuda/test/Collectives.h"
#include "runtime/drivers/cuda/test/PeerLink.h"

#include <compare>

namespace minigptc::runtime::cuda::test {

struct Spread {
  /// A rank's part in a call. A message to oneself has two.
  struct Place {
    int rank = 0;
    bool receives = false;
    auto operator<=>(const Place &) const = default;
  };
  struct Share {
    CollectiveCall call;
    std::string operation;
    std::shared_ptr<const std::string> data; ///< null: it has not come to its stream's head
  };
  struct Remote {
    int process = 0, device = 0;
    std::shared_ptr<PeerLink> link; ///< null: this process's own rank
    std::string lastCall = "none";
    bool aborted = false, left = false, gone = false;
  };
  int self = 0;
  std::vector<Remote> remotes; ///< by rank
  std::map<CallSlot, std::map<Place, Share>> calls;

  void sendAll(const PeerMessage &message);
  void send(int rank, const PeerMessage &message);
  /// "rank 1 (process 4711)".
  std::string describe(int rank) const;
  /// A rank whose process has ended without a word, or -1.
  int firstGone() const;
  void close();
};

/// Of the ranks that have met.
void spreadClique(Machine &machine, const std::shared_ptr<Clique> &clique, int self,
                  Rendezvous &meeting);
std::shared_ptr<const CollectiveUnit> spreadUnit(Machine &machine,
                                                 const std::shared_ptr<CommState> &comm,
                                                 std::vector<CollectiveCall> calls);
/// Where ranks of other processes wait for this one: "rank 1 (process 4711) in …"; empty: nowhere.
std::string waitingElsewhere(const Machine &machine);

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_SPREAD_H
