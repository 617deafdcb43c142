//===- ProgramGenerator.h - the inside of RandomProgram ---------*- C++ -*-===//
//
// A generator holds a pool of values and adds ops to it. Each `OpRecipe` says how
// one op is added; recipes are grouped by family, a file each.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_SUPPORT_PROGRAMGENERATOR_H
#define MINIGPTC_TEST_SUPPORT_PROGRAMGENERATOR_H

#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/Builders.h"
#include "test/support/RandomProgram.h"

#include <functional>
#include <random>

namespace minigptc::test {

/// A value with what is known about its elements.
struct PoolValue {
  mlir::Value value;
  double bound = 0;   ///< no element is much larger in magnitude
  bool exact = false; ///< computed to the last bit by every way of running

  mlir::RankedTensorType type() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  mlir::Type element() const { return type().getElementType(); }
};

class ProgramGenerator {
public:
  ProgramGenerator(mlir::ModuleOp module, uint64_t seed, const RandomProgramOptions &options);

  /// Builds a function of that name; may call those built before.
  mlir::func::FuncOp buildFunction(llvm::StringRef name, bool isPrivate, int steps);

  // --- Random choices.
  int64_t number(int64_t low, int64_t high); ///< in [low, high]
  double real(double low, double high);
  bool chance(double probability) { return real(0, 1) < probability; }
  template <typename T> const T &oneOf(llvm::ArrayRef<T> choices) {
    return choices[size_t(number(0, int64_t(choices.size()) - 1))];
  }
  llvm::SmallVector<int64_t> shape(int64_t minRank, int64_t maxRank);

  // --- Types.
  mlir::Type floatType() const { return floatType_; }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Type i1() { return builder.getI1Type(); }
  mlir::Type ui32() { return builder.getIntegerType(32, /*isSigned=*/false); }
  mlir::Type anyType(); ///< floats more often
  mlir::Type anyInt() { return chance(0.5) ? i32() : ui32(); }
  bool differentiable() const { return options_.differentiable; }

  // --- Values. A value made for another is not in the pool itself.
  /// A value of the pool, or a new constant if there is none.
  PoolValue any(mlir::Type element, llvm::function_ref<bool(const PoolValue &)> accept = {});
  /// A value whose bits do not depend on how the program is run.
  PoolValue exact(mlir::Type element);
  /// A value of that type, made from others if possible.
  PoolValue obtain(mlir::RankedTensorType type, bool exact = false);
  PoolValue constant(mlir::RankedTensorType type);
  PoolValue filled(mlir::RankedTensorType type, double value);
  PoolValue integers(mlir::RankedTensorType type, int64_t low, int64_t high); ///< random constants
  /// The value itself if it is small, else its tanh.
  PoolValue small(PoolValue x);
  /// x² + 1/4.
  PoolValue positive(PoolValue x);
  /// A random key.
  mlir::Value key();

  // --- Ops.
  mlir::Value create(llvm::StringRef name, mlir::ValueRange operands, mlir::Type type);
  void add(mlir::Value value, double bound, bool exact = false);
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }

  mlir::OpBuilder builder;
  mlir::Location loc;
  std::vector<mlir::func::FuncOp> callees; ///< private functions built so far

private:
  void addArguments(mlir::func::FuncOp function);
  void finish(mlir::func::FuncOp function);

  mlir::ModuleOp module_;
  RandomProgramOptions options_;
  mlir::Type floatType_;
  std::mt19937_64 random_;
  std::vector<PoolValue> pool_;
};

/// How to add one op to the pool.
struct OpRecipe {
  std::string name;
  bool differentiable; ///< may lie between arguments and a differentiated result
  std::function<void(ProgramGenerator &)> build;
};

void addElementwiseRecipes(std::vector<OpRecipe> &recipes);
void addShapeRecipes(std::vector<OpRecipe> &recipes);
void addContractionRecipes(std::vector<OpRecipe> &recipes);
void addCompositeRecipes(std::vector<OpRecipe> &recipes);
/// A call, whose results go into the pool.
void addCall(ProgramGenerator &g, mlir::func::FuncOp callee);
const std::vector<OpRecipe> &allRecipes();

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_PROGRAMGENERATOR_H
