//===- Checkpoint.h - the state of a run on disk ----------------*- C++ -*-===//
//
// `checkpoints/step-N/` holds the state after N steps:
//
//   manifest.json   {"format": 1, "step": N, "seed": 42, "next_sample": N·B,
//                    "skipped": 0, "config": {…}, "tensors": [{"name":
//                    "state.params.lm_head.weight", "dtype": "f32", "shape": [64, 256],
//                    "slices": [{"start": [0, 0], "shape": [64, 256], "file": "data-0.bin",
//                                "offset": 0, "bytes": 65536, "hash": "…"}]}],
//                    "hash": "…"}
//                   With "products": {"library": "cuBLASLt 13.1.0 on NVIDIA H200", "algorithms":
//                   {"64x64x32 lhs …": "id 21, tile 20, …"}} where there was a choice of those.
//   data-0.bin      the slices' bytes, row-major, little-endian, each at a multiple of 64
//   data-1.bin, …   of several processes, each writes what its devices hold, in a folder that
//                   all of them see
//
// Hashes are XXH64 in hexadecimal; the manifest's is that of its text without the
// entry "hash". A tensor may be cut into slices that cover it exactly once, so a
// checkpoint does not depend on the mesh that wrote it: of a sharded tensor each distinct part
// is a slice, and reading puts them together. The folder is written under
// a temporary name, flushed, then renamed: it is complete when its manifest exists. Of several
// processes, the first one does that when all others have written.
// The format stays readable for good; `format` counts its versions.
//
//   Checkpoint checkpoint{.step = 100, .seed = 42, .nextSample = 1600, .config = config};
//   checkpoint.tensors = {{"state.params.w", w}};
//   StatusOr<std::string> folder = saveCheckpoint("runs/a/checkpoints", checkpoint, /*keep=*/0);
//   StatusOr<Checkpoint> newest = loadNewestCheckpoint("runs/a/checkpoints", remarks);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_CHECKPOINT_H
#define MINIGPTC_RUNTIME_TRAIN_CHECKPOINT_H

#include "minigptc/runtime/Array.h"
#include "minigptc/runtime/Session.h"
#include "runtime/train/RunConfig.h"

#include <functional>

namespace minigptc::runtime {

struct Checkpoint {
  int64_t step = 0; ///< steps done
  uint64_t seed = 0;
  int64_t nextSample = 0; ///< number of the first sample that was not seen
  int64_t skipped = 0;    ///< steps whose update was rejected
  RunConfig config = {};
  ProductAlgorithms products = {};                         ///< of the program that made the steps
  std::vector<std::pair<std::string, Array>> tensors = {}; ///< by path, `state.…`
  /// Of one that was read: the hash of its manifest, which has those of all data.
  uint64_t contentHash = 0;
};

/// Writes `root/step-N` and returns its path. `keep` > 0: removes all but the
/// newest so many afterwards. On failure everything that was there stays. With `processes`,
/// all of them call it, and succeed or fail together.
StatusOr<std::string> saveCheckpoint(const std::string &root, const Checkpoint &checkpoint,
                                     int64_t keep, ProcessGroup *processes = nullptr);

/// Reads one folder, everything verified; the error names the damaged file.
StatusOr<Checkpoint> loadCheckpoint(const std::string &folder);

/// Reads the newest complete one, telling `remark` of each that is skipped and why.
/// notFound: there is none at all; dataLoss: none of those there is usable.
StatusOr<Checkpoint> loadNewestCheckpoint(const std::string &root,
                                          const std::function<void(const std::string &)> &remark);

/// Steps of the folders `step-N` in `root`, ascending, complete or not.
std::vector<int64_t> listCheckpoints(const std::string &root);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_CHECKPOINT_H
