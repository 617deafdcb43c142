//===- File.h - whole files in, whole files out -----------------*- C++ -*-===//
//
// A file that is written appears under its name only when it is complete and on
// disk: a crash or a full disk leaves the old one, or none.
//
//   StatusOr<AtomicFile> file = AtomicFile::create("weights.bin");
//   MINIGPTC_RETURN_IF_ERROR(file->write(bytes));
//   MINIGPTC_RETURN_IF_ERROR(file->commit());
//
// Messages name the file and the system's reason. Missing: notFound; disk full:
// resourceExhausted; anything else: failedPrecondition.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_FILE_H
#define MINIGPTC_RUNTIME_BASE_FILE_H

#include "minigptc/runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minigptc::runtime {

/// The failed system call's status: "cannot <action> '<path>': <reason of errno>".
Status fileError(int error, std::string_view action, std::string_view path);

/// The contents of a regular file.
StatusOr<std::vector<std::byte>> readFile(const std::string &path);
StatusOr<std::string> readTextFile(const std::string &path);

Status writeFileAtomically(const std::string &path, std::span<const std::byte> bytes);
Status writeFileAtomically(const std::string &path, std::string_view text);

/// Fails if a file of that name could not be written: checked before hours of work.
Status checkWritable(const std::string &path);

/// Fails if the folder is there and cannot be written to, or could not be made: checked before
/// hours of work. Makes nothing.
Status checkFolderWritable(const std::string &path);

/// Makes the folder and its parents where they are missing.
Status createDirectories(const std::string &path);

/// Flushes a folder's entries (names made, renamed, removed) to disk.
Status syncDirectory(const std::string &path);

/// A file being written under a temporary name in its own folder. Movable; without
/// a successful `commit` the destructor removes what was written. Of a link, the file
/// that it leads to is replaced; a device or pipe is never replaced, but written to as it is.
class AtomicFile {
public:
  static StatusOr<AtomicFile> create(const std::string &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  uint64_t size() const { return size_; }
  /// Flushes to disk and gives the file its name. Nothing may be written after.
  Status commit();

private:
  AtomicFile(std::string path, std::string temporary, int descriptor)
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  static StatusOr<AtomicFile> openSpecial(const std::string &path);
  void discard();

  std::string path_, temporary_; ///< no temporary name: a device or pipe
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

/// A regular file of which parts are read when they are wanted, for data too big to load. A
/// mapping would end the process where the file is cut short meanwhile. Movable.
class RandomAccessFile {
public:
  static StatusOr<RandomAccessFile> open(const std::string &path);
  RandomAccessFile(RandomAccessFile &&other) noexcept;
  ~RandomAccessFile();

  /// In bytes, when it was opened.
  uint64_t size() const { return size_; }
  /// Bytes [offset, offset + out.size()). Thread-safe. dataLoss if the file has become shorter.
  Status read(uint64_t offset, std::span<std::byte> out) const;

private:
  RandomAccessFile(std::string path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_FILE_H
