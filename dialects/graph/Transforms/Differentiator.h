//===- Differentiator.h - forward and backward functions -------*- C++ -*-===//
//
// Makes, for a function f, `f.fwd` and `f.bwd`:
//
//   f.fwd(arguments) -> (results of f, saved values)
//   f.bwd(needed arguments and saved values, cotangents) -> gradients
//
// A pair is made once for each set of wanted arguments and of live cotangents,
// and shared by all callers: work is per function, not per call path. Functions
// must be free of `graph.vjp`; those made here are, so they can be
// differentiated in turn.
//
//   Differentiator differentiator(module);
//   auto derivative = differentiator.differentiate(f, wanted, live, std::nullopt, vjp);
//   if (failed(derivative)) return failure();   // reported, with a note at vjp
//   auto call = differentiator.callForward(builder, loc, **derivative, inputs);
//   auto gradients = differentiator.callBackward(builder, loc, **derivative, inputs,
//                                                call.getResults(), cotangents);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_DIFFERENTIATOR_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_DIFFERENTIATOR_H

#include "dialects/graph/IR/Phase.h"
#include "dialects/graph/Transforms/Dependence.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace minigptc::graph {

/// What the backward function takes before the cotangents: an argument of f or
/// a result of the forward function.
struct Residual {
  enum class Source { argument, forwardResult } source;
  unsigned number;
};

struct Derivative {
  mlir::func::FuncOp forward, backward;
  llvm::SmallVector<Residual> residuals;
  /// Results whose cotangents the backward function takes, in order.
  llvm::BitVector live;
  /// Per argument of f, the result of the backward function that is its
  /// gradient, or -1: not wanted, or zero.
  llvm::SmallVector<int> gradients;

  /// False if all wanted gradients are zero: there is no backward function.
  bool exists() const { return backward != nullptr; }
};

/// The maps with which a mapped call (`MappedCallOp`) calls f, and so its derivative.
struct CallMaps {
  llvm::SmallVector<mlir::Attribute> operands, results;
};

/// Where a loop's operands and results stand; of a derivative of its body, what the loop back
/// does with them (LoopDerivatives.cpp).
struct LoopShape {
  unsigned numConstants, numCarried, numArguments, numResults;

  explicit LoopShape(ScanOp loop);
  bool isCarriedArgument(unsigned argument) const {
    return argument >= numConstants && argument < numConstants + numCarried;
  }
  bool isConstant(Residual residual) const {
    return residual.source == Residual::Source::argument && residual.number < numConstants;
  }
  /// Constants whose gradients are summed over the calls.
  llvm::SmallVector<unsigned> summed(const Derivative &derivative) const;
  /// Numbers of carried values whose cotangents are carried back.
  llvm::SmallVector<unsigned> carriedBack(const Derivative &derivative) const;
  /// Arguments whose gradients are stacked.
  llvm::SmallVector<unsigned> stackedBack(const Derivative &derivative) const;
};

/// The bodies of the two loops.
struct LoopDerivative {
  mlir::func::FuncOp forward, backward;
};

/// The functions of the two branches (BranchDerivatives.cpp). The forward ones have the results
/// of the functions, and then slots with what they save.
struct BranchDerivative {
  mlir::func::FuncOp forward[2], backward[2];
  llvm::SmallVector<mlir::Type> slots;
  /// What the backward functions take: arguments, results, (slots) and cotangents of results; and
  /// the arguments whose gradients they give.
  llvm::SmallVector<unsigned> arguments, results, live, gradients;
};

/// What a derivative of one function is shared by. Masks are as small as the
/// dependence of results on arguments allows.
struct DerivativeKey {
  llvm::BitVector wanted, live;
  std::optional<RematPolicy> policy;
  bool operator==(const DerivativeKey &other) const {
    return wanted == other.wanted && live == other.live && policy == other.policy;
  }
};

class Differentiator {
public:
  /// `recomputePrice`: see RecomputePrice.h.
  explicit Differentiator(mlir::ModuleOp module, double recomputePrice = 0);

  /// `wanted` has a bit per argument, `live` one per result. Diagnostics carry a
  /// note at `origin`. The derivative belongs to the differentiator.
  llvm::FailureOr<const Derivative *> differentiate(mlir::func::FuncOp function,
                                                    const llvm::BitVector &wanted,
                                                    const llvm::BitVector &live,
                                                    std::optional<RematPolicy> inherited,
                                                    mlir::Operation *origin);

  /// Calls the forward function: the results of f, then saved values.
  mlir::func::CallOp callForward(mlir::OpBuilder &builder, mlir::Location loc,
                                 const Derivative &derivative, mlir::ValueRange arguments);
  /// Calls the backward function; `cotangents` has one value per result of f,
  /// those that are not live are not read. Gives a gradient, or null for zero,
  /// per argument.
  llvm::SmallVector<mlir::Value> callBackward(mlir::OpBuilder &builder, mlir::Location loc,
                                              const Derivative &derivative,
                                              mlir::ValueRange arguments,
                                              mlir::ValueRange forwardResults,
                                              llvm::ArrayRef<mlir::Value> cotangents);

