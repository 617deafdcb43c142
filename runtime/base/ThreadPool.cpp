#include "runtime/base/ThreadPool.h"

#include "runtime/base/Clock.h"
#include "runtime/base/Spin.h"

#include <algorithm>
#include <sched.h>
#include <utility>

namespace minigptc::runtime {
namespace {

thread_local bool insideTask = false;
thread_local int workerNumber = 0; ///< of the pool that owns this thread; 0 for callers

} // namespace

int availableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return CPU_COUNT(&set);
  return std::max(1, int(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  int cores = availableCores();
  if (threads <= 0)
    threads = cores;
  // Spinning takes the core away from those that work, if there are too few cores.
  spinMicroseconds_ = threads <= cores ? 50 : 0;
  workers_.reserve(threads - 1);
  for (int i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this, i] { workerLoop(i); });
    } catch (const std::exception &) {
      break; // the system gives no more threads: the results are the same with fewer
    }
  }
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  ++generation_;
  generation_.notify_all();
  for (std::thread &worker : workers_)
    worker.join();
}

void ThreadPool::runErased(int64_t tasks, Function function, void *context) {
  if (tasks <= 1 || workers_.empty() || insideTask) {
    ThreadLog *log = insideTask ? nullptr : log_;
    int64_t start = log ? nanosecondsNow() : 0;
    for (int64_t task = 0; task < tasks; ++task)
      function(context, task, workerNumber);
    if (log)
      (*log)[0].push_back({start, nanosecondsNow(), tasks});
    return;
  }
  std::lock_guard lock(oneJob_);
  function_ = function;
  context_ = context;
  tasks_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  open_ = true;
  ++generation_;
  generation_.notify_all();
  insideTask = true;
  work();
  insideTask = false;
  // All tasks are taken. A worker that comes inside from now on sees a closed job and
  // touches nothing; those inside finish what they took. (All these are sequentially
  // consistent: either we see it inside, or it sees the job closed.)
  open_ = false;
  if (!spinUntil(spinMicroseconds_, [&] { return inside_ == 0; }))
    for (int count; (count = inside_) != 0;)
      inside_.wait(count);
  if (thrown_)
    std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void ThreadPool::work() noexcept {
  try {
    int64_t start = log_ ? nanosecondsNow() : 0, done = 0;
    for (int64_t task; (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_; ++done)
      function_(context_, task, workerNumber);
    if (log_ && done > 0)
      (*log_)[size_t(workerNumber)].push_back({start, nanosecondsNow(), done});
  } catch (...) {
    next_.store(tasks_, std::memory_order_relaxed);
    std::lock_guard lock(thrownMutex_);
    if (!thrown_)
      thrown_ = std::current_exception();
  }
}

void ThreadPool::record(ThreadLog *log) {
  std::lock_guard lock(oneJob_);
  if (log)
    log->resize(size_t(threads()));
  log_ = log;
}

void ThreadPool::awaitChange(uint32_t seen) {
  if (!spinUntil(spinMicroseconds_, [&] { return generation_ != seen; }))
    generation_.wait(seen);
}

void ThreadPool::workerLoop(int number) {
  insideTask = true;
  workerNumber = number;
  for (uint32_t seen = 0; !stop_;) {
    awaitChange(seen);
    seen = generation_;
    ++inside_;
    if (open_)
      work();
    if (--inside_ == 0)
      inside_.notify_one();
  }
}

} // namespace minigptc::runtime
