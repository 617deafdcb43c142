//===- KernelHarness.cpp --------------------------------------------------===//
#include "test/compiler/target/cpu/KernelHarness.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/cpu/KernelPlan.h"
#include "compiler/target/cpu/Linker.h"
#include "compiler/target/cpu/MachineCode.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

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

/// The library stays loaded, and its file open: dlopen takes a path that it knows
/// for the library that it has.
static KernelHarness::KernelFunction loadKernel(const std::vector<std::byte> &code,
                                                const std::string &name) {
  int file = memfd_create("kernel", MFD_CLOEXEC);
  REQUIRE(write(file, code.data(), code.size()) == ssize_t(code.size()));
  std::string path = "/proc/self/fd/" + std::to_string(file);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  INFO((library ? "" : dlerror()));
  REQUIRE(library);
  void *symbol = dlsym(library, name.c_str());
  REQUIRE(symbol);
  return reinterpret_cast<KernelHarness::KernelFunction>(symbol);
}

KernelHarness::KernelFunction KernelHarness::compile(ModuleOp module, const cpu::Isa &isa) {
  auto kernel = *module.getOps<func::FuncOp>().begin();
  REQUIRE(succeeded(cpu::verifyKernel(kernel)));
  static cpu::MachineCode baseline, wide(cpu::Isa::avx512());
  cpu::MachineCode &generator = &isa == &cpu::Isa::baseline() ? baseline : wide;
  std::string text;
  llvm::raw_string_ostream(text) << kernel;
  FailureOr<std::string> object = generator.compile(text);
  INFO(generator.error());
  REQUIRE(succeeded(object));
  std::string error;
  FailureOr<std::vector<std::byte>> code = cpu::linkSharedObject({*object}, error);
  INFO(error);
  REQUIRE(succeeded(code));
  return loadKernel(*code, kernel.getSymName().str());
}

std::vector<KernelHarness::Tensor>
KernelHarness::run(ModuleOp module, const std::vector<Tensor> &inputs, const cpu::Isa &isa) {
  auto kernel = *module.getOps<func::FuncOp>().begin();
  KernelFunction function = compile(module, isa);
  std::vector<Tensor> arguments = inputs, results;
  std::vector<void *> buffers;
  for (Tensor &argument : arguments)
    buffers.push_back(argument.mutableData());
  for (Type type : kernel.getResultTypes())
    results.push_back(Tensor(cast<RankedTensorType>(type)));
  for (Tensor &result : results) {
    // Every element must be written.
    std::fill_n(result.mutableData(), result.getNumBytes(), std::byte(0x7f));
    buffers.push_back(result.mutableData());
  }
  if (inPlace >= 0) {
    std::copy_n(arguments[size_t(inPlace)].data(), results[0].getNumBytes(),
                results[0].mutableData());
    buffers[size_t(inPlace)] = results[0].mutableData();
  }
  cpu::KernelPlan plan = cpu::planKernel(kernel);
  int64_t middle = (plan.items + 1) / 3;
  std::unique_ptr<void, decltype(&std::free)> scratch(
      std::aligned_alloc(64, (plan.scratch + 64) / 64 * 64), std::free);
  std::memset(scratch.get(), 0x7f, size_t(plan.scratch));
  function(buffers.data(), middle, plan.items, scratch.get());
  function(buffers.data(), 0, middle, scratch.get());
  return results;
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

static void compareBits(const KernelHarness::Tensor &a, const KernelHarness::Tensor &b) {
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
  REQUIRE(got.size() == expected->size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i);
    compare(got[i], (*expected)[i], tolerance);
  }
  const cpu::Isa &native = *cpu::Isa::named("native");
  if (&native == &cpu::Isa::baseline())
    return;
  std::vector<Tensor> wide = run(*module, inputs, native);
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i << ", on " << native.cpu);
    compareBits(got[i], wide[i]);
  }
}
