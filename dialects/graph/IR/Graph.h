//===- Graph.h - the `graph` dialect ---------------------------*- C++ -*-===//
//
// Tensor programs with value semantics: ops, attributes, interfaces. See
// GraphDialect.td for the dialect and GraphInterfaces.td for what ops can say
// about themselves.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_GRAPH_H
#define MINIGPTC_DIALECTS_GRAPH_IR_GRAPH_H

#include "dialects/graph/IR/ShardingRule.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace minigptc::interpreter {
class Tensor;
} // namespace minigptc::interpreter

namespace minigptc::dist {
class LocalOp;
} // namespace minigptc::dist

namespace minigptc::graph {

/// See `FusibleOp`.
enum class FusionKind { elementwise, broadcast, data_movement, reduction, opaque };

/// See `InstructionOp`.
enum class InstructionKind { compute, view, host };

/// See `WholeKernelOp`: work items, items that a thread takes at a time, and bytes of
/// memory that each thread lends the kernel.
struct WholeKernelPlan {
  int64_t items = 0, grain = 1, scratch = 0;
};

/// See `IndexingOp`: elements of an operand lie in [0, bound), or are `ignored`.
struct IndexDomain {
  unsigned operand;
  int64_t bound;
  std::optional<int64_t> ignored = {};
};

/// Elements start, start+stride, … below limit of a tensor, per dimension. The last of
/// them is limit - 1, so that equal parts are equal boxes.
struct IndexBox {
  llvm::SmallVector<int64_t> start, limit, strides;

  static IndexBox whole(llvm::ArrayRef<int64_t> shape);
  bool isWhole(llvm::ArrayRef<int64_t> shape) const { return *this == whole(shape); }
  bool operator==(const IndexBox &) const = default;
};

/// See `BatchableOp`: a tensor that is the same for all examples of a `vmap`, or, batched, the
/// examples' tensors along dimension 0.
struct BatchedValue {
  mlir::Value value;
  bool isBatched = false;
};
using BatchedValues = llvm::SmallVector<BatchedValue>;
class Batch;

/// True for `tensor<2xui32>`, the type of random keys.
bool isKeyType(mlir::Type type);
mlir::RankedTensorType getKeyType(mlir::MLIRContext *context);
/// True for `tensor<i64>`, the type of a part's number.
bool isPartType(mlir::Type type);
mlir::RankedTensorType getPartType(mlir::MLIRContext *context);

/// The accumulation and statistics type of a float type: f64 for f64, else f32.
mlir::FloatType getAccumulatorType(mlir::Type elementType);

namespace detail {
/// Whether an op may have these results in place of the inferred ones: each the same, or of
/// its accumulator type.
bool areSameOrWider(mlir::TypeRange inferred, mlir::TypeRange types);
/// Bytes of all tensors among the types (i1 takes one byte).
double bytesOf(mlir::TypeRange types);
/// Inference of `Graph_SameTypes` ops: the first operand's type, if all have it.
llvm::LogicalResult inferSameTypes(std::optional<mlir::Location> location, llvm::StringRef opName,
                                   mlir::ValueRange operands,
                                   llvm::SmallVectorImpl<mlir::Type> &inferred);
/// Of an op that prints, a write.
void addPrintEffect(mlir::Operation *op,
                    llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects);
/// The rule of an op all of whose dimensions pass through.
ShardingRule elementwiseRule(mlir::Operation *op, Linearity linearity, llvm::ArrayRef<bool> linear);
} // namespace detail

/// Whether an op prints, or calls a function that does, as far as `attr::kPrints` says
/// (`--graph-mark-prints`).
bool prints(mlir::Operation *op);
/// Whether an op does something besides giving results, other than printing: it is an end of a
/// message.
bool isMessage(mlir::Operation *op);
/// Whether what stands before an op stays before it, and what stands behind it behind: it is an
/// end of a message, or a call that prints and gives results.
bool keepsPlace(mlir::Operation *op);

/// Names of discardable attributes that stages agree on.
namespace attr {
/// func.func: a host scalar program, see `graph.host_call`.
inline constexpr llvm::StringLiteral kHost = "graph.host";
/// func.func: an entry function of the program (unit).
inline constexpr llvm::StringLiteral kEntry = "graph.entry";
/// Argument or result of an entry: its path in the in- or output tree
/// ("state.params.layers.0.ln1.weight").
inline constexpr llvm::StringLiteral kName = "graph.name";
/// Argument of an entry: i64 number of the result that takes over its buffer.
inline constexpr llvm::StringLiteral kDonate = "graph.donate";
/// Argument of an entry: i64 n, values must lie in [0, n); the runtime checks.
inline constexpr llvm::StringLiteral kIndexBound = "graph.index_bound";
/// Argument of an entry: array of `#graph.index_check<...>`, checked as well.
inline constexpr llvm::StringLiteral kIndexChecks = "graph.index_checks";
/// func.func: `#graph.remat<...>` policy of a checkpointed function.
inline constexpr llvm::StringLiteral kRemat = "graph.remat";
/// func.func: one body for many calls, by the program's own word (unit): inlining it, small as
/// it may be, would let its callers grow with the number of layers.
inline constexpr llvm::StringLiteral kShared = "graph.shared";
/// Op that calls functions: one of them prints, or calls one that does (unit).
inline constexpr llvm::StringLiteral kPrints = "graph.prints";
/// graph.vjp: what its callee prints, the call that gave the value has printed, and it prints
/// nothing (unit).
inline constexpr llvm::StringLiteral kSilent = "graph.silent";
/// func.func: a kernel (unit); its body is what one launch computes.
inline constexpr llvm::StringLiteral kKernel = "exec.kernel";
/// Module: dictionary of the epilogues that the target's matrix products have: bias, sums (of the
/// right operand over the depth). Each says of what number the columns must be a multiple.
inline constexpr llvm::StringLiteral kProductEpilogues = "graph.product_epilogues";
/// Module: matrix products of f32 may be computed in TF32 (unit).
inline constexpr llvm::StringLiteral kTf32 = "graph.tf32";
/// Module: the program's metadata, a JSON string carried into the artifact.
inline constexpr llvm::StringLiteral kMetadata = "minigptc.metadata";
} // namespace attr

} // namespace minigptc::graph

namespace mlir::OpTrait {
/// Marks the ops whose operands and result have one type (see Graph_SameTypes).
template <typename ConcreteOp> class InferSameTypes : public TraitBase<ConcreteOp, InferSameTypes> {
public:
  static llvm::LogicalResult verifyTrait(Operation *op) {
    llvm::SmallVector<Type, 1> inferred;
    return minigptc::graph::detail::inferSameTypes(op->getLoc(), op->getName().getStringRef(),
                                                   op->getOperands(), inferred);
  }
};

/// Marks the ops that are pure unless what they call prints (see Graph_PureUnlessPrinting).
template <typename ConcreteOp>
class PureUnlessPrinting : public TraitBase<ConcreteOp, PureUnlessPrinting> {};
} // namespace mlir::OpTrait

#include "dialects/graph/IR/GraphDialect.h.inc"
#include "dialects/graph/IR/GraphEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/IR/GraphAttributes.h.inc"
#include "dialects/graph/IR/GraphInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/IR/GraphOps.h.inc"

#endif // MINIGPTC_DIALECTS_GRAPH_IR_GRAPH_H
