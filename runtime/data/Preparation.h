//===- Preparation.h - texts into token files to train on -------*- C++ -*-===//
//
//   PreparationOptions options{.inputs = {"books"}, .folder = "data", .valFraction = 0.01};
//   StatusOr<PreparationReport> report = prepareData(tokenizer, options);
//
// Writes what DataFolder.h names. An unfinished preparation (interrupted, disk full) is gone on
// with by the same call: `progress.json` says from where, for the same inputs, tokenizer and
// options. The files are the same then, and for any number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DATA_PREPARATION_H
#define MINIGPTC_RUNTIME_DATA_PREPARATION_H

#include "minigptc/runtime/Tokenizer.h"

#include <functional>

namespace minigptc::runtime {

struct PreparationOptions {
  std::vector<std::string> inputs; ///< files and folders (Inputs.h)
  std::string folder;              ///< to write to
  std::string field = "text";      ///< of JSON Lines
  double valFraction = 0;          ///< held out, in [0, 1); see Documents.h
  /// The special token that ends documents. Nothing: the usual one (usualSeparator), if the
  /// tokenizer has it; empty: none.
  std::optional<std::string> separator = {};
  int threads = 0;      ///< 0: one for each core
  bool restart = false; ///< drop an unfinished preparation

  /// From time to time: bytes of the inputs that are read, and all, and tokens so far.
  std::function<void(int64_t bytes, int64_t all, int64_t tokens)> progress = {};
  std::function<void(const std::string &)> remark = {};
  int64_t saveEveryBytes = int64_t(1) << 27; ///< of the inputs; progress on disk
};

struct PreparationReport {
  struct Split {
    int64_t documents = 0, tokens = 0, textBytes = 0;
  };
  Split train, val;
};

/// cancelled: interrupted (Cancellation.h); what is done is kept.
StatusOr<PreparationReport> prepareData(const Tokenizer &tokenizer,
                                        const PreparationOptions &options);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DATA_PREPARATION_H
