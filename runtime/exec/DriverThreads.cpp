#include "runtime/exec/DriverThreads.h"

#include <exception>

namespace minigptc::runtime {

StatusOr<std::unique_ptr<DriverThreads>> DriverThreads::create(int64_t devices) {
  std::unique_ptr<DriverThreads> all(new DriverThreads());
  for (int64_t device = 0; devices > 1 && device < devices; ++device) {
    try {
      all->threads_.emplace_back([threads = all.get(), device] { threads->loop(device); });
    } catch (const std::exception &) { // Of the system, or for want of memory.
      return Status(StatusCode::resourceExhausted, "the system gives no thread for device " +
                                                       std::to_string(device) + " of " +
                                                       std::to_string(devices));
    }
  }
  return all;
}

DriverThreads::~DriverThreads() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  started_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

void DriverThreads::run(const std::function<void(int64_t)> &work) {
  if (threads_.empty())
    return work(0);
  std::unique_lock lock(mutex_);
  work_ = &work;
  busy_ = threads_.size();
  ++round_;
  started_.notify_all();
  ended_.wait(lock, [&] { return busy_ == 0; });
}

void DriverThreads::loop(int64_t device) {
  std::unique_lock lock(mutex_);
  for (uint64_t seen = 0;;) {
    started_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_)
      return;
    seen = round_;
    const std::function<void(int64_t)> &work = *work_;
    lock.unlock();
    work(device);
    lock.lock();
    if (--busy_ == 0)
      ended_.notify_all();
  }
}

} // namespace minigptc::runtime
