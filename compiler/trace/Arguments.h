//===- Arguments.h - trees as a function's arguments ------------*- C++ -*-===//
//
// What functions of functions (gradients, checkpoints, shardMap) do with what they are called with:
//
//   FlatArguments flat = flattenArguments(context, arguments, where);
//   context.traceFunction("loss", flat.values, bodyOf(fn, arguments), where);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_ARGUMENTS_H
#define MINIGPTC_COMPILER_TRACE_ARGUMENTS_H

#include "compiler/trace/TraceContext.h"
#include "minigptc/trace/Function.h"

namespace minigptc::detail {

struct FlatArguments {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<size_t> begin; ///< of each argument among the values; one more at the end
};

inline FlatArguments flattenArguments(TraceContext &context, std::span<const Tree> arguments,
                                      const std::source_location &where) {
  FlatArguments flat;
  for (const Tree &argument : arguments) {
    flat.begin.push_back(flat.values.size());
    flat.values.append(context.localize(argument, where));
  }
  flat.begin.push_back(flat.values.size());
  return flat;
}

/// `fn` over the arguments' structure.
inline auto bodyOf(const TreeFunction &fn, std::span<const Tree> arguments) {
  return [&fn, arguments](llvm::ArrayRef<Value> leaves) {
    std::vector<Tree> trees;
    size_t next = 0;
    for (const Tree &argument : arguments)
      trees.push_back(argument.map([&](const Value &) { return leaves[next++]; }));
    return fn(trees);
  };
}

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_ARGUMENTS_H
