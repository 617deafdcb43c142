//===- Kernels.h - the kernels of a module, compiled ------------*- C++ -*-===//
//
// Kernels are final from stage `schedule` on, so that their code can be generated while the
// passes and tables behind that are made:
//
//   KernelCompiler compiler(isa, options);
//   if (failed(compiler.start(module))) …          // other threads begin
//   …                                              // the caller goes on with the module
//   auto objects = compiler.finish(kernels, stats); // helps with what is left
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_KERNELS_H
#define MINIGPTC_COMPILER_TARGET_CPU_KERNELS_H

#include "compiler/target/common/ObjectCache.h"
#include "compiler/target/cpu/Isa.h"
#include "dialects/graph/IR/Graph.h"
#include "minigptc/compiler/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <atomic>
#include <thread>

namespace minigptc::cpu {

/// A kernel's key in the cache, by its text.
std::string objectKeyOf(llvm::StringRef text, const Isa &isa);

/// Object code of each kernel: from the cache, else compiled, several at once, the longest
/// first. What comes out does not depend on the number of threads. The module outlives it.
class KernelCompiler {
public:
  KernelCompiler(const Isa &isa, const CompileOptions &options);
  /// Gives up what no thread has begun.
  ~KernelCompiler();
  KernelCompiler(const KernelCompiler &) = delete;

  /// Begins with the kernels that anything in the module calls or launches: looks them up in
  /// the cache and compiles the others on all threads of the options but the caller's.
  /// Diagnostics on failure.
  llvm::LogicalResult start(mlir::ModuleOp module);
  /// The objects of these kernels, which were among the module's. Counts into `stats`;
  /// diagnostics on failure.
  llvm::FailureOr<std::vector<std::string>> finish(llvm::ArrayRef<mlir::func::FuncOp> kernels,
                                                   CompileStats &stats);

private:
  struct Job;
  void work();
  void stop();
  void recordTimes(llvm::ArrayRef<mlir::func::FuncOp> kernels, CompileStats &stats);

  const Isa &isa;
  const CompileOptions &options;
  target::ObjectCache cache;
  std::vector<std::unique_ptr<Job>> jobs;
  llvm::DenseMap<mlir::Operation *, Job *> jobOf;
  std::vector<Job *> missing; ///< from the cache; the longest first
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_KERNELS_H
