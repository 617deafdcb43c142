#include "runtime/train/OutputFolder.h"

#include "runtime/base/File.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

namespace minigptc::runtime {

namespace fs = std::filesystem;

std::string OutputFolder::file(const std::string &name) const {
  return (fs::path(path_) / name).string();
}

bool OutputFolder::holdsRun() const {
  std::error_code ignored;
  return fs::exists(config(), ignored) || fs::exists(checkpoints(), ignored);
}

/// A descriptor that holds the folder's lock, null on file systems without locks.
static StatusOr<std::shared_ptr<const int>> lockFolder(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return fileError(errno, "open the output folder", path);
  std::shared_ptr<const int> lock(new int(descriptor), [](const int *held) {
    close(*held);
    delete held;
  });
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return lock;
  if (errno == EWOULDBLOCK)
    return Status(StatusCode::failedPrecondition,
                  "another run is writing to the output folder '" + path + "'")
        .withHelp("wait for its end, or choose another --out");
  return std::shared_ptr<const int>();
}

/// As `lock`; then the folder, which was made for this run, goes if nothing came into it.
static std::shared_ptr<const int> removeIfEmpty(const std::string &path,
                                                std::shared_ptr<const int> lock) {
  const int *held = lock.get();
  return std::shared_ptr<const int>(held, [path, lock = std::move(lock)](const int *) mutable {
    ::rmdir(path.c_str()); // Fails if anything is in it.
    lock.reset();
  });
}

StatusOr<OutputFolder> OutputFolder::open(const std::string &path, bool resume) {
  if (path.empty())
    return Status(StatusCode::invalidArgument, "no output folder").withHelp("give --out DIR");
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_directory(status))
    return Status(StatusCode::invalidArgument,
                  "the output folder '" + path + "' is a file, not a folder");
  MINIGPTC_RETURN_IF_ERROR(createDirectories(path));
  StatusOr<std::shared_ptr<const int>> lock = lockFolder(path);
  if (!lock)
    return lock.status();
  if (!resume) {
    bool empty = fs::is_empty(path, error);
    if (error)
      return fileError(error.value(), "read the output folder", path);
    if (!empty)
      return Status(StatusCode::invalidArgument, "the output folder '" + path + "' is not empty")
          .withHelp("--resume goes on with what is there; or choose another --out");
  }
  OutputFolder folder(path);
  folder.lock_ = fs::exists(status) ? *std::move(lock) : removeIfEmpty(path, *std::move(lock));
  MINIGPTC_RETURN_IF_ERROR(checkWritable(folder.metrics()));
  return folder;
}

} // namespace minigptc::runtime
