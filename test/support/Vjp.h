//===- Vjp.h - the gradient of a function in a test -------------*- C++ -*-===//
#ifndef MINIGPTC_TEST_SUPPORT_VJP_H
#define MINIGPTC_TEST_SUPPORT_VJP_H

#include "mlir/IR/BuiltinOps.h"

namespace minigptc::test {

/// Adds @gradient(inputs…, cotangents…), which gives the results of @f, then the
/// cotangents of the inputs numbered `wrt`, by a `graph.vjp` of @f.
void addGradientFunction(mlir::ModuleOp module, llvm::ArrayRef<int64_t> wrt);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_VJP_H
