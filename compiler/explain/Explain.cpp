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

int64_t Explanation::busiestStage() const {
  std::map<int64_t, double> bytes;
  for (const ExplainedCollective &collective : collectives)
    bytes[collective.stage] += collective.bytes;
  int64_t busiest = stageMemory.empty() ? -1 : 0;
  for (auto [stage, sent] : bytes)
    if (sent > bytes[busiest])
      busiest = stage;
  return busiest;
}

int64_t Explanation::count() const {
  int64_t total = 0, stage = busiestStage();
  for (const ExplainedCollective &collective : collectives)
    total += collective.stage == stage ? collective.count : 0;
  return total;
}

double Explanation::bytes() const {
  double total = 0;
  int64_t stage = busiestStage();
  for (const ExplainedCollective &collective : collectives)
    total += collective.stage == stage ? collective.bytes : 0;
  return total;
}

double Explanation::bytesBeside() const {
  double total = 0;
  int64_t stage = busiestStage();
  for (const ExplainedCollective &collective : collectives)
    if (collective.stage == stage && !collective.beside.empty())
      total += collective.bytes;
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

/// The parts of an entry that are stages of a pipeline, by stage; else the entry.
template <typename Op> std::vector<Op> partsOf(ModuleOp module, StringRef entry) {
  std::vector<Op> parts;
  for (auto part : module.getOps<Op>())
    if (auto of = part->template getAttrOfType<StringAttr>(dist::attr::kStageOf);
        of && of.getValue() == entry)
      parts.push_back(part);
  llvm::sort(parts, [](Op a, Op b) {
    auto stageOf = [](Op part) {
      return part->template getAttrOfType<IntegerAttr>(dist::attr::kStage).getInt();
    };
    return stageOf(a) < stageOf(b);
  });
  if (parts.empty())
    parts.push_back(module.lookupSymbol<Op>(entry));
  return parts;
}

/// Which stages have a parameter; all parts of an entry say it.
void addStages(std::vector<ExplainedParameter> &parameters, func::FuncOp part) {
  auto parameter = parameters.begin();
  for (unsigned i = 0; i < part.getNumArguments(); ++i) {
    auto path = part.getArgAttrOfType<StringAttr>(i, graph::attr::kName);
    if (!path || parameterName(path.getValue()).empty())
      continue;
    if (auto stages = part.getArgAttrOfType<DenseI64ArrayAttr>(i, dist::attr::kStages))
      parameter->spec.stages.assign(stages.asArrayRef().begin(), stages.asArrayRef().end());
    ++parameter;
  }
}

/// From a module at stage `exec`: as the summary of a run.
ExplainedMemory collectMemory(exec::BlockOp block, uint64_t beside) {
  ExplainedMemory memory;
  memory.workspace = int64_t(beside);
  auto stage = block->getAttrOfType<IntegerAttr>(dist::attr::kStage);
  int64_t frame = int64_t(block.getFrameSize());
  ArrayRef<Type> types = block.getFunctionType().getInputs();
  for (unsigned i = 0; i < types.size(); ++i) {
    auto name = block.getArgAttrOfType<StringAttr>(i, graph::attr::kName);
    bool isState = name && name.getValue().starts_with("state.");
    int64_t bytes = bytesOf(types[i]);
    if (i >= block.getNumInputs() && isState)
      continue; // Takes over an input's buffer.
    auto stages = block.getArgAttrOfType<DenseI64ArrayAttr>(i, dist::attr::kStages);
    if (stage && stages && !llvm::is_contained(stages.asArrayRef(), stage.getInt()))
      continue;
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
  std::vector<func::FuncOp> parts = partsOf<func::FuncOp>(*module, options.entry);
  for (func::FuncOp part : parts) {
    for (ExplainedCollective &one : collectCollectives(*module, part.getSymName())) {
      one.stage = parts.size() > 1 ? part->getAttrOfType<IntegerAttr>(dist::attr::kStage).getInt()
                                   : -1;
      plan.collectives.push_back(std::move(one));
    }
    plan.flops = std::max(plan.flops, countMatmulFlops(*module, part.getSymName()));
  }
  llvm::stable_sort(plan.collectives,
                    [](const auto &a, const auto &b) { return a.bytes > b.bytes; });
  if (parts.size() > 1)
    addStages(plan.parameters, parts.front());
  bringTo(*module, Stage::exec, compileOptions);
  int threads = options.threads;
  if (threads == 0) // As a session does.
    threads = int(std::max<int64_t>(runtime::availableCores() / plan.mesh.numDevices(), 1));
  for (exec::BlockOp block : partsOf<exec::BlockOp>(*module, options.entry)) {
    ExplainedMemory memory =
        collectMemory(block, target->memoryBeside(*module, block.getSymName(), threads));
    if (plan.stageMemory.empty() || memory.total() > plan.memory.total())
      plan.memory = memory;
    plan.stageMemory.push_back(memory);
  }
  if (plan.stageMemory.size() == 1)
    plan.stageMemory.clear();
  return plan;
}
