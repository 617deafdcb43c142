//===- Compile.cpp - the compile functions --------------------------------===//
#include "minigptc/compiler/Compile.h"
#include "compiler/pipelines/Diagnostics.h"
#include "compiler/pipelines/Nesting.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/pipelines/Targets.h"
#include "compiler/pipelines/Timing.h"
#include "compiler/trace/ProgramImpl.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/Transforms/RecomputePrice.h"
#include "minigptc/trace/Program.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "runtime/base/File.h"
#include "runtime/exec/ArtifactReader.h"

#include <chrono>

using namespace mlir;
using namespace minigptc;

namespace {

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

/// A module of printed IR, with its context.
struct ParsedModule {
  ParsedModule(const std::string &ir, const std::string &fileName)
      : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    if (size_t line = lineOfDeepNesting(ir))
      throw CompileError("brackets are nested more than " + std::to_string(kMaxNesting) +
                         " deep\n  at " + fileName + ":" + std::to_string(line));
    DiagnosticCollector errors(&context);
    module = parseSourceString<ModuleOp>(ir, ParserConfig(&context), fileName);
    if (!module)
      throw CompileError(errors.text());
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

void bringTo(ModuleOp module, Stage stage, const CompileOptions &options, CompileStats &stats) {
  DiagnosticCollector errors(module.getContext());
  tune(module, options);
  if (succeeded(runPipeline(module, stage, options, stats)))
    return;
  if (module->hasAttr(graph::attr::kLeastMemory))
    throw MemoryBudgetError(errors.text());
  throw CompileError(errors.text());
}

bool isIn(ModuleOp module, Stage stage) {
  auto name = module->getAttrOfType<StringAttr>(kStageAttr);
  return name && parseStage(name.getValue()) == stage;
}

/// What `run` gives; a CompileError with its diagnostics if it fails.
template <typename Run> auto check(ModuleOp module, Run run) {
  DiagnosticCollector errors(module.getContext());
  auto result = run();
  if (failed(result))
    throw CompileError(errors.text());
  return result;
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
  stream << "\n";
  return text;
}

CompiledProgram compileModule(ModuleOp module, const CompileOptions &options,
                              double traceSeconds = 0) {
  std::unique_ptr<target::Target> target = makeTarget(options);
  chooseOverlap(module, options, *target);
  auto start = std::chrono::steady_clock::now();
  CompiledProgram result;
  if (traceSeconds > 0)
    result.stats.parts.push_back({"stage", "trace", traceSeconds, 1, {}});
  // From stage `schedule` on kernels are final: their code is generated beside the rest.
  if (!isIn(module, Stage::exec))
    bringTo(module, Stage::schedule, options, result.stats);
  auto started = std::chrono::steady_clock::now();
  (void)check(module, [&] { return target->start(module); });
  if (options.timing)
    result.stats.parts.push_back(
        {"step", "kernels: from the cache, or begun", secondsSince(started), 1, {}});
  bringTo(module, Stage::exec, options, result.stats);
  result.stats.passesSeconds = secondsSince(start);
  (void)check(module, [&] { return target::emitArtifact(module, *target, options, result); });
  result.stats.codegenSeconds = secondsSince(start) - result.stats.passesSeconds;
  // Printed IR may say what passes have no reason to doubt (a name twice, a tensor of 2^60
  // bytes): what the runtime would refuse is no artifact.
  if (auto program = runtime::readArtifact(result.artifact); !program)
    throw CompileError("the runtime would refuse this program: " + program.status().toString());
  result.stats.totalSeconds = secondsSince(start);
  if (options.timing)
    llvm::errs() << timingReport(result.stats);
  return result;
}

/// A copy of a program's module, to be changed.
OwningOpRef<ModuleOp> cloneModule(const Program &program) {
  if (!program.impl())
    throw CompileError("this program is empty: it holds no traced functions");
  program.impl()->context.appendDialectRegistry(makeRegistry());
  return program.impl()->module->clone();
}

} // namespace

void CompiledProgram::save(const std::string &path) const {
  if (runtime::Status status = runtime::writeFileAtomically(path, artifact); !status)
    throw CompileError(status.toString());
}

CompiledProgram minigptc::compile(const Program &program, const CompileOptions &options) {
  OwningOpRef<ModuleOp> module = cloneModule(program);
  CompiledProgram result = compileModule(*module, options, program.traceSeconds());
  result.stats.traceSeconds = program.traceSeconds();
  result.stats.totalSeconds += program.traceSeconds();
  return result;
}

std::string minigptc::printStage(const Program &program, Stage stage,
                                 const CompileOptions &options) {
  OwningOpRef<ModuleOp> module = cloneModule(program);
  CompileStats stats;
  chooseOverlap(*module, options, *makeTarget(options));
  bringTo(*module, stage, options, stats);
  if (options.timing)
    llvm::errs() << timingReport(stats);
  return print(*module);
}

CompiledProgram minigptc::compileText(const std::string &ir, const std::string &fileName,
                                      const CompileOptions &options) {
  ParsedModule parsed(ir, fileName);
  return compileModule(*parsed.module, options);
}

std::string minigptc::printStageOfText(const std::string &ir, const std::string &fileName,
                                       Stage stage, const CompileOptions &options) {
  ParsedModule parsed(ir, fileName);
  CompileStats stats;
  chooseOverlap(*parsed.module, options, *makeTarget(options));
  bringTo(*parsed.module, stage, options, stats);
  if (options.timing)
    llvm::errs() << timingReport(stats);
  return print(*parsed.module);
}
