//===- Progress.h - how far an unfinished preparation is --------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_DATA_PROGRESS_H
#define MINIGPTC_RUNTIME_DATA_PROGRESS_H

#include "runtime/data/SplitWriter.h"

namespace minigptc::runtime {

struct PreparationState {
  std::string job; ///< hash of all that decides on the result
  SplitState train = {}, val = {};
};

Status savePreparation(const std::string &path, const PreparationState &state);
/// Nothing if there is no file. dataLoss if it is damaged.
StatusOr<std::optional<PreparationState>> loadPreparation(const std::string &path);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DATA_PROGRESS_H
