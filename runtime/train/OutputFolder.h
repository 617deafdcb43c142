//===- OutputFolder.h - where a run leaves its files ------------*- C++ -*-===//
//
//   StatusOr<OutputFolder> out = OutputFolder::open("runs/tiny", /*resume=*/false);
//   out->metrics();      // "runs/tiny/metrics.jsonl"
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_OUTPUTFOLDER_H
#define MINIGPTC_RUNTIME_TRAIN_OUTPUTFOLDER_H

#include "minigptc/runtime/Status.h"

#include <memory>
#include <string>

namespace minigptc::runtime {

class OutputFolder {
public:
  /// Makes the folder where it is missing and tries whether it can be written to.
  /// One that holds anything is refused unless `resume`, and one that a running process
  /// has open always: two runs would remove each other's files. It is open until all
  /// copies of the object are gone; one that was made and is empty still is removed then.
  static StatusOr<OutputFolder> open(const std::string &path, bool resume);
  /// Names only; nothing is touched.
  explicit OutputFolder(std::string path) : path_(std::move(path)) {}

  const std::string &path() const { return path_; }
  std::string config() const { return file("config.yaml"); }
  std::string metrics() const { return file("metrics.jsonl"); }
  std::string summary() const { return file("summary.json"); }
  std::string tokenizer() const { return file("tokenizer"); }
  std::string checkpoints() const { return file("checkpoints"); }
  /// Batch and key of a step whose loss or gradient was not finite.
  std::string nonFinite(int64_t step) const {
    return file("nonfinite-step-" + std::to_string(step) + ".safetensors");
  }
  /// True if a run was started here.
  bool holdsRun() const;

private:
  std::string file(const std::string &name) const;
  std::string path_;
  std::shared_ptr<const int> lock_; ///< the folder's descriptor
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_OUTPUTFOLDER_H
