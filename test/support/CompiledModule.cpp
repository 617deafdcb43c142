//===- CompiledModule.cpp - a module as machine code ----------------------===//
#include "test/support/CompiledModule.h"
#include "compiler/pipelines/Pipelines.h"
#include "dialects/graph/IR/Graph.h"
#include "minigptc/compiler/Compile.h"
#include "test/support/Shrink.h"

#include <stdexcept>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;
using minigptc::interpreter::Tensor;

/// Names arguments and results a0, a1, …, r0, r1, ….
static void markEntry(func::FuncOp function) {
  Builder builder(function.getContext());
  function->setAttr(graph::attr::kEntry, builder.getUnitAttr());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i, graph::attr::kName, builder.getStringAttr("a" + std::to_string(i)));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.setResultAttr(i, graph::attr::kName, builder.getStringAttr("r" + std::to_string(i)));
}

/// The module's public functions as entries, compiled without the cache.
static CompiledProgram compileModule(ModuleOp module, StringRef target) {
  OwningOpRef<ModuleOp> copy(module.clone());
  for (auto function : copy->getOps<func::FuncOp>())
    if (function.isPublic())
      markEntry(function);
  CompileOptions options;
  options.target = target.str();
  options.useCache = false;
  return compileText(printModule(*copy), "random.mlir", options);
}

static CompiledProgram compileTraced(const Program &program) {
  CompileOptions options;
  options.verifyEach = true;
  return compile(program, options);
}

static runtime::Session load(const CompiledProgram &program) {
  runtime::StatusOr<runtime::Session> session = runtime::Session::load(program.artifact, {});
  if (!session)
    throw std::runtime_error(session.status().toString());
  return *std::move(session);
}

CompiledModule::CompiledModule(ModuleOp module, StringRef target)
    : context_(*module.getContext()), session_(load(compileModule(module, target))) {}
CompiledModule::CompiledModule(const Program &program, MLIRContext &context)
    : context_(context), session_(load(compileTraced(program))) {}

std::vector<Array> CompiledModule::runArrays(StringRef function, std::vector<Array> inputs) {
  auto outputs = session_.run(std::string_view(function), std::move(inputs));
  if (!outputs)
    throw std::runtime_error(outputs.status().toString());
  return *std::move(outputs);
}

static std::vector<Array> toArrays(ArrayRef<Tensor> tensors) {
  std::vector<Array> arrays;
  for (const Tensor &tensor : tensors)
    arrays.push_back(toArray(tensor));
  return arrays;
}

std::vector<Tensor> CompiledModule::run(StringRef function, ArrayRef<Tensor> arguments) {
  std::vector<Tensor> results;
  for (const Array &output : runArrays(function, toArrays(arguments)))
    results.push_back(toTensor(output.isSharded() ? output.whole() : output, context_));
  return results;
}

Tensors CompiledModule::run(StringRef function, const Tensors &inputs) {
  const runtime::EntryInfo *entry = session_.entry(std::string_view(function));
  if (!entry)
    throw std::runtime_error("the artifact has no entry " + function.str());
  std::vector<Array> arguments;
  for (const runtime::ParameterInfo &input : entry->inputs) {
    auto found = inputs.find(input.name);
    arguments.push_back(found != inputs.end() ? toArray(found->second) : Array(input.type));
  }
  std::vector<Array> outputs = runArrays(function, std::move(arguments));
  Tensors results;
  for (auto [info, output] : llvm::zip(entry->outputs, outputs))
    results[info.name] = toTensor(output.isSharded() ? output.whole() : output, context_);
  return results;
}

void test::moveFunctions(ModuleOp module, ModuleOp batch, StringRef suffix) {
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    StringAttr name = StringAttr::get(module.getContext(), function.getName() + suffix);
    if (failed(SymbolTable::replaceAllSymbolUses(function, name, module)))
      throw std::runtime_error("uses of a function that cannot be renamed");
    SymbolTable::setSymbolName(function, name);
    function->moveBefore(batch.getBody(), batch.getBody()->end());
  }
}
