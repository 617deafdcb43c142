//===- TargetCode.h - a target, and what it puts into an artifact -*- C++ -*-===//
//
// A target generates the kernels of a module; all else of an artifact is the same for all. One
// object compiles one module:
//
//   std::unique_ptr<target::Target> target = makeTarget(options);   // compiler/pipelines
//   if (failed(target->start(module))) …      // stage `schedule` or later: kernels are final
//   …                                         // the passes to stage `exec`
//   auto code = target->finish(kernels, stats);  // ArtifactBuilder.h does so
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_ARTIFACT_TARGETCODE_H
#define MINIGPTC_COMPILER_TARGET_ARTIFACT_TARGETCODE_H

#include "minigptc/compiler/Compile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/exec/Artifact_generated.h"

#include <optional>

namespace minigptc::target {

/// How a GPU runs a kernel; see CudaLaunch in Artifact.fbs.
struct GpuLaunch {
  uint32_t grid = 1, block = 1, sharedBytes = 0;
  bool grouped = false;
  std::string ptx; ///< without the NUL at its end
};

/// What the artifact says of a kernel beside its types; see Kernel in Artifact.fbs.
struct KernelFacts {
  int64_t items = 0, grain = 1, scratch = 0;
  std::optional<GpuLaunch> gpu = {};
  std::string kind = {};
};

/// Machine code of all kernels for one kind of GPU.
struct GpuCode {
  uint32_t arch = 0;
  bool specific = false;
  std::string bytes;
};

struct TargetCode {
  fb::TargetKind kind = fb::TargetKind::cpu;
  std::string triple;
  std::vector<std::string> features;
  std::vector<KernelFacts> kernels; ///< as those that were asked for
  std::vector<std::byte> elf;       ///< of a CPU: shared object with all kernels
  std::vector<std::byte> emulated;  ///< of GPUs: shared object for the emulator, or empty
  std::vector<GpuCode> gpus;
  std::vector<Listing> listings; ///< if the options ask for them
};

class Target {
public:
  virtual ~Target() = default;
  /// Its devices move data beside what they compute: collectives are started early.
  virtual bool overlaps() const { return false; }
  /// Tells the passes, by attributes of the module, what is best on this target, and what its
  /// matrix products can do beside (`graph.product_epilogues`). Called before the first stage.
  virtual void tune(mlir::ModuleOp) const {}
  /// Bytes that one device with so many threads takes beside the plan's memory and keeps, once it
  /// has run the entry of a module of stage `exec`.
  virtual uint64_t memoryBeside(mlir::ModuleOp module, llvm::StringRef entry,
                                int threads) const = 0;
  /// May begin with the kernels that anything in the module calls or launches. The module
  /// outlives the target. Diagnostics on failure.
  virtual llvm::LogicalResult start(mlir::ModuleOp module) = 0;
  /// Refuses, with a diagnostic, a module of stage `exec` that the target cannot run.
  virtual llvm::LogicalResult verify(mlir::ModuleOp module) = 0;
  /// The code of these kernels, which were among the module's. Counts into `stats`.
  virtual llvm::FailureOr<TargetCode> finish(mlir::ModuleOp module,
                                             llvm::ArrayRef<mlir::func::FuncOp> kernels,
                                             CompileStats &stats) = 0;
};

/// The whole file and the listings, from a module of stage `exec`. Counts into the program's
/// stats; diagnostics on failure.
llvm::LogicalResult emitArtifact(mlir::ModuleOp module, Target &target,
                                 const CompileOptions &options, CompiledProgram &program);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_ARTIFACT_TARGETCODE_H
