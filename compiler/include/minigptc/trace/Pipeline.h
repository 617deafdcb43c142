//===- Pipeline.h - a model on several groups of devices --------*- C++ -*-===//
//
// A mesh's axis `stage` of size G makes the devices G groups, the *stages* of a pipeline, each with
// a part of the model, through which a batch goes in micro-batches. The model is cut into *pieces*,
// numbered as a batch goes through them: G of them, or G·chunks; piece p is on stage p mod G. A model
// says to which piece its layers belong, in the order of the layers:
//
//   for (size_t i = 0; i < blocks.size(); ++i) {
//     PieceScope piece(pieceOfBlock[i]);              // modules called now are of this piece
//     x = blocks[i](x);
//   }
//   blocks.setPieces({0, 0, 1, 1});                   // the same of an nn::Sequential
//
//   Program program = trace({…, {"train_step", step, …, {.mesh = {{"stage", 2}, {"data", 4}}}}});
//   setPipeline(program, {.schedule = "1f1b"});
//
// All else needs no word. What comes before the first piece (an embedding) is on its stage, what comes
// behind the last (a head, the loss) on that one's; parameters, their gradients and moments
// are where they are used. Micro-batches are the calls of a `scan` in whose body the model and its
// gradient stand, and whose carry is sums; without one there is one micro-batch. Without an axis `stage`
// nothing of this changes the program.
//
// Wrong pipelines are errors of compiling: a stage without a layer, a tensor that the axis cuts; in a
// loop over micro-batches also a piece without a layer, layers out of order, and a number of
// micro-batches that a schedule does not take. A program without any layer is the same on all stages.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TRACE_PIPELINE_H
#define MINIGPTC_TRACE_PIPELINE_H

#include "minigptc/trace/Program.h"

#include <optional>

namespace minigptc {

namespace detail {
class TraceContext;
}

struct PipelineOptions {
  /// "gpipe", "1f1b" or "interleaved".
  std::string schedule = "gpipe";
  /// Pieces of each stage; more than one with "interleaved" only.
  int64_t chunks = 1;
};

/// How the program's micro-batches go through the stages of its mesh.
void setPipeline(Program &program, const PipelineOptions &options);

/// Functions (modules are such) that the innermost function being traced calls belong to a
/// piece, as long as this is there; scopes nest, and the inner one counts. What these functions call
/// themselves is a part of them.
class PieceScope {
public:
  explicit PieceScope(int64_t piece,
                      std::source_location where = std::source_location::current());
  ~PieceScope();
  PieceScope(const PieceScope &) = delete;

private:
  detail::TraceContext &context_;
  std::optional<std::pair<int64_t, size_t>> outer_;
};

} // namespace minigptc

#endif // MINIGPTC_TRACE_PIPELINE_H
