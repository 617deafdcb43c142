//===- NextLogits.h - what a language model says comes next -----*- C++ -*-===//
//
// The logits after a window of tokens. A program with the entries `prefill` and `decode`
// keeps a cache of keys and values: tokens that the window shares with the one asked for
// before, from its beginning on, are not computed again. One token more costs a run of
// `decode`; other tokens go through `prefill` in pieces of its size. A window that has
// slid shares nothing, because every token stands at another position: all of it is
// computed, so that the logits are those of the entry `logits` but for rounding. A program
// without the two entries computes the whole window by `logits` each time.
//
//   StatusOr<std::unique_ptr<NextLogits>> logits = NextLogits::create(program, parameters);
//   StatusOr<Array> scores = (*logits)->after(tokens);      // f32 [V]
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_NEXTLOGITS_H
#define MINIGPTC_RUNTIME_TRAIN_NEXTLOGITS_H

#include "runtime/train/TrainingProgram.h"
#include "runtime/train/WeightFile.h"

#include <memory>
#include <span>

namespace minigptc::runtime {

class NextLogits {
public:
  /// `program` outlives it. Fails if the program can't give logits.
  static StatusOr<std::unique_ptr<NextLogits>> create(TrainingProgram &program,
                                                      const NamedArrays &parameters);
  virtual ~NextLogits() = default;
  /// The most tokens that the model sees.
  virtual int64_t window() const = 0;
  /// Logits after the last of the tokens, of which there are 1 to `window()`.
  virtual StatusOr<Array> after(std::span<const int32_t> tokens) = 0;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_NEXTLOGITS_H
