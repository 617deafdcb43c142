//===- Collectives.h - emulated communicators -------------------*- C++ -*-===//
//
// The ranks of a communicator live in one process; if not, see Spread.h. The nth call of a rank
// belongs to the nth call of every other, and the nth send from a to b to b's nth receive from a,
// whenever they run: so what does not match is found when it is submitted. Calls run together, once
// the operations of all ranks have come to the head of their streams, and combine in the order of
// ranks, so that the bits do not depend on the schedule. The calls of a group are one operation.
//
// As in NCCL, aborting a rank's communicator ends that rank's calls; others wait on, until theirs
// are aborted too. It comes to its end when no graph that captured it lives any more, and with the
// last rank's, which gives memory back, when the devices have done all their work.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_COLLECTIVES_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_COLLECTIVES_H

#include "runtime/drivers/cuda/test/Machine.h"
#include "runtime/hal/Collective.h"

#include <functional>
#include <tuple>

namespace minigptc::runtime::cuda::test {

enum class CallKind { allReduce, allGather, reduceScatter, send, recv };

struct CollectiveCall {
  CallKind kind = CallKind::allReduce;
  NcclType type = NcclType::f32;
  NcclReduce combine = NcclReduce::sum;
  uint64_t count = 0; ///< elements: of an all-reduce or message; else of one rank's part
  int peer = -1;      ///< of a message
  DevicePtr input = 0, output = 0;

  bool isMessage() const { return kind == CallKind::send || kind == CallKind::recv; }
  uint64_t inputBytes(int ranks) const; ///< 0 of a receive
  uint64_t outputBytes(int ranks) const;
  /// "all_reduce sum f32[1024]", "send f32[8] to rank 1".
  std::string describe() const;
};

/// Which of the library's types have how many bytes; 0: none.
uint64_t bytesOf(NcclType type);
/// Whether two ranks mean the same: of a message, one the other end of it.
bool matches(const CollectiveCall &a, const CollectiveCall &b);
/// A collective, no message, as our collectives have it.
CollectiveProblem problemOf(const CollectiveCall &call, int ranks);

struct Clique;
struct Spread;
class Rendezvous;

/// One rank of a communicator.
struct CommState {
  std::shared_ptr<Clique> clique;
  int rank = 0, device = 0;
  uint64_t collectives = 0; ///< calls so far
  std::string lastCall = "none";
  std::shared_ptr<Operation> lastOperation;
  /// Of a communicator that does not block: what goes on until a thread that asks for errors has
  /// seen its end.
  bool blocks = true;
  std::function<NcclResult(Machine &, const std::shared_ptr<CommState> &)> pending = {};
  NcclResult result = NcclResult::success; ///< of what has ended
};

/// A communicator.
struct Clique {
  struct Entry {
    std::shared_ptr<Operation> operation;
    const CollectiveCall *call = nullptr;
  };
  int number = 0;
  NcclUniqueId id{};
  std::unique_ptr<Rendezvous> meeting; ///< while a lone rank looks for those of other processes
  std::shared_ptr<Spread> spread;      ///< null: all ranks are in this process
  std::vector<std::weak_ptr<CommState>> members; ///< by rank
  std::vector<int> devices;                      ///< by rank; -1: not there
  int joined = 0;
  bool failed = false;       ///< calls do nothing any more
  std::vector<bool> aborted; ///< by rank
  int left = 0;              ///< ranks that are destroyed or aborted
  std::map<uint64_t, std::vector<Entry>> collectives;
  std::map<std::tuple<int, int, uint64_t>, Entry> sends, receives; ///< from, to, which
  std::map<std::pair<int, int>, uint64_t> sent, received;

  Clique();
  ~Clique();
  int size() const { return int(devices.size()); }
  int firstAborted() const; ///< a rank, or -1
  /// Ranks of this process, or that it has met.
  bool isHere(int rank) const;
  /// No call is to come: forgets those that were, which know the communicator.
  void close();
};

/// Calls of one rank that are one operation, wherever the other ranks are.
class RankUnit : public CollectiveUnit {
public:
  RankUnit(Machine &machine, std::shared_ptr<CommState> comm, std::vector<CollectiveCall> calls)
      : machine(machine), comm(std::move(comm)), calls(std::move(calls)) {}

  bool isOf(const CommState &other) const override { return comm.get() == &other; }
  void giveUp() const override { comm->clique->failed = true; }

protected:
  bool isAborted() const { return comm->clique->aborted[size_t(comm->rank)]; }
  /// They do nothing any more.
  bool isOver() const { return comm->clique->failed || isAborted(); }
  /// From which rank to which a message goes.
  std::pair<int, int> wayOf(const CollectiveCall &call) const;
  /// Which collective of the rank, or end of a message of that way, the call is.
  uint64_t takeNumber(const CollectiveCall &call,
                      const std::shared_ptr<Operation> &operation) const;

  Machine &machine;
  std::shared_ptr<CommState> comm;
  std::vector<CollectiveCall> calls;
};

/// Work of these calls of one rank: one call, or those of a group.
Work collectiveWork(Machine &machine, const std::shared_ptr<CommState> &comm,
                    std::vector<CollectiveCall> calls);

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_COLLECTIVES_H
