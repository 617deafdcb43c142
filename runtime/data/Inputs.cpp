#include "runtime/data/Inputs.h"

#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/base/InputFile.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>

namespace fs = std::filesystem;

namespace minigptc::runtime {
namespace {

/// What a file's name says that it is; nothing for a name that says nothing.
std::optional<InputKind> kindOf(const fs::path &path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return tolower(c); });
  for (const char *lines : {".jsonl", ".ndjson", ".json"})
    if (extension == lines)
      return InputKind::jsonLines;
  for (const char *text : {".txt", ".text", ".md"})
    if (extension == text)
      return InputKind::text;
  return std::nullopt;
}

/// A zero near the beginning: UTF-16, an archive, an image, anything but a text.
Status checkIsText(const Input &input) {
  StatusOr<InputFile> file = InputFile::open(input.path);
  if (!file)
    return file.status();
  std::array<char, 8000> start;
  StatusOr<size_t> count = file->read(start);
  if (!count)
    return count.status();
  auto end = start.begin() + ptrdiff_t(*count), zero = std::find(start.begin(), end, '\0');
  if (zero == end)
    return Status::success();
  return Status(StatusCode::failedPrecondition, "'" + input.path +
                                                    "' is no text: it has a zero at byte " +
                                                    std::to_string(zero - start.begin()))
      .withHelp("a text in UTF-16 has to be converted to UTF-8, an archive unpacked");
}

class Lister {
public:
  Status add(const std::string &path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
      return addFolder(path);
    return addFile(path, kindOf(path).value_or(InputKind::text));
  }

  StatusOr<InputList> finish() {
    if (others_ > 0)
      list_.remarks.push_back(counted(others_, "file") + " in the folders not taken, which " +
                              (others_ == 1 ? "is" : "are") +
                              " not called .txt, .text, .md, .jsonl, .ndjson or .json");
    if (linked_ > 0)
      list_.remarks.push_back(counted(linked_, "link") +
                              " to folders in the folders not followed: name what they lead to");
    if (empty_ > 0)
      list_.remarks.push_back(counted(empty_, "file") + " without a byte");
    if (list_.files.empty())
      return Status(StatusCode::failedPrecondition,
                    "there is no text to prepare" +
                        (empty_ > 0 ? ", but " + counted(empty_, "file") + " without a byte" : ""))
          .withHelp(
              "of folders, files called .txt, .text, .md, .jsonl, .ndjson or .json are taken");
    return std::move(list_);
  }

private:
  Status addFolder(const std::string &path) {
    std::error_code error, ignored;
    std::vector<std::pair<std::string, InputKind>> found;
    std::string at = path; // what is looked into next
    for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
         it.increment(error)) {
      at = it->path().string();
      if (it->is_directory(ignored))
        linked_ += it->is_symlink(ignored);
      else if (std::optional<InputKind> kind = kindOf(it->path()))
        found.emplace_back(at, *kind);
      else
        ++others_;
    }
    if (error)
      return fileError(error.value(), "read the folder", at);
    std::ranges::sort(found);
    for (const auto &[file, kind] : found)
      MINIGPTC_RETURN_IF_ERROR(addFile(file, kind));
    return Status::success();
  }

  Status addFile(const std::string &path, InputKind kind) {
    std::error_code error;
    fs::file_status file = fs::status(path, error);
    if (!fs::exists(file))
      return fileError(error ? error.value() : ENOENT, "open", path);
    if (!fs::is_regular_file(file))
      return Status(StatusCode::failedPrecondition,
                    "cannot read '" + path + "': not a regular file");
    if (!seen_.insert(fs::weakly_canonical(path, error).string()).second)
      return Status(StatusCode::invalidArgument, "'" + path + "' is named twice");
    Input input{path, kind};
    uint64_t bytes = fs::file_size(path, error);
    if (!error)
      input.changed = fs::last_write_time(path, error).time_since_epoch().count();
    if (error)
      return fileError(error.value(), "read", path);
    if (bytes == 0) {
      ++empty_;
      return Status::success();
    }
    input.bytes = int64_t(bytes);
    MINIGPTC_RETURN_IF_ERROR(checkIsText(input));
    list_.files.push_back(std::move(input));
    return Status::success();
  }

  InputList list_;
  std::set<std::string> seen_;
  int64_t others_ = 0, linked_ = 0, empty_ = 0;
};

} // namespace

int64_t InputList::bytes() const {
  return std::accumulate(files.begin(), files.end(), int64_t(0),
                         [](int64_t sum, const Input &file) { return sum + file.bytes; });
}

StatusOr<InputList> listInputs(const std::vector<std::string> &paths) {
  Lister lister;
  for (const std::string &path : paths)
    MINIGPTC_RETURN_IF_ERROR(lister.add(path));
  return lister.finish();
}

} // namespace minigptc::runtime
