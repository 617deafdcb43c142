//===- ProductWarnings.h - what is said of one op ---------------*- C++ -*-===//
//
// An op that reads an annotated parameter, and what it is given besides.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_EXPLAIN_PRODUCTWARNINGS_H
#define MINIGPTC_COMPILER_EXPLAIN_PRODUCTWARNINGS_H

#include "dialects/dist/IR/Sharding.h"
#include "dialects/graph/IR/ShardingRule.h"
#include "minigptc/compiler/Explain.h"

namespace minigptc {

/// An annotated parameter of the entry.
struct AnnotatedParameter {
  std::string name;
  mlir::RankedTensorType type;
  dist::Sharding sharding;
};

/// What is known of an op in a forward function.
struct AnnotatedUse {
  mlir::Operation *op;
  graph::ShardingRule rule;
  const AnnotatedParameter *parameter;
  unsigned operand; ///< which the parameter is
  unsigned axis;    ///< one that cuts the parameter
  /// Dimensions of the other operand of a product that the axis cuts, if there is one.
  std::optional<unsigned> otherOperand;
  llvm::SmallVector<unsigned, 2> otherDims;
  double times = 1;       ///< that the op runs
  int64_t batchParts = 1; ///< into how many parts inputs cut an activation
  dist::MeshAttr mesh;
};

/// What is to be said of it, if anything.
std::optional<ExplainedWarning> warningOf(const AnnotatedUse &use);

/// "P('model', None)": the parameter's spec with the axis in another dimension.
std::string movedSpec(const AnnotatedParameter &parameter, unsigned axis, unsigned to,
                      dist::MeshAttr mesh);
/// The spec as the user writes it.
std::string specText(const dist::Sharding &sharding, dist::MeshAttr mesh);

/// "1.5 MB".
std::string bytesText(double bytes);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_EXPLAIN_PRODUCTWARNINGS_H
