//===- Captures.h - functions of one signature ------------------*- C++ -*-===//
//
// A traced function has what it uses from outside as last arguments, in its own order. Loops and
// branches call functions of one signature: constants, which are what any of them uses from
// outside, and then what it is called with.
//
//   SmallVector<mlir::Value> constants = capturedBy({&condition, &body}, inputs.size());
//   mlir::func::FuncOp f = withConstants(context, body, "body", constants, types, types, where);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_CAPTURES_H
#define MINIGPTC_COMPILER_TRACE_CAPTURES_H

#include "compiler/trace/TraceContext.h"

namespace minigptc::detail {

/// Outer values that the functions use, once each; they have `numInputs` inputs of their own.
llvm::SmallVector<mlir::Value> capturedBy(llvm::ArrayRef<const TracedFunction *> functions,
                                          size_t numInputs);

/// A function that calls `traced`, of arguments of these types behind the constants; those and
/// the results are reshaped where the types differ. The first `numCarried` arguments behind the
/// constants are carried: results take over their memory.
mlir::func::FuncOp withConstants(TraceContext &context, const TracedFunction &traced,
                                 llvm::StringRef name, llvm::ArrayRef<mlir::Value> constants,
                                 mlir::TypeRange types, mlir::TypeRange resultTypes,
                                 const std::source_location &where, size_t numCarried = 0);

/// Fails unless what a loop carries on has the structure and types of what it began with; `what`
/// names the loop ("scan").
void checkCarried(const std::string &what, const Tree &before, const Tree &after,
                  const std::source_location &where);

/// Fails if a function that not all devices along `axes` run has a collective over one of them;
/// `what` says which devices that are.
void checkCollectives(const std::string &what, const TracedFunction &traced, AxisSet axes,
                      const std::source_location &where);

/// "models/lm.cpp:42": the user's line behind an op; empty if there is none.
std::string placeOf(mlir::Location loc);

/// "carry 'a.b'".
std::string nameOfLeaf(const std::string &what, const std::string &path);

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_CAPTURES_H
