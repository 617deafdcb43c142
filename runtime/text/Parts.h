//===- Parts.h - a long text, part by part on several threads ---*- C++ -*-===//
//
// Collects a text that arrives in pieces, cuts it where its ids don't change by that
// (Cuts.h), and has the parts worked on at once: encoded, or their words counted.
//
//   PartedText text(cuts, pool, partBytes, worker);
//   MINIGPTC_RETURN_IF_ERROR(text.add(bytes));
//   MINIGPTC_RETURN_IF_ERROR(text.finish());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_PARTS_H
#define MINIGPTC_RUNTIME_TEXT_PARTS_H

#include "runtime/base/ThreadPool.h"
#include "runtime/text/Cuts.h"

namespace minigptc::runtime::text {

struct Part {
  std::span<const uint8_t> bytes;
  size_t index = 0; ///< in its batch
  int worker = 0;   ///< in [0, threads); no two parts of one at once
};

/// What is done with the parts of a text.
class PartWorker {
public:
  virtual ~PartWorker() = default;
  /// A batch of so many parts begins.
  virtual void begin(size_t parts) = 0;
  /// On any thread.
  virtual void work(const Part &part) = 0;
  /// All parts of the batch are worked on. A failure ends the text.
  virtual Status end(size_t parts) = 0;
};

/// Owns neither the pool nor the worker. Holds a batch, some parts for each thread; more
/// where the text has no cut for long.
class PartedText {
public:
  PartedText(Cuts cuts, ThreadPool &pool, size_t partBytes, PartWorker &worker);

  Status add(std::string_view bytes);
  /// The text ends; the next `add` begins another one.
  Status finish();
  /// Bytes of all texts that are worked on, from the first on.
  int64_t processed() const { return processed_; }

private:
  size_t batchBytes() const;
  Status processUpToCut();
  /// The first `length` bytes of the buffer, which end at a cut or at the end of the text.
  Status process(size_t length);
  void setEnds(size_t length);

  Cuts cuts_;
  ThreadPool &pool_;
  size_t partBytes_;
  PartWorker &worker_;
  std::vector<uint8_t> buffer_;
  size_t wanted_;            ///< bytes in the buffer with which a batch begins
  std::vector<size_t> ends_; ///< of the parts of a batch
  int64_t processed_ = 0;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_PARTS_H
