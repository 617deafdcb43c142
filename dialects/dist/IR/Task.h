//===- Task.h - what a call of a pipeline computes --------------*- C++ -*-===//
//
// From stage `stage` on a call in an entry, or in a stage's part of one, says which way of a
// micro-batch through which piece of the model it is, and a call in what it calls that it is one of the
// model's layers. Nothing computes by that: it is for those who measure.
//
//   %y = call @step.forward1(%x, %w) {dist.task = {micro_batch = 3 : i64, phase = "forward",
//                                                  piece = 1 : i64}} : …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_IR_TASK_H
#define MINIGPTC_DIALECTS_DIST_IR_TASK_H

#include "dialects/graph/IR/Phase.h"
#include "mlir/IR/Builders.h"

namespace minigptc::dist {

namespace attr {
/// Call: a dictionary, a Task.
inline constexpr llvm::StringLiteral kTask = "dist.task";
/// Call in a function that is a task: a unit; it is one of the model's layers.
inline constexpr llvm::StringLiteral kLayer = "dist.layer";
} // namespace attr

struct Task {
  graph::Phase phase = graph::Phase::forward;
  int64_t piece = 0, microBatch = 0;
};

inline void setTask(mlir::Operation *call, const Task &task) {
  mlir::Builder b(call->getContext());
  mlir::NamedAttribute parts[] = {
      b.getNamedAttr("phase", b.getStringAttr(graph::nameOf(task.phase))),
      b.getNamedAttr("piece", b.getI64IntegerAttr(task.piece)),
      b.getNamedAttr("micro_batch", b.getI64IntegerAttr(task.microBatch))};
  call->setAttr(attr::kTask, b.getDictionaryAttr(parts));
}

/// None if it has none, or one that is not as it should be.
inline std::optional<Task> getTask(mlir::Operation *call) {
  auto parts = call->getAttrOfType<mlir::DictionaryAttr>(attr::kTask);
  if (!parts)
    return std::nullopt;
  std::optional<graph::Phase> phase = graph::phaseNamed(parts.getAs<mlir::StringAttr>("phase"));
  auto piece = parts.getAs<mlir::IntegerAttr>("piece");
  auto microBatch = parts.getAs<mlir::IntegerAttr>("micro_batch");
  if (!phase || !piece || !microBatch)
    return std::nullopt;
  return Task{*phase, piece.getInt(), microBatch.getInt()};
}

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_IR_TASK_H
