//===- SplitWriter.h - documents into a token file --------------*- C++ -*-===//
//
//   StatusOr<SplitWriter> train = SplitWriter::open("train.bin", format, {});
//   MINIGPTC_RETURN_IF_ERROR(train->begin(place));
//   MINIGPTC_RETURN_IF_ERROR(train->add(bytes));        // any number of times
//   MINIGPTC_RETURN_IF_ERROR(train->end());             // and the separator
//   StatusOr<SplitState> now = train->state(next);      // from where another run can go on
//   MINIGPTC_RETURN_IF_ERROR(train->finish());
//   MINIGPTC_RETURN_IF_ERROR(train->commit());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DATA_SPLITWRITER_H
#define MINIGPTC_RUNTIME_DATA_SPLITWRITER_H

#include "runtime/data/Documents.h"
#include "runtime/data/PartialFile.h"
#include "runtime/text/TokenFile.h"

#include <deque>
#include <memory>

namespace minigptc::runtime {

struct SplitFormat {
  Tokenizer tokenizer;
  std::optional<SpecialToken> separator; ///< after each document that does not end with it
  int threads = 1;
};

/// How far a split is: what is before these bytes of this document is in its file.
struct SplitState {
  DocumentPlace place;
  int64_t skip = 0; ///< bytes of the document at `place` (and its separator) that are done
  int64_t tokens = 0, textBytes = 0,
          documents = 0; ///< in the file; of the documents before `place`
};

/// The documents of one token file. Movable.
class SplitWriter {
public:
  /// Goes on from a state: the next document that begins is that at its place.
  static StatusOr<SplitWriter> open(const std::string &path, const SplitFormat &format,
                                    const SplitState &from);
  SplitWriter(SplitWriter &&) noexcept;
  ~SplitWriter();

  Status begin(const DocumentPlace &place);
  Status add(std::string_view bytes);
  Status end();

  /// What is on disk, after a flush. `current` is the document that is being read, of this split
  /// or another one, or will be read next.
  StatusOr<SplitState> state(const DocumentPlace &current);
  /// The last document has ended.
  Status finish();
  /// Token file and side file get their names.
  Status commit();

  int64_t tokens() const;
  int64_t documents() const;
  int64_t textBytes() const;

private:
  class Impl;
  explicit SplitWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DATA_SPLITWRITER_H
