//===- KernelHarness.cpp --------------------------------------------------===//
#include "test/compiler/target/cpu/KernelHarness.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>

#include <cmath>

using namespace mlir;
using namespace minigptc;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

KernelHarness::KernelHarness() : context(makeRegistry()) { context.loadAllAvailableDialects(); }

OwningOpRef<ModuleOp> KernelHarness::parse(const std::string &text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  INFO(text);
  REQUIRE(module);
  return module;
}

KernelHarness::Tensor KernelHarness::random(RankedTensorType type) {
  Tensor tensor(type);
  std::uniform_real_distribution<double> distribution(low, high);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double value = distribution(generator);
    if (isa<FloatType>(type.getElementType()))
      tensor.setFloat(i, value);
    else if (type.getElementType().isInteger(1))
      tensor.setInt(i, value > 0);
    else
      tensor.setInt(i, int64_t(std::floor(value)));
  }
  return tensor;
}

static void compare(const KernelHarness::Tensor &got, const KernelHarness::Tensor &expected,
                    double tolerance) {
  REQUIRE(got.getType() == expected.getType());
  bool isFloat = isa<FloatType>(got.getType().getElementType());
  for (int64_t i = 0; i < got.getNumElements(); ++i) {
    INFO("element " << i);
    if (!isFloat) {
      REQUIRE(got.getInt(i) == expected.getInt(i));
      continue;
    }
    double a = got.getFloat(i), b = expected.getFloat(i);
    if (std::isnan(b) || std::isinf(b)) {
      REQUIRE(((std::isnan(a) && std::isnan(b)) || a == b));
      continue;
    }
    INFO("got " << a << ", expected " << b);
    REQUIRE(std::abs(a - b) <= tolerance * (1 + std::abs(b)));
  }
}

void compareBits(const KernelHarness::Tensor &a, const KernelHarness::Tensor &b) {
  bool isFloat = isa<FloatType>(a.getType().getElementType());
  for (int64_t i = 0; i < a.getNumElements(); ++i) {
    INFO("element " << i);
    bool bothNan = isFloat && std::isnan(a.getFloat(i)) && std::isnan(b.getFloat(i));
    REQUIRE((bothNan || (isFloat ? a.getFloat(i) == b.getFloat(i) : a.getInt(i) == b.getInt(i))));
  }
}

void KernelHarness::check(const std::string &text) {
  OwningOpRef<ModuleOp> module = parse(text);
  auto kernel = *module->getOps<func::FuncOp>().begin();
  std::vector<Tensor> inputs;
  for (Type type : kernel.getArgumentTypes())
    inputs.push_back(random(cast<RankedTensorType>(type)));
  check(text, inputs);
}

void KernelHarness::check(const std::string &text, const std::vector<Tensor> &inputs) {
  INFO(text);
  OwningOpRef<ModuleOp> module = parse(text);
  auto kernel = *module->getOps<func::FuncOp>().begin();
  auto expected = interpreter::evaluate(*module, kernel.getSymName(), inputs);
  REQUIRE(succeeded(expected));
  std::vector<Tensor> got = run(*module, inputs);
  if (got.empty())
    return;
  REQUIRE(got.size() == expected->size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i);
    compare(got[i], (*expected)[i], tolerance);
  }
  checkVariants(*module, inputs, got);
}
