//===- Compile.h - from a traced program to an artifact ---------*- C++ -*-===//
//
//   Program program = trace({{"train_step", trainStep, {...}}});
//   CompiledProgram compiled = compile(program, {});
//   compiled.save("step.mgx");
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_COMPILE_H
#define MINIGPTC_COMPILER_COMPILE_H

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc {

class Program;

/// A stage of the pipeline, in order; see docs/design/architecture.md.
enum class Stage { trace, autodiff, step, stage, shard, spmd, fuse, schedule, exec };
/// Their names, comma-separated, in order.
std::string stageNames();
/// The stage of a name.
std::optional<Stage> parseStage(std::string_view name);

/// The compiler refused a program. `what()` has the message, the user's place
/// and notes, a line each.
struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// No plan fits the memory budget (Program::setMemoryBudget).
struct MemoryBudgetError : CompileError {
  using CompileError::CompileError;
};

struct CompileOptions {
  std::string target = "cpu";   ///< one of `targetNames()`
  std::string cpu = "native";   ///< vector code for this machine, or baseline: AVX2 and FMA
  std::string gpuArchs = {};    ///< cuda: machine code besides PTX: "sm_80,sm_90a"
  std::string overlap = "auto"; ///< collectives beside compute: on, off, or what the target does
  bool listings = false;        ///< cuda: CompiledProgram::listings
  int threads = 0;              ///< compile kernels with so many; 0: all cores
  bool verifyEach = false;      ///< verify the IR after each pass
  std::string cacheDir = {};    ///< object cache; empty: $XDG_CACHE_HOME/minigptc
  bool useCache = true;
  bool timing = false;           ///< print what each stage, pass and kernel took to stderr
  std::string printIrAfter = {}; ///< a pass's flag: print the IR after it to stderr
};

/// What a part of compiling took, summed up over the times that it ran.
struct CompilePart {
  std::string kind; ///< "stage", "pass", "kernel", "phase" (of all kernels), "step"
  std::string name;
  double seconds = 0;
  int64_t runs = 0;
  std::string remark = {}; ///< "cached"
};

struct CompileStats {
  double traceSeconds = 0, passesSeconds = 0, codegenSeconds = 0, totalSeconds = 0;
  int64_t kernels = 0, kernelsCompiled = 0; ///< distinct ones; those not in the cache
  std::vector<CompilePart> parts; ///< with CompileOptions::timing, in the order of the first run
};

/// A text for people: "fused_exp_1f2e.ptx".
struct Listing {
  std::string fileName, text;
};

struct CompiledProgram {
  std::vector<std::byte> artifact; ///< the .mgx file
  CompileStats stats;
  std::vector<Listing> listings; ///< PTX of each kernel, with lines of the source
  /// Writes through a temporary name; throws CompileError.
  void save(const std::string &path) const;
};

/// "cpu", "cuda" and "cuda:test", which is cuda with code for the emulated device.
std::vector<std::string> targetNames();

/// Runs all stages and generates code. Throws CompileError.
CompiledProgram compile(const Program &program, const CompileOptions &options = {});
/// The IR of a stage, with source locations.
std::string printStage(const Program &program, Stage stage, const CompileOptions &options = {});
/// Goes on from the printed IR of any stage.
CompiledProgram compileText(const std::string &ir, const std::string &fileName,
                            const CompileOptions &options = {});
/// The IR of a later stage, from the printed IR of an earlier one.
std::string printStageOfText(const std::string &ir, const std::string &fileName, Stage stage,
                             const CompileOptions &options = {});

} // namespace minigptc

#endif // MINIGPTC_COMPILER_COMPILE_H
