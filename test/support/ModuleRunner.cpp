//===- ModuleRunner.cpp - IR from text, passes, the interpreter -----------===//
#include "test/support/ModuleRunner.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <mutex>
#include <random>
#include <stdexcept>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

ModuleRunner::ModuleRunner() {
  static std::once_flag passesRegistered;
  std::call_once(passesRegistered, registerAllPasses);
  DialectRegistry registry;
  registerAllDialects(registry);
  context_ = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context_->loadAllAvailableDialects();
}

void ModuleRunner::check(StringRef what, llvm::function_ref<LogicalResult()> function) {
  std::string diagnostics;
  llvm::raw_string_ostream os(diagnostics);
  ScopedDiagnosticHandler handler(context_.get(), [&](Diagnostic &diagnostic) {
    os << diagnostic.getLocation() << ": " << diagnostic << "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      os << "  " << note.getLocation() << ": note: " << note << "\n";
  });
  if (failed(function()))
    throw std::runtime_error(what.str() + " failed:\n" + diagnostics);
}

OwningOpRef<ModuleOp> ModuleRunner::parse(StringRef text) {
  OwningOpRef<ModuleOp> module;
  check("parsing", [&] {
    module = parseSourceString<ModuleOp>(text, context_.get());
    return success(bool(module));
  });
  return module;
}

void ModuleRunner::runPasses(ModuleOp module, StringRef pipeline) {
  if (pipeline.empty())
    return;
  check(pipeline, [&]() -> LogicalResult {
    PassManager passManager(context_.get(), ModuleOp::getOperationName());
    passManager.enableVerifier();
    if (failed(parsePassPipeline(pipeline, passManager, llvm::errs())))
      return failure();
    return passManager.run(module);
  });
}

std::vector<Tensor> ModuleRunner::run(ModuleOp module, StringRef function,
                                      ArrayRef<Tensor> arguments) {
  std::vector<Tensor> results;
  check("running @" + function.str(), [&]() -> LogicalResult {
    FailureOr<SmallVector<Tensor>> values = interpreter::evaluate(module, function, arguments);
    if (failed(values))
      return failure();
    results.assign(values->begin(), values->end());
    return success();
  });
  return results;
}

std::vector<Tensor> ModuleRunner::run(StringRef text, StringRef function,
                                      ArrayRef<Tensor> arguments, StringRef pipeline) {
  OwningOpRef<ModuleOp> module = parse(text);
  runPasses(*module, pipeline);
  return run(*module, function, arguments);
}

RankedTensorType ModuleRunner::type(StringRef shapeAndElement) {
  std::string text = "tensor<" + shapeAndElement.str() + ">";
  auto type = dyn_cast_or_null<RankedTensorType>(parseType(text, context_.get()));
  if (!type)
    throw std::runtime_error("no tensor type: " + text);
  return type;
}

static void set(Tensor &tensor, int64_t position, double value) {
  if (isa<FloatType>(tensor.getType().getElementType()))
    tensor.setFloat(position, value);
  else
    tensor.setInt(position, int64_t(value));
}

Tensor ModuleRunner::tensor(StringRef shapeAndElement, ArrayRef<double> values) {
  Tensor tensor(type(shapeAndElement));
  if (values.size() != 1 && int64_t(values.size()) != tensor.getNumElements())
    throw std::runtime_error("tensor<" + shapeAndElement.str() +
                             "> has another number of elements");
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    set(tensor, i, values[values.size() == 1 ? 0 : i]);
  return tensor;
}

Tensor ModuleRunner::random(RankedTensorType type, uint64_t seed) {
  std::mt19937_64 generator(seed);
  Tensor tensor(type);
  bool isFloat = isa<FloatType>(type.getElementType());
  bool isBool = type.getElementType().isInteger(1);
  // Box-Muller on our own: the standard library's distributions differ by vendor.
  auto uniform = [&] { return (double(generator() >> 11) + 0.5) * 0x1p-53; };
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    set(tensor, i,
        isFloat  ? normal
        : isBool ? double(normal > 0)
                 : std::floor(std::fabs(normal) * 3));
  }
  return tensor;
}

Tensor ModuleRunner::filled(RankedTensorType type, double value) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    set(tensor, i, value);
  return tensor;
}
