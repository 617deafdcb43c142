//===- PartialFile.h - a file that is written in several runs ---*- C++ -*-===//
//
// Grows as NAME.partial and gets its name when it is complete. Unlike an AtomicFile it stays
// where the process ends before that, so that the next one can go on.
//
//   StatusOr<PartialFile> file = PartialFile::open("train.bin", /*length=*/0);
//   MINIGPTC_RETURN_IF_ERROR(file->write(bytes));
//   MINIGPTC_RETURN_IF_ERROR(file->sync());        // what is written so far will be there
//   MINIGPTC_RETURN_IF_ERROR(file->commit());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DATA_PARTIALFILE_H
#define MINIGPTC_RUNTIME_DATA_PARTIALFILE_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace minigptc::runtime {

/// Movable.
class PartialFile {
public:
  /// Keeps the first `length` bytes of what an earlier run has written, which must be there. The
  /// file is locked: failedPrecondition if another process, or another object, is writing it.
  static StatusOr<PartialFile> open(const std::string &path, int64_t length);
  /// The name while it grows.
  static std::string partialName(const std::string &path) { return path + ".partial"; }
  PartialFile(PartialFile &&other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~PartialFile();

  Status write(std::span<const std::byte> bytes);
  Status sync();
  /// Flushes and renames. Nothing may be written after.
  Status commit();

private:
  PartialFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DATA_PARTIALFILE_H
