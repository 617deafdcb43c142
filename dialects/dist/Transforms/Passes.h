//===- Passes.h - passes from one device to many ----------------*- C++ -*-===//
//
// Declarations generated from Passes.td, which also documents each pass.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_PASSES_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_PASSES_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace minigptc::dist {

#define GEN_PASS_DECL
#include "dialects/dist/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "dialects/dist/Transforms/Passes.h.inc"

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_PASSES_H
