#include "runtime/base/InputFile.h"

#include "runtime/base/File.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace minigptc::runtime {

StatusOr<InputFile> InputFile::open(const std::string &path) {
  if (path == "-")
    return InputFile("standard input", STDIN_FILENO);
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return fileError(errno, "open", path);
  return InputFile(path, descriptor);
}

InputFile::~InputFile() {
  if (descriptor_ > STDIN_FILENO)
    close(descriptor_);
}

StatusOr<size_t> InputFile::read(std::span<char> buffer) {
  size_t filled = 0;
  while (filled < buffer.size()) {
    ssize_t count = ::read(descriptor_, buffer.data() + filled, buffer.size() - filled);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fileError(errno, "read", name_);
    if (count == 0)
      break;
    filled += size_t(count);
  }
  return filled;
}

Status InputFile::seek(int64_t offset) {
  return lseek(descriptor_, offset, SEEK_SET) == offset ? Status::success()
                                                        : fileError(errno, "read", name_);
}

Status atInput(Status status, const std::string &name) {
  return status.code() == StatusCode::dataLoss && status.place().empty()
             ? std::move(status).at(name)
             : status;
}

} // namespace minigptc::runtime
