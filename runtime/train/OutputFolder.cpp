#include "runtime/train/OutputFolder.h"

#include "runtime/base/File.h"

#include <filesystem>

namespace minigptc::runtime {

namespace fs = std::filesystem;

std::string OutputFolder::file(const std::string &name) const {
  return (fs::path(path_) / name).string();
}

bool OutputFolder::holdsRun() const {
  std::error_code ignored;
  return fs::exists(config(), ignored) || fs::exists(checkpoints(), ignored);
}

StatusOr<OutputFolder> OutputFolder::open(const std::string &path, bool resume) {
  if (path.empty())
    return Status(StatusCode::invalidArgument, "no output folder").withHelp("give --out DIR");
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_directory(status))
    return Status(StatusCode::invalidArgument,
                  "the output folder '" + path + "' is a file, not a folder");
  if (fs::is_directory(status) && !resume) {
    bool empty = fs::is_empty(path, error);
    if (error)
      return fileError(error.value(), "read the output folder", path);
    if (!empty)
      return Status(StatusCode::invalidArgument, "the output folder '" + path + "' is not empty")
          .withHelp("--resume goes on with what is there; or choose another --out");
  }
  MINIGPTC_RETURN_IF_ERROR(createDirectories(path));
  OutputFolder folder(path);
  MINIGPTC_RETURN_IF_ERROR(checkWritable(folder.metrics()));
  return folder;
}

} // namespace minigptc::runtime
