//===- CompiledModule.cpp - a module as machine code ----------------------===//
#include "test/support/CompiledModule.h"
#include "compiler/pipelines/Pipelines.h"
#include "dialects/graph/IR/Graph.h"
#include "minigptc/compiler/Compile.h"
#include "test/support/Shrink.h"

#include <cstring>
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

static DType dtypeOfElement(Type element) {
  if (element.isF64())
    return DType::f64;
  if (element.isF32())
    return DType::f32;
  if (element.isBF16())
    return DType::bf16;
  if (element.isInteger(1))
    return DType::i1;
  if (element.isInteger(64))
    return element.isUnsignedInteger() ? DType::u64 : DType::i64;
  if (element.isInteger(32))
    return element.isUnsignedInteger() ? DType::u32 : DType::i32;
  throw std::runtime_error("an element type that is not compiled");
}

CompiledModule::CompiledModule(ModuleOp module) {
  OwningOpRef<ModuleOp> copy(module.clone());
  for (auto function : copy->getOps<func::FuncOp>())
    if (function.isPublic()) {
      markEntry(function);
      for (Type type : function.getResultTypes())
        resultTypes_[function.getName().str()].push_back(cast<RankedTensorType>(type));
    }
  CompileOptions options;
  options.useCache = false;
  CompiledProgram program = compileText(printModule(*copy), "random.mlir", options);
  runtime::StatusOr<runtime::Session> session = runtime::Session::load(program.artifact, {});
  if (!session)
    throw std::runtime_error(session.status().toString());
  session_.emplace(*std::move(session));
}

static Array toArray(const Tensor &tensor) {
  minigptc::TensorType type{dtypeOfElement(tensor.getType().getElementType()),
                            Shape(tensor.getShape().begin(), tensor.getShape().end())};
  Array array(type);
  std::memcpy(array.data(), tensor.data(), tensor.getNumBytes());
  return array;
}

std::vector<Tensor> CompiledModule::run(StringRef function, ArrayRef<Tensor> arguments) {
  std::vector<Array> inputs;
  for (const Tensor &argument : arguments)
    inputs.push_back(toArray(argument));
  runtime::StatusOr<std::vector<Array>> outputs =
      session_->run(std::string_view(function), std::move(inputs));
  if (!outputs)
    throw std::runtime_error(outputs.status().toString());
  const std::vector<RankedTensorType> &types = resultTypes_.at(function.str());
  std::vector<Tensor> results;
  for (size_t i = 0; i < types.size(); ++i) {
    Tensor tensor(types[i]);
    std::memcpy(tensor.mutableData(), (*outputs)[i].data(), tensor.getNumBytes());
    results.push_back(std::move(tensor));
  }
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
