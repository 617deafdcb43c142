//===- Explain.cpp - what devices send each other, and why ----------------===//
#include "minigptc/compiler/Explain.h"
#include "compiler/analysis/MatmulFlops.h"
#include "compiler/explain/CollectCollectives.h"
#include "compiler/explain/Roles.h"
#include "compiler/explain/Warnings.h"
#include "compiler/pipelines/Diagnostics.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/pipelines/Targets.h"
#include "compiler/trace/ProgramImpl.h"
#include "compiler/trace/TraceContext.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/exec/IR/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/base/ThreadPool.h"

using namespace mlir;
using namespace minigptc;

int64_t Explanation::count() const {
  int64_t total = 0;
  for (const ExplainedCollective &collective : collectives)
    total += collective.count;
  return total;
}

double Explanation::bytes() const {
  double total = 0;
  for (const ExplainedCollective &collective : collectives)
    total += collective.bytes;
  return total;
}

double Explanation::bytesBeside() const {
  double total = 0;
  for (const ExplainedCollective &collective : collectives)
    total += collective.beside.empty() ? 0 : collective.bytes;
  return total;
}

namespace {

void bringTo(ModuleOp module, Stage stage, const CompileOptions &options) {
  DiagnosticCollector errors(module.getContext());
  CompileStats stats;
  tune(module, options);
  if (failed(runPipeline(module, stage, options, stats)))
    throw CompileError(errors.text());
}

Mesh meshOf(ModuleOp module) {
  std::vector<MeshAxis> axes;
  if (dist::MeshOp mesh = dist::findMesh(module))
    for (auto [name, size] : llvm::zip_equal(mesh.getMesh().getNames(), mesh.getMesh().getSizes()))
      axes.push_back({name.str(), size});
  return Mesh(std::move(axes));
}

/// Of a module at stage `shard`.
std::vector<ExplainedParameter> collectParameters(ModuleOp module, StringRef entry,
                                                  const Mesh &mesh) {
  std::vector<ExplainedParameter> result;
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto path = function.getArgAttrOfType<StringAttr>(i, graph::attr::kName);
    StringRef name = path ? parameterName(path.getValue()) : StringRef();
    if (name.empty())
      continue;
    ExplainedParameter parameter;
    parameter.name = name.str();
    parameter.type = minigptc::detail::toTensorType(function.getArgumentTypes()[i]);
    parameter.spec.dims.resize(parameter.type.shape.size());
    if (auto sharding = function.getArgAttrOfType<dist::ShardingAttr>(i, dist::attr::kSharding))
      for (auto [dim, axes] : llvm::enumerate(sharding.getDims()))
        for (auto axis : axes.getAsRange<StringAttr>())
          parameter.spec.dims[dim].axes.push_back(axis.str());
    parameter.localShape = localShape(parameter.type.shape, parameter.spec, mesh);
    result.push_back(std::move(parameter));
  }
  return result;
}

int64_t bytesOf(Type type) {
  auto memref = cast<MemRefType>(type);
  Type element = memref.getElementType();
  return memref.getNumElements() * (element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8);
}

/// From a module at stage `exec`: as the summary of a run.
ExplainedMemory collectMemory(ModuleOp module, StringRef entry, uint64_t beside) {
  ExplainedMemory memory;
  memory.workspace = int64_t(beside);
  auto block = module.lookupSymbol<exec::BlockOp>(entry);
  int64_t frame = int64_t(block.getFrameSize());
  ArrayRef<Type> types = block.getFunctionType().getInputs();
  for (unsigned i = 0; i < types.size(); ++i) {
    auto name = block.getArgAttrOfType<StringAttr>(i, graph::attr::kName);
    bool isState = name && name.getValue().starts_with("state.");
    int64_t bytes = bytesOf(types[i]);
    if (i >= block.getNumInputs() && isState)
      continue; // Takes over an input's buffer.
    if (name && !parameterName(name.getValue()).empty())
      memory.parameters += bytes;
    else
      (isState ? memory.optimizer : memory.workspace) += bytes;
  }
  // Clipping by the global norm needs every gradient at once.
  memory.gradients = std::min(memory.parameters, frame);
  memory.activations = frame - memory.gradients;
  return memory;
}

} // namespace

Explanation minigptc::explain(const Program &program, const ExplainOptions &options) {
  if (!program.impl())
    throw CompileError("this program is empty: it holds no traced functions");
  DialectRegistry registry;
  registerAllDialects(registry);
  program.impl()->context.appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = program.impl()->module->clone();
  if (!module->lookupSymbol<func::FuncOp>(options.entry))
    throw CompileError("the program has no function '" + options.entry + "' to explain");
  CompileOptions compileOptions{.target = options.target, .overlap = options.overlap};
  std::unique_ptr<target::Target> target = makeTarget(compileOptions);
  chooseOverlap(*module, compileOptions, *target);
  Explanation plan;
  plan.mesh = meshOf(*module);
  bringTo(*module, Stage::step, compileOptions);
  plan.warnings = collectWarnings(*module, options.entry);
  for (const minigptc::detail::TraceRemark &remark : program.impl()->remarks)
    plan.warnings.push_back({remark.text, remark.place, remark.bytes});
  bringTo(*module, Stage::shard, compileOptions);
  plan.parameters = collectParameters(*module, options.entry, plan.mesh);
  // Without overlap, layers still have their own.
  plan.overlaps = (*module)->hasAttr(dist::attr::kOverlap);
  bringTo(*module, plan.overlaps ? Stage::schedule : Stage::spmd, compileOptions);
  plan.collectives = collectCollectives(*module, options.entry);
  plan.flops = countMatmulFlops(*module, options.entry);
  bringTo(*module, Stage::exec, compileOptions);
  int threads = options.threads;
  if (threads == 0) // As a session does.
    threads = int(std::max<int64_t>(runtime::availableCores() / plan.mesh.numDevices(), 1));
  plan.memory =
      collectMemory(*module, options.entry, target->memoryBeside(*module, options.entry, threads));
  return plan;
}
