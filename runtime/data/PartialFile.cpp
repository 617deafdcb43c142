#include "runtime/data/PartialFile.h"

#include "runtime/base/File.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace minigptc::runtime {

StatusOr<PartialFile> PartialFile::open(const std::string &path, int64_t length) {
  std::string name = partialName(path);
  int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return fileError(errno, "write", name);
  PartialFile file(path, descriptor);
  // Some file systems have no locks, and say something else.
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Status(StatusCode::failedPrecondition, "'" + name + "' is written by another process")
        .withHelp("wait until it has ended, or write elsewhere");
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return fileError(errno, "read", name);
  if (info.st_size < length)
    return Status(StatusCode::dataLoss, "'" + name + "' has " + std::to_string(info.st_size) +
                                            " bytes, but " + std::to_string(length) +
                                            " were written");
  if (ftruncate(descriptor, length) != 0 || lseek(descriptor, length, SEEK_SET) != length)
    return fileError(errno, "write", name);
  return file;
}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0)
    close(descriptor_);
}

Status PartialFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fileError(errno, "write", partialName(path_));
    bytes = bytes.subspan(size_t(count));
  }
  return Status::success();
}

Status PartialFile::sync() {
  return fdatasync(descriptor_) == 0 ? Status::success()
                                     : fileError(errno, "write", partialName(path_));
}

Status PartialFile::commit() {
  MINIGPTC_RETURN_IF_ERROR(sync());
  if (rename(partialName(path_).c_str(), path_.c_str()) != 0)
    return fileError(errno, "write", path_);
  close(std::exchange(descriptor_, -1));
  std::string folder = std::filesystem::path(path_).parent_path().string();
  return syncDirectory(folder.empty() ? "." : folder);
}

} // namespace minigptc::runtime
