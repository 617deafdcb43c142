//===- ThreadPool.h - the threads of one device -----------------*- C++ -*-===//
//
//   ThreadPool pool(2);                       // the caller and one worker
//   pool.run(100, [&](int64_t task) { ... }); // tasks 0 … 99, in any order
//   pool.run(100, [&](int64_t task, int worker) { use(task, memoryOf[worker]); });
//
// Tasks are picked up from a counter, so that a slow core holds up nobody. What a
// task is must depend on the problem only, never on the number of threads: this is
// what makes results the same for any number.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_THREADPOOL_H
#define MINIGPTC_RUNTIME_BASE_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace minigptc::runtime {

/// A time, of the steady clock, during which a thread worked on the tasks of one `run`.
struct BusySpan {
  int64_t startNanoseconds = 0, endNanoseconds = 0, tasks = 0;
};
/// The spans of each thread, by its number; one thread writes to one of the lists.
using ThreadLog = std::vector<std::vector<BusySpan>>;

/// Owns `threads - 1` workers; the thread that calls `run` works too. Waiting workers
/// spin for some microseconds, as long as the serial gap between two kernels, then
/// sleep. Calls of `run` from several threads queue up; from within a task, the
/// inner tasks run on that thread.
class ThreadPool {
public:
  /// 0: one thread for each core that the process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return int(workers_.size()) + 1; }

  /// Calls `body(task)` or `body(task, worker)` for each task of [0, tasks), returns when
  /// all are done. No two tasks of one worker, a number in [0, threads()), run at once. Where
  /// the body throws, tasks that nobody has begun are left out, and the first exception is
  /// thrown here.
  template <typename Body> void run(int64_t tasks, Body &&body) {
    using Callable = std::remove_reference_t<Body>;
    runErased(
        tasks,
        [](void *context, int64_t task, int worker) {
          Callable &call = *static_cast<Callable *>(context);
          if constexpr (std::is_invocable_v<Callable &, int64_t, int>)
            call(task, worker);
          else
            call(task);
        },
        const_cast<void *>(static_cast<const void *>(&body)));
  }

  /// Notes when threads work, in `log`, which gets a list for each; null: no more. Without
  /// a log this costs a test per thread and `run`. Not during a `run`.
  void record(ThreadLog *log);

private:
  using Function = void (*)(void *context, int64_t task, int worker);

  void runErased(int64_t tasks, Function function, void *context);
  void work() noexcept;
  void workerLoop(int number);
  /// Waits until `generation_` is no longer `seen`.
  void awaitChange(uint32_t seen);

  // The open job. Written while no worker is inside, read by workers that found
  // `open_` set after they came inside.
  Function function_ = nullptr;
  void *context_ = nullptr;
  int64_t tasks_ = 0;
  ThreadLog *log_ = nullptr;
  std::mutex thrownMutex_;
  std::exception_ptr thrown_; ///< by a task of the open job

  alignas(64) std::atomic<int64_t> next_{0};        ///< the task to be picked up next
  alignas(64) std::atomic<uint32_t> generation_{0}; ///< changes with every job and at the end
  std::atomic<bool> open_{false}, stop_{false};
  alignas(64) std::atomic<int> inside_{0}; ///< workers that may look at the job

  int spinMicroseconds_ = 0;
  std::mutex oneJob_;
  std::vector<std::thread> workers_;
};

/// Cores that this process may use (its affinity mask counts), at least 1.
int availableCores();

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_THREADPOOL_H
