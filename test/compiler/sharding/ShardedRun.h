//===- ShardedRun.h - a program on the devices of its mesh ------*- C++ -*-===//
//
// Compares a program of the stage `trace` with itself, partitioned:
//
//   ShardedRun run(runner, module, /*seed=*/7, /*gradient=*/true);
//   std::string wrong = run.wrong(); // empty if both give the same results
//
// @f has annotations (RandomShardings.h). With `gradient` the entry function is the
// gradient of @f for random cotangents. Inputs are cut as the partitioned program says,
// filled up with NaN, and results put together; devices that hold the same must agree to
// the last bit.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_SHARDING_SHARDEDRUN_H
#define MINIGPTC_TEST_COMPILER_SHARDING_SHARDEDRUN_H

#include "dialects/dist/IR/Sharding.h"
#include "test/support/ModuleRunner.h"

#include <functional>

namespace minigptc::test {

class ShardedRun {
public:
  ShardedRun(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed, bool gradient);

  /// What is wrong with the partitioned program; whatever fails on the way is wrong too.
  /// `see` is shown the module at stage `shard`.
  std::string wrong(llvm::function_ref<void(mlir::ModuleOp)> see = {});
  /// Whether `wrong` has found a difference that is the program's own (Stability.h).
  bool isJump() const { return unstable; }

  /// The program at stage `trace`, its entry function and that one's arguments.
  mlir::ModuleOp getModule() { return *module; }
  const std::string &getEntry() const { return entry; }
  llvm::ArrayRef<Tensor> getInputs() const { return inputs; }

private:
  void markEntry();
  std::vector<Tensor> runOnDevices(mlir::func::FuncOp whole, mlir::ModuleOp spmd);

  ModuleRunner &runner;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  uint64_t seed;
  std::string entry;
  std::vector<Tensor> inputs;
  bool unstable = false;
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_SHARDING_SHARDEDRUN_H
