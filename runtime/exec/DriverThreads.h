//===- DriverThreads.h - a thread for each device ---------------*- C++ -*-===//
//
//   DriverThreads threads(8);
//   threads.run([&](int64_t device) { ... });    // returns when all have returned
//
// Threads sleep between runs. With one device the caller does the work.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_DRIVERTHREADS_H
#define MINIGPTC_RUNTIME_EXEC_DRIVERTHREADS_H

#include "minigptc/runtime/Status.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace minigptc::runtime {

/// As many as a session has at most.
inline constexpr int64_t kMaxDriverThreads = 1024;

class DriverThreads {
public:
  /// resourceExhausted if the system gives too few threads.
  static StatusOr<std::unique_ptr<DriverThreads>> create(int64_t devices);
  ~DriverThreads();
  DriverThreads(const DriverThreads &) = delete;
  DriverThreads &operator=(const DriverThreads &) = delete;

  /// `work` throws nothing. One thread at a time calls this.
  void run(const std::function<void(int64_t)> &work);

private:
  DriverThreads() = default;
  void loop(int64_t device);

  std::mutex mutex_;
  std::condition_variable started_, ended_;
  const std::function<void(int64_t)> *work_ = nullptr;
  uint64_t round_ = 0;
  size_t busy_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_; ///< none for one device
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_DRIVERTHREADS_H