  /// The same for an op that calls f on other tensors than its operands. What the forward call
  /// hands over to the backward call has a dimension (`withDimensions`).
  mlir::Operation *callForward(mlir::OpBuilder &builder, MappedCallOp call,
                               const Derivative &derivative, const CallMaps &maps);
  llvm::SmallVector<mlir::Value> callBackward(mlir::OpBuilder &builder, MappedCallOp call,
                                              const Derivative &derivative, const CallMaps &maps,
                                              mlir::ValueRange forwardResults,
                                              llvm::ArrayRef<mlir::Value> cotangents);
  /// The derivative with scalars that are saved as tensors of one element.
  const Derivative &withDimensions(mlir::func::FuncOp function, const Derivative &derivative);

  /// The same for a loop of f. The forward loop has the results of the loop, and then what the
  /// calls save; `shape` is that of the loop itself.
  ScanOp callForward(mlir::OpBuilder &builder, ScanOp loop, const Derivative &derivative);
  llvm::SmallVector<mlir::Value> callBackward(mlir::OpBuilder &builder, ScanOp forward,
                                              const LoopShape &shape, const Derivative &derivative,
                                              llvm::ArrayRef<mlir::Value> cotangents);

  /// The same for a branch.
  const BranchDerivative &branchDerivative(CondOp op, const Derivative &onTrue,
                                           const Derivative &onFalse);
  CondOp callForward(mlir::OpBuilder &builder, CondOp op, const BranchDerivative &derivative);
  /// Gives a gradient or null per operand of the op, the predicate included.
  llvm::SmallVector<mlir::Value> callBackward(mlir::OpBuilder &builder, CondOp forward,
                                              const BranchDerivative &derivative,
                                              llvm::ArrayRef<mlir::Value> cotangents);

  /// Makes an op call functions that print nothing: what is computed again has printed before.
  void silence(mlir::Operation *op);

  /// Types and places of what the price kept from being saved, in the order decided.
  llvm::ArrayRef<std::pair<mlir::Type, mlir::Location>> getRecomputed() const { return recomputed; }

  mlir::func::FuncOp lookup(mlir::StringAttr name) const { return functions.lookup(name); }

private:
  friend class FunctionDifferentiator;
  using Entry = std::pair<DerivativeKey, std::unique_ptr<Derivative>>;

  /// The function that an op calls for sure, or null if it calls none.
  mlir::func::FuncOp lookup(mlir::Operation *op) const;
  /// All functions that an op may call.
  llvm::SmallVector<mlir::func::FuncOp, 2> lookupAll(mlir::Operation *op) const;
  /// Puts a function after the original and what was made of it before, named
  /// after the original and `what`, with a number where that name is taken.
  void insert(mlir::func::FuncOp function, mlir::func::FuncOp original, Phase phase,
              llvm::StringRef what = "");
  void insert(mlir::func::FuncOp function, mlir::func::FuncOp original, llvm::StringRef suffix);
  /// The masks without what no derivative can flow through.
  DerivativeKey makeKey(mlir::func::FuncOp function, const llvm::BitVector &wanted,
                        const llvm::BitVector &live, std::optional<RematPolicy> inherited);
  const LoopDerivative &loopDerivative(ScanOp loop, const Derivative &derivative);
  /// A forward function whose saved values nobody reads is the function itself.
  void dropUnusedSaves(mlir::Operation *call);
  /// The call of these functions, which save nothing, in place of that.
  mlir::Operation *callWithoutSaves(mlir::Operation *call,
                                    llvm::ArrayRef<mlir::func::FuncOp> plain);
  /// True for ops that print, and calls of functions that do (Silence.cpp).
  bool prints(mlir::Operation *op);
  bool prints(mlir::func::FuncOp function);
  mlir::func::FuncOp silent(mlir::func::FuncOp function);
  /// True for ops that multiply matrices, and calls of functions that do.
  bool isProduct(mlir::Operation *op);
  bool multipliesMatrices(mlir::func::FuncOp function);
  /// `getOpCost`, of a call that of its callee's ops, of a branch that of the dearer one.
  double getCost(mlir::Operation *op);
  double getCost(mlir::func::FuncOp function);

  llvm::DenseMap<mlir::StringAttr, mlir::func::FuncOp> functions;
  Dependence dependence;
  llvm::DenseMap<mlir::Operation *, std::vector<Entry>> derivatives;
  llvm::DenseMap<const Derivative *, std::unique_ptr<Derivative>> dimensioned;
  llvm::DenseMap<const Derivative *, std::unique_ptr<LoopDerivative>> loops;
  std::map<std::pair<const Derivative *, const Derivative *>, std::unique_ptr<BranchDerivative>>
      branches;
  llvm::DenseMap<mlir::Operation *, mlir::func::FuncOp> originals; // of forward functions
  llvm::DenseMap<mlir::Operation *, mlir::func::FuncOp> lastOf;    // made of an original
  llvm::DenseMap<mlir::Operation *, bool> multiplies, printing;
  llvm::DenseMap<mlir::Operation *, mlir::func::FuncOp> silentOf;
  llvm::DenseMap<mlir::Operation *, double> costs; // of functions
  double recomputePrice;
  llvm::SmallVector<std::pair<mlir::Type, mlir::Location>> recomputed;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_DIFFERENTIATOR_H
