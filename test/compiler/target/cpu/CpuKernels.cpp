//===- CpuKernels.cpp - kernels of tests as code of the CPU ---------------===//
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/cpu/KernelPlan.h"
#include "compiler/target/cpu/Linker.h"
#include "compiler/target/cpu/MachineCode.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace minigptc;
using Tensor = KernelHarness::Tensor;

const bool KernelHarness::isEmulated = false;

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

static std::vector<Tensor> runFor(ModuleOp module, const std::vector<Tensor> &inputs, int inPlace,
                                  const cpu::Isa &isa) {
  auto kernel = *module.getOps<func::FuncOp>().begin();
  KernelHarness::KernelFunction function = KernelHarness::compile(module, isa);
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

std::vector<Tensor> KernelHarness::run(ModuleOp module, const std::vector<Tensor> &inputs) {
  return runFor(module, inputs, inPlace, cpu::Isa::baseline());
}

void KernelHarness::checkVariants(ModuleOp module, const std::vector<Tensor> &inputs,
                                  const std::vector<Tensor> &got) {
  const cpu::Isa &native = *cpu::Isa::named("native");
  if (&native == &cpu::Isa::baseline())
    return;
  std::vector<Tensor> wide = runFor(module, inputs, inPlace, native);
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i << ", on " << native.cpu);
    compareBits(got[i], wide[i]);
  }
}
