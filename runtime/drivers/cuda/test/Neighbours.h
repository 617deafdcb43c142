//===- Neighbours.h - links to other processes' emulators -------*- C++ -*-===//
//
// The links of all communicators, and the beats that go over them. A rank that waits must tell a
// rank that works for long from one that never comes. So a process in whose emulator something
// happens says so a few times within the patience, by a number that it counts up; who hears a new
// number hands it on, so that it also reaches those who wait for somebody who waits. Where nothing
// happens in any process there is silence, and the wait ends as it does in one process.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_NEIGHBOURS_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_NEIGHBOURS_H

#include "runtime/drivers/cuda/test/Machine.h"
#include "runtime/drivers/cuda/test/PeerLink.h"

namespace minigptc::runtime::cuda::test {

class Neighbours {
public:
  explicit Neighbours(Machine &machine);
  /// Ends all links, whose threads may wait for the machine.
  ~Neighbours();

  void add(std::shared_ptr<PeerLink> link);
  /// Whether this is news, which goes on to all others.
  bool hear(uint64_t origin, uint64_t beats);

private:
  void beat();
  void tellAll(uint64_t origin, uint64_t beats);

  Machine &machine_;
  const uint64_t self_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::vector<std::shared_ptr<PeerLink>> links_;
  std::map<uint64_t, uint64_t> heard_; ///< by origin
  std::thread thread_;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_NEIGHBOURS_H
