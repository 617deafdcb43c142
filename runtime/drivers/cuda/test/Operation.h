//===- Operation.h - deferred work and what orders it -----------*- C++ -*-===//
//
// A lane is a queue of operations that run in order: a stream, or one of the streams that a
// graph was captured from. Happens-before is kept in vector clocks, one component a lane:
//
//   submit to lane l:  clock(l) ∪= what the host knows ∪= operations waited for; clock(l)[l] += 1
//   a before b         b.clock[a.lane] >= a.time
//   synchronise        what the host knows ∪= the last operation's clock
//
// Clocks are computed at submission, as events mean what was submitted when they were
// recorded. The host counts as one: threads of a program are taken to order themselves.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_OPERATION_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_OPERATION_H

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace minigptc::runtime::cuda::test {

class VectorClock {
public:
  uint64_t operator[](uint32_t lane) const { return lane < times.size() ? times[lane] : 0; }
  uint64_t advance(uint32_t lane) {
    if (times.size() <= lane)
      times.resize(lane + 1);
    return ++times[lane];
  }
  void join(const VectorClock &other) {
    if (times.size() < other.times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      if (times[i] < other.times[i])
        times[i] = other.times[i];
  }

private:
  std::vector<uint64_t> times;
};

struct Operation;
struct PinnedUse;
struct CommState;
struct LoadedModule;

/// Calls of collectives that run as one operation, and together with those of other ranks.
class CollectiveUnit {
public:
  virtual ~CollectiveUnit() = default;
  /// The operation, of this unit, takes its place among the calls of its rank.
  virtual void submitted(const std::shared_ptr<Operation> &operation) const = 0;
  /// Adds what must run at the same time; false if some rank has not called.
  virtual bool addPartners(const Operation &operation,
                           std::vector<Operation *> &partners) const = 0;
  virtual void run(const std::vector<Operation *> &together) const = 0;
  /// Who is missing, in words; empty if nobody is.
  virtual std::string missing(const Operation &operation) const = 0;
  /// Of this communicator's rank.
  virtual bool isOf(const CommState &comm) const = 0;
  /// The ranks will never meet: what is left of it does nothing.
  virtual void giveUp() const = 0;
};

/// What is to be done: shared by all launches of a graph that contains it.
struct Work {
  std::string label;                         ///< "kernel 'add'"
  std::function<void(Operation &)> run = {}; ///< null: a marker
  /// Collectives run together with those of the other ranks, instead of `run`.
  std::shared_ptr<const CollectiveUnit> collective = {};
  std::shared_ptr<PinnedUse> pinned = {};    ///< of a copy from or to the host
  std::shared_ptr<LoadedModule> module = {}; ///< of a kernel
};

struct Lane {
  uint32_t number = 0; ///< component of clocks; never used again
  int device = 0;
  std::string name; ///< "stream 2 of device 0"
  VectorClock clock;
  std::deque<std::shared_ptr<Operation>> pending;
  std::shared_ptr<Operation> last; ///< submitted
};

struct Operation {
  std::shared_ptr<const Work> work;
  Lane *lane = nullptr; ///< alive while the operation is pending
  uint32_t laneNumber = 0;
  int device = 0;
  uint64_t time = 0;   ///< in its lane
  uint64_t number = 0; ///< of all submissions
  VectorClock clock;
  std::vector<std::shared_ptr<Operation>> after; ///< in other lanes
  /// "kernel 'add' (number 3 of stream 2 of device 0)".
  std::shared_ptr<const std::string> name;
  std::vector<uint64_t> slots; ///< of collectives: which call of its rank each one is
  bool done = false;
  std::chrono::steady_clock::time_point finished;

  bool isBefore(const VectorClock &other) const { return other[laneNumber] >= time; }
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_OPERATION_H
