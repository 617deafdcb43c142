//===- DataFolder.h - what `data prepare` leaves behind ---------*- C++ -*-===//
//
//   DataFolder folder("data");
//   MINIGPTC_RETURN_IF_ERROR(folder.checkComplete());
//   if (folder.exists())
//     open(folder.train());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_DATAFOLDER_H
#define MINIGPTC_RUNTIME_TEXT_DATAFOLDER_H

#include "minigptc/runtime/Status.h"

#include <filesystem>
#include <string>

namespace minigptc::runtime {

/// Names in a folder of token files.
class DataFolder {
public:
  explicit DataFolder(std::string path) : path_(std::move(path)) {}

  const std::string &path() const { return path_; }
  std::string train() const { return in("train.bin"); }
  std::string val() const { return in("val.bin"); }         ///< may be missing
  std::string tokenizer() const { return in("tokenizer"); } ///< may be missing
  /// How far an unfinished preparation is.
  std::string progress() const { return in("progress.json"); }

  /// An error where a preparation has begun in it and has not ended.
  Status checkComplete() const {
    std::error_code ignored;
    if (!std::filesystem::exists(progress(), ignored))
      return Status::success();
    return Status(StatusCode::failedPrecondition, "the data in '" + path_ + "' are not complete")
        .withHelp("`minigptc data prepare` with the same arguments goes on");
  }
  bool exists() const {
    std::error_code ignored;
    return std::filesystem::is_directory(path_, ignored);
  }
  /// What of the above there is; else an empty name.
  std::string valIfThere() const { return ifThere(val()); }
  std::string tokenizerIfThere() const { return ifThere(tokenizer()); }

private:
  std::string in(const char *name) const { return (std::filesystem::path(path_) / name).string(); }
  static std::string ifThere(std::string name) {
    std::error_code ignored;
    return std::filesystem::exists(name, ignored) ? name : std::string();
  }
  std::string path_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TEXT_DATAFOLDER_H
