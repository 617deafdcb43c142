//===- Parts.h - a long text, part by part on several threads ---*- C++ -*-===//
//
// Collects a text that arrives in pieces, cuts it where its ids don't change by that
// (Cuts.h), and has the parts worked on at once: encoded, or their words counted.
//
//   PartedText text(cuts, threads, partBytes, worker);
//   MINIGPTC_RETURN_IF_ERROR(text.add(bytes));
//   MINIGPTC_RETURN_IF_ERROR(text.finish());
//
// The caller is one of the threads: it puts parts into a ring, from which the others take them,
// ends those that are done in the order of the text, and works on parts itself while the ring is
// full. So nobody waits at borders of batches, and reading and writing the text cost the caller
// time, but not the others.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_PARTS_H
#define MINIGPTC_RUNTIME_TEXT_PARTS_H

#include "minigptc/runtime/Status.h"
#include "runtime/text/Cuts.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

namespace minigptc::runtime::text {

struct Part {
  std::span<const uint8_t> bytes;
  size_t slot = 0; ///< of the ring: no other part has it until this one ends
  int worker = 0;  ///< in [0, threads); no two parts of one at once
};

/// What is done with the parts of a text.
class PartWorker {
public:
  virtual ~PartWorker() = default;
  /// On any thread.
  virtual void work(const Part &part) = 0;
  /// The part in this slot is worked on. In the order of the text, on the thread that adds it.
  /// A failure ends the text.
  virtual Status end(size_t slot) = 0;
};

/// Owns its threads, not the worker. Holds some parts for each thread; more where the text has no
/// cut for long.
class PartedText {
public:
  /// Threads with the caller, 32 at most; 0: one for each core.
  PartedText(Cuts cuts, int threads, size_t partBytes, PartWorker &worker);

  int threads() const { return threads_; }
  size_t slots() const { return ring_.size(); }

  /// dataLoss where the text has no cut for 256 MiB.
  Status add(std::string_view bytes);
  /// The text ends; the next `add` begins another one.
  Status finish();
  /// Bytes of all parts that have ended, from the first text on.
  int64_t processed() const { return processed_; }

private:
  struct Slot {
    std::vector<uint8_t> text;
    bool done = false;
    std::exception_ptr failure = {};
  };
  using Lock = std::unique_lock<std::mutex>;

  size_t least() const;
  /// Cuts off parts of what has arrived.
  Status putParts();
  Status put(std::span<const uint8_t> text);
  /// Ends the oldest part; works on others until it is done.
  Status endOldest();
  /// Works on the next part that nobody has taken, which there is.
  void workOnNext(Lock &lock, int worker);
  void loop(std::stop_token stop, int worker);
  void giveUp();
  Slot &slot(size_t part) { return ring_[part % ring_.size()]; }

  Cuts cuts_;
  int threads_;
  size_t partBytes_;
  PartWorker &worker_;
  std::vector<uint8_t> arriving_;
  size_t wanted_; ///< bytes with which a part is looked for
  int64_t processed_ = 0;

  std::mutex mutex_; ///< of all below but the text of a part that a thread has
  std::condition_variable_any queued_;
  std::condition_variable done_;
  std::vector<Slot> ring_;
  size_t oldest_ = 0, next_ = 0, end_ = 0; ///< parts: not ended, not taken, not put
  std::vector<std::jthread> workers_;      ///< the last member: they use the others
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_PARTS_H
