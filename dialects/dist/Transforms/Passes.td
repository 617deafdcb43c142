//===- Passes.td - passes from one device to many -------------------------===//
//
// Each pass FooBar is --dist-foo-bar, in FooBar.cpp, tested by foo_bar.mlir. Without a
// mesh none changes anything.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIST_PASSES_TD
#define MINIGPTC_DIST_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // MINIGPTC_DIST_PASSES_TD
