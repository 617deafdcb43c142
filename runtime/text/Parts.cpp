#include "runtime/text/Parts.h"

#include "runtime/base/ThreadPool.h"

#include <algorithm>
#include <utility>

namespace minigptc::runtime::text {

/// A stretch of this length takes about 8 GiB to encode, and is no text. Places within a piece have
/// 32 bits (PieceEncoder).
static constexpr size_t kLongest = size_t(1) << 28;
/// For each thread: so many that none waits for another, or for the caller's reading and writing.
static constexpr size_t kSlots = 8;
/// More would wait for the caller, who reads and writes by itself, and take memory.
static constexpr int kMostThreads = 32;

PartedText::PartedText(Cuts cuts, int threads, size_t partBytes, PartWorker &worker)
    : cuts_(cuts), threads_(std::min(threads > 0 ? threads : availableCores(), kMostThreads)),
      partBytes_(std::clamp<size_t>(partBytes, 1, size_t(1) << 24)), worker_(worker),
      wanted_(least()), ring_(threads_ == 1 ? 1 : kSlots * size_t(threads_)) {
  for (int i = 1; i < threads_; ++i)
    workers_.emplace_back([this, i](std::stop_token stop) { loop(stop, i); });
}

Status PartedText::add(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t taken = std::min(bytes.size(), wanted_ - arriving_.size());
    arriving_.insert(arriving_.end(), bytes.begin(), bytes.begin() + ptrdiff_t(taken));
    bytes.remove_prefix(taken);
    if (arriving_.size() < wanted_)
      continue;
    if (Status status = putParts(); !status) {
      giveUp();
      return status;
    }
  }
  return Status::success();
}

Status PartedText::finish() {
  Status status = putParts();
  if (status && !arriving_.empty())
    status = put(arriving_); // nobody is woken for it: the caller is free
  while (status && oldest_ != end_)
    status = endOldest();
  giveUp();
  return status;
}

/// A part and some more behind it, where a cut is looked for.
size_t PartedText::least() const { return partBytes_ + std::max<size_t>(partBytes_ / 16, 32); }

Status PartedText::putParts() {
  std::span<const uint8_t> rest(arriving_);
  while (rest.size() > partBytes_) {
    const uint8_t *cut = cuts_.first(rest.data() + partBytes_, rest);
    if (!cut)
      break;
    size_t length = size_t(cut - rest.data());
    MINIGPTC_RETURN_IF_ERROR(put(rest.first(length)));
    queued_.notify_one();
    rest = rest.subspan(length);
  }
  if (rest.size() >= kLongest)
    return Status(StatusCode::dataLoss, "the text has " + std::to_string(rest.size() >> 20) +
                                            " MiB without a place where it can be cut")
        .withHelp("is it a text?");
  wanted_ = rest.size() > partBytes_ ? std::clamp(2 * rest.size(), least(), kLongest) : least();
  arriving_.erase(arriving_.begin(), arriving_.end() - ptrdiff_t(rest.size()));
  return Status::success();
}

Status PartedText::put(std::span<const uint8_t> text) {
  if (end_ - oldest_ == ring_.size())
    MINIGPTC_RETURN_IF_ERROR(endOldest());
  Slot &free = slot(end_); // nobody looks at it
  free.text.assign(text.begin(), text.end());
  free.done = false;
  free.failure = nullptr;
  Lock lock(mutex_);
  ++end_;
  return Status::success();
}

Status PartedText::endOldest() {
  Slot &oldest = slot(oldest_);
  {
    Lock lock(mutex_);
    while (!oldest.done)
      if (next_ != end_)
        workOnNext(lock, /*worker=*/0);
      else
        done_.wait(lock);
  }
  if (oldest.failure)
    std::rethrow_exception(oldest.failure); // Whoever goes on meets it again.
  MINIGPTC_RETURN_IF_ERROR(worker_.end(oldest_ % ring_.size()));
  processed_ += int64_t(oldest.text.size());
  ++oldest_;
  return Status::success();
}

void PartedText::workOnNext(Lock &lock, int worker) {
  size_t part = next_++;
  Slot &taken = slot(part);
  lock.unlock();
  try {
    worker_.work({taken.text, part % ring_.size(), worker});
  } catch (...) {
    taken.failure = std::current_exception();
  }
  lock.lock();
  taken.done = true;
  done_.notify_one();
}

void PartedText::loop(std::stop_token stop, int worker) {
  Lock lock(mutex_);
  while (queued_.wait(lock, stop, [&] { return next_ != end_; }) && !stop.stop_requested())
    workOnNext(lock, worker);
}

/// What is left of the text goes nowhere.
void PartedText::giveUp() {
  Lock lock(mutex_);
  size_t taken = std::exchange(next_, end_);
  for (; oldest_ != taken; ++oldest_)
    done_.wait(lock, [&] { return slot(oldest_).done; });
  oldest_ = end_;
  arriving_.clear();
  wanted_ = least();
}

} // namespace minigptc::runtime::text
