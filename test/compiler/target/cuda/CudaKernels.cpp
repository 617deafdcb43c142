//===- CudaKernels.cpp - kernels of tests in the emulator -----------------===//
//
// The tests of the CPU's kernels, on a GPU that is emulated: PTX's own LLVM code, thread by
// thread, with every access checked.
//
//===----------------------------------------------------------------------===//
#include "compiler/target/cuda/Emulation.h"
#include "compiler/target/cuda/KernelPlan.h"
#include "compiler/target/cuda/PtxCompiler.h"
#include "runtime/drivers/cuda/emulator/Emulator.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include "test/compiler/target/cuda/CudaKernels.h"
#include <catch2/catch.hpp>

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::runtime::emulator;
using Tensor = KernelHarness::Tensor;

const bool KernelHarness::isEmulated = true;

namespace {
/// Memory of a size to the byte, so that the emulator sees what goes past its end.
struct Buffer {
  explicit Buffer(size_t bytes)
      : bytes(bytes), memory(std::aligned_alloc(64, (bytes + 64) / 64 * 64), std::free) {}
  size_t bytes;
  std::unique_ptr<void, decltype(&std::free)> memory;
};
} // namespace

/// Functions of f64, and some few besides, are all that is refused.
static bool isRefused(const std::string &error) {
  return StringRef(error).starts_with("no CUDA code for ");
}

static const EmulatedModule *compileKernel(func::FuncOp kernel, bool grouped) {
  std::string refusal;
  ScopedDiagnosticHandler handler(kernel.getContext(),
                                  [&](Diagnostic &diagnostic) { refusal = diagnostic.str(); });
  if (failed(cuda::verifyKernel(kernel))) {
    INFO(refusal);
    REQUIRE(isRefused(refusal));
    return nullptr;
  }
  static cuda::PtxCompiler generator;
  std::string text;
  llvm::raw_string_ostream(text) << kernel;
  auto code = generator.compile(text, {.grouped = grouped, .emulate = true});
  if (failed(code) && isRefused(generator.error()))
    return nullptr;
  INFO(generator.error());
  REQUIRE(succeeded(code));
  CHECK(code->ptx.find("ld.local") == std::string::npos);
  std::string error;
  auto elf = cuda::emulation::link({code->object}, error);
  INFO(error);
  REQUIRE(succeeded(elf));
  auto module = EmulatedModule::load(*elf);
  INFO(module.status().message());
  REQUIRE(module.ok());
  static std::unique_ptr<EmulatedModule> last;
  last = std::make_unique<EmulatedModule>(std::move(*module));
  return last.get();
}

std::vector<std::vector<Tensor>> runEmulated(func::FuncOp kernel,
                                             const std::vector<std::vector<Tensor>> &groups,
                                             const EmulatedRun &run) {
  bool grouped = groups.size() > 1;
  const EmulatedModule *module = compileKernel(kernel, grouped);
  if (!module)
    return {};
  Emulator device;
  std::vector<Buffer> buffers;
  std::vector<void *> table;
  auto add = [&](size_t bytes, const void *from, const std::string &name) {
    Buffer &buffer = buffers.emplace_back(bytes);
    if (from)
      std::memcpy(buffer.memory.get(), from, bytes);
    else
      std::memset(buffer.memory.get(), 0x7f, bytes); // every element must be written
    if (bytes)
      REQUIRE(device.memory().add(buffer.memory.get(), bytes, name).ok());
    table.push_back(buffer.memory.get());
  };
  size_t numInputs = kernel.getNumArguments(), numOutputs = kernel.getNumResults();
  for (const std::vector<Tensor> &inputs : groups) {
    size_t first = table.size();
    for (auto [i, input] : llvm::enumerate(inputs))
      add(input.getNumBytes(), input.data(), "input " + std::to_string(i));
    for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
      if (i == 0 && run.inPlace >= 0)
        table.push_back(table[first + size_t(run.inPlace)]);
      else
        add(Tensor(cast<RankedTensorType>(type)).getNumBytes(), nullptr,
            "output " + std::to_string(i));
  }
  cuda::KernelPlan plan = cuda::planKernel(kernel);
  Launch launch;
  launch.kernel = kernel.getSymName().str();
  launch.grid = {uint32_t(plan.grid), uint32_t(groups.size()), 1};
  launch.block = {uint32_t(plan.block), 1, 1};
  launch.sharedBytes = plan.sharedBytes;
  void *tableAddress = table.data();
  if (grouped) {
    REQUIRE(device.memory().add(table.data(), table.size() * sizeof(void *), "table").ok());
    launch.parameters = {&tableAddress};
  } else {
    for (void *&pointer : table)
      launch.parameters.push_back(&pointer);
  }
  auto report = device.launch(*module, launch, {.seed = run.seed});
  REQUIRE(report.ok());
  INFO(report->status().message());
  REQUIRE(report->clean());
  std::vector<std::vector<Tensor>> results;
  for (size_t group = 0; group < groups.size(); ++group) {
    results.emplace_back();
    for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
      Tensor &result = results.back().emplace_back(cast<RankedTensorType>(type));
      if (result.getNumBytes()) // of nothing, there is no address
        std::memcpy(result.mutableData(), table[group * (numInputs + numOutputs) + numInputs + i],
                    result.getNumBytes());
    }
  }
  return results;
}

std::vector<Tensor> KernelHarness::run(ModuleOp module, const std::vector<Tensor> &inputs) {
  auto results = runEmulated(*module.getOps<func::FuncOp>().begin(), {inputs}, {.inPlace = inPlace});
  return results.empty() ? std::vector<Tensor>() : results.front();
}

/// Threads in another order give the same bits.
void KernelHarness::checkVariants(ModuleOp module, const std::vector<Tensor> &inputs,
                                  const std::vector<Tensor> &got) {
  static int checks = 0;
  if (++checks % 4)
    return;
  auto others = runEmulated(*module.getOps<func::FuncOp>().begin(), {inputs},
                            {.inPlace = inPlace, .seed = uint64_t(checks)});
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i << ", in another order");
    compareBits(got[i], others.front()[i]);
  }
}
