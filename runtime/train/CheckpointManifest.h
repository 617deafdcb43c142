//===- CheckpointManifest.h - manifest.json of a checkpoint -----*- C++ -*-===//
//
// The text form of what Checkpoint.h describes, and its checks: a manifest is
// untrusted until its hash, types, shapes and slices have been looked at.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_CHECKPOINTMANIFEST_H
#define MINIGPTC_RUNTIME_TRAIN_CHECKPOINTMANIFEST_H

#include "minigptc/runtime/Session.h"
#include "minigptc/runtime/TensorType.h"
#include "runtime/train/RunConfig.h"

namespace minigptc::runtime {

/// A block of a tensor: where it lies in the tensor and in a data file.
struct TensorSlice {
  Shape start, shape;
  std::string file; ///< a name in the checkpoint's folder
  uint64_t offset = 0, bytes = 0;
  uint64_t hash = 0; ///< XXH64
};

struct StoredSlices {
  std::string name;
  TensorType type; ///< global
  std::vector<TensorSlice> slices;
};

/// Slices of tensors in a text, for a manifest that another process writes.
std::string toText(const std::vector<StoredSlices> &tensors);
/// Adds the slices of such a text to those of the same tensors.
Status addSlices(std::vector<StoredSlices> &tensors, const std::string &text);

struct CheckpointManifest {
  int64_t step = 0;
  uint64_t seed = 0;
  int64_t nextSample = 0, skipped = 0;
  RunConfig config = {};
  ProductAlgorithms products = {}; ///< none in manifests of before there were any
  std::vector<StoredSlices> tensors = {};

  std::string toJson() const;
  /// Checks everything that needs no data file; slices lie inside their tensors,
  /// do not overlap and cover them. The message says what is wrong, not where.
  static StatusOr<CheckpointManifest> fromJson(const std::string &text);
};

/// The version that this code writes.
inline constexpr int64_t kCheckpointFormat = 1;

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_CHECKPOINTMANIFEST_H
