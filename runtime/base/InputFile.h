//===- InputFile.h - a file or the standard input, piece by piece -*- C++ -*-===//
//
//   StatusOr<InputFile> input = InputFile::open("-");
//   std::vector<char> buffer(1 << 18);
//   for (;;) {
//     StatusOr<size_t> count = input->read(buffer);    // 0: the end
//     ...
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_INPUTFILE_H
#define MINIGPTC_RUNTIME_BASE_INPUTFILE_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace minigptc::runtime {

/// For files larger than memory, and for pipes. Movable.
class InputFile {
public:
  /// "-": the standard input.
  static StatusOr<InputFile> open(const std::string &path);
  InputFile(InputFile &&other) noexcept
      : name_(std::move(other.name_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  InputFile &operator=(InputFile &&other) noexcept {
    std::swap(name_, other.name_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~InputFile();

  /// Fills the buffer, but for the last piece. 0: the end.
  StatusOr<size_t> read(std::span<char> buffer);
  /// The next byte to read is that of this offset. Not of a pipe.
  Status seek(int64_t offset);
  /// For messages.
  const std::string &name() const { return name_; }

private:
  InputFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  std::string name_;
  int descriptor_ = -1;
};

/// What is wrong with an input's contents (dataLoss), with its name as the place; other failures as
/// they are.
Status atInput(Status status, const std::string &name);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_INPUTFILE_H
