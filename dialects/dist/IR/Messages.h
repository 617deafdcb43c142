//===- Messages.h - messages between stages of a pipeline -------*- C++ -*-===//
//
// A pass that moves ops of an entry leaves messages in their order:
//
//   if (isMessage(op)) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_IR_MESSAGES_H
#define MINIGPTC_DIALECTS_DIST_IR_MESSAGES_H

#include "dialects/dist/IR/Dist.h"

namespace minigptc::dist {

/// Whether an op is an end of a message between stages.
bool isMessage(mlir::Operation *op);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_IR_MESSAGES_H
