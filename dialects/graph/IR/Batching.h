//===- Batching.h - functions of one example for many -----------*- C++ -*-===//
//
// What `vmap` does: a function of one example becomes one of all examples, op by op, by each
// op's `BatchableOp`. A tensor that differs between examples is batched, with all of theirs along
// a new dimension 0; the others stay what they are, and so do ops that read no batched tensor.
//
//   Batcher batcher(module, /*size=*/8, "examples", addFunction);
//   FailureOr<BatchedFunction> all = batcher.batch(function, {false, true});
//
// Functions that are called are batched once for each choice of batched arguments; what is
// made is handed to `addFunction`. The functions of one example are left as they are.
//
// A rule is a function of the op and of a `Batch`, which holds what stands in place of the op's
// operands:
//
//   static FailureOr<BatchedValues> batchSoftmax(SoftmaxOp op, Batch &batch) {
//     BatchedValues results = batch.clone({batch.all(0)});
//     results[0].value.getDefiningOp<SoftmaxOp>().setDim(op.getDim() + 1);
//     return results;
//   }
//   …
//   attachBatchRule<batchSoftmax, SoftmaxOp>(context);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_BATCHING_H
#define MINIGPTC_DIALECTS_GRAPH_IR_BATCHING_H

#include "dialects/graph/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace minigptc::graph {

/// A function of all examples, and which of its results are batched.
struct BatchedFunction {
  mlir::func::FuncOp function;
  llvm::SmallVector<bool> isBatched;
};

class Batcher {
public:
  /// Takes a detached private function, and gives it, or its equal, in the module.
  using AddFunction = std::function<mlir::func::FuncOp(mlir::func::FuncOp, llvm::StringRef name)>;
  Batcher(mlir::ModuleOp module, int64_t size, llvm::StringRef axis, AddFunction addFunction)
      : module(module), size(size), axis(axis), addFunction(std::move(addFunction)) {}

  int64_t getSize() const { return size; }
  llvm::StringRef getAxis() const { return axis; }
  mlir::RankedTensorType withExamples(mlir::Type type) const;

  mlir::func::FuncOp lookup(llvm::StringRef function) const;
  /// The function of all examples where those arguments are batched; results are batched where
  /// they must be, and where `wanted` (empty, or one for each result) says so. Fails with a
  /// diagnostic.
  llvm::FailureOr<BatchedFunction> batch(mlir::func::FuncOp function,
                                         llvm::ArrayRef<bool> isBatched,
                                         llvm::ArrayRef<bool> wanted = {});
  /// The function's body at the insertion point; what it returns.
  llvm::FailureOr<BatchedValues> inlineBody(mlir::OpBuilder &builder, mlir::func::FuncOp function,
                                            llvm::ArrayRef<BatchedValue> arguments);
  /// The ops of a block but for its terminator; `values` has what stands for arguments and
  /// values from before, and gets those of the results.
  llvm::LogicalResult batchOps(mlir::OpBuilder &builder, mlir::Block &block,
                               llvm::DenseMap<mlir::Value, BatchedValue> &values);
  /// Whether an op differs between examples though no operand of it is batched.
  bool readsExample(mlir::Operation *op);
  mlir::func::FuncOp add(mlir::func::FuncOp function, llvm::StringRef name) {
    return addFunction(function, name);
  }

private:
  llvm::LogicalResult batchOp(mlir::OpBuilder &builder, mlir::Operation &op,
                              llvm::DenseMap<mlir::Value, BatchedValue> &values);

  mlir::ModuleOp module;
  int64_t size;
  std::string axis;
  AddFunction addFunction;
  using Key = std::pair<mlir::Operation *, std::pair<std::vector<bool>, std::vector<bool>>>;
  std::map<Key, BatchedFunction> known;
  llvm::DenseMap<mlir::Operation *, bool> reads; ///< functions that read the example
};

/// One op on its way to all examples.
class Batch {
public:
  Batch(mlir::OpBuilder &builder, mlir::Operation *op, llvm::ArrayRef<BatchedValue> operands,
        Batcher &batcher)
      : batcher(batcher), b(builder, op->getLoc()), op(op), operands(operands) {}

  int64_t size() const { return batcher.getSize(); }
  bool isBatched(unsigned operand) const { return operands[operand].isBatched; }
  bool isBatched(mlir::OperandRange range) const;
  llvm::SmallVector<bool> flags(mlir::OperandRange range) const;
  /// As it is.
  mlir::Value get(unsigned operand) const { return operands[operand].value; }
  /// With all examples' along dimension 0, which are copies where they are the same.
  mlir::Value all(unsigned operand) { return all(operands[operand]); }
  mlir::Value all(const BatchedValue &value);
  llvm::SmallVector<mlir::Value> allOperands();
  llvm::ArrayRef<BatchedValue> getOperands() const { return operands; }
  llvm::ArrayRef<BatchedValue> getOperands(mlir::OperandRange range) const {
    return range.empty() ? llvm::ArrayRef<BatchedValue>()
                         : operands.slice(range.getBeginOperandIndex(), range.size());
  }

  /// The op on other operands, whose results have all examples in dimension 0. What
  /// numbers dimensions in its attributes is the caller's to set.
  BatchedValues clone(mlir::ValueRange others);
  /// What it decomposes into, for all examples.
  llvm::FailureOr<BatchedValues> decompose();
  /// Dimension `from` as dimension `to`.
  mlir::Value moveDim(mlir::Value value, int64_t from, int64_t to);
  mlir::RankedTensorType withExamples(mlir::Type type) const { return batcher.withExamples(type); }

  Batcher &batcher;
  GraphBuilder b;

private:
  mlir::Operation *op;
  llvm::ArrayRef<BatchedValue> operands;
};

/// Each number plus one, behind those of `first`.
llvm::SmallVector<int64_t> shiftDims(llvm::ArrayRef<int64_t> dims,
                                     llvm::ArrayRef<int64_t> first = {});

template <typename Op, auto rule>
struct BatchModel : BatchableOp::ExternalModel<BatchModel<Op, rule>, Op> {
  llvm::FailureOr<BatchedValues> batch(mlir::Operation *op, Batch &batch) const {
    return rule(llvm::cast<Op>(op), batch);
  }
};
template <auto rule, typename... Ops> void attachBatchRule(mlir::MLIRContext *context) {
  (Ops::template attachInterface<BatchModel<Ops, rule>>(*context), ...);
}

/// Of ops whose operands and results have one shape, and of those whose shape rules
/// let a dimension 0 pass.
llvm::FailureOr<BatchedValues> batchElementwise(mlir::Operation *op, Batch &batch);
llvm::FailureOr<BatchedValues> batchDecomposed(mlir::Operation *op, Batch &batch);

void attachElementwiseBatchRules(mlir::MLIRContext *context);
void attachShapeBatchRules(mlir::MLIRContext *context);
void attachContractionBatchRules(mlir::MLIRContext *context);
void attachCompositeBatchRules(mlir::MLIRContext *context);
void attachPrintBatchRule(mlir::MLIRContext *context);
void attachRandomBatchRules(mlir::MLIRContext *context);
void attachStructureBatchRules(mlir::MLIRContext *context);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_BATCHING_H
