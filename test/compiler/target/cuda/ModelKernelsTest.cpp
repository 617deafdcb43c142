//===- ModelKernelsTest.cpp - the kernels that models are made of ---------===//
//
// Every kernel of the step, the evaluation and the generation of a model, as the command line
// compiles it: in the emulator against the interpreter, and before ptxas.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Interpreter.h"
#include "compiler/target/common/KernelText.h"
#include "compiler/target/cuda/KernelPlan.h"
#include "compiler/target/cuda/PtxCompiler.h"
#include "dialects/exec/IR/Exec.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include "test/compiler/target/cuda/CudaKernels.h"
#include "test/compiler/target/cuda/Ptxas.h"
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdio>
#include <set>

using namespace mlir;
using namespace minigptc;
using Tensor = KernelHarness::Tensor;

/// What `minigptc compile ARGUMENTS --stop-after=exec` prints.
static std::string compileModel(const std::string &arguments) {
  std::string command = std::string(MINIGPTC_BIN_DIR) + "/minigptc compile " + arguments +
                        " --threads 1 --stop-after=exec";
  FILE *pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string text;
  char part[65536];
  for (size_t size; (size = fread(part, 1, sizeof part, pipe)) > 0;)
    text.append(part, size);
  INFO(command);
  REQUIRE(pclose(pipe) == 0);
  return text;
}

/// As near as sums in another order come; what overflows or has no value does so in both.
static void checkNear(const Tensor &got, const Tensor &expected, double tolerance) {
  bool isFloat = isa<FloatType>(got.getType().getElementType());
  double largest = 0;
  for (int64_t i = 0; isFloat && i < got.getNumElements(); ++i)
    if (std::isfinite(expected.getFloat(i)))
      largest = std::max(largest, std::abs(expected.getFloat(i)));
  for (int64_t i = 0; i < got.getNumElements(); ++i) {
    if (!isFloat) {
      REQUIRE(got.getInt(i) == expected.getInt(i));
      continue;
    }
    double a = got.getFloat(i), b = expected.getFloat(i);
    INFO("element " << i << ": got " << a << ", expected " << b);
    REQUIRE((std::isfinite(b) ? std::abs(a - b) <= tolerance * (largest + std::abs(b))
                              : std::isnan(b) ? std::isnan(a) : a == b));
  }
}

/// A launch over groups gives each group what a launch of its own would.
static void checkGrouped(KernelHarness &harness, func::FuncOp kernel) {
  INFO(target::printKernel(kernel));
  std::vector<std::vector<Tensor>> groups(2);
  for (std::vector<Tensor> &inputs : groups)
    for (Type type : kernel.getArgumentTypes())
      inputs.push_back(harness.random(cast<RankedTensorType>(type)));
  auto together = runEmulated(kernel, groups, {});
  for (size_t group = 0; group < groups.size(); ++group) {
    auto alone = runEmulated(kernel, {groups[group]}, {});
    for (size_t i = 0; i < alone.front().size(); ++i)
      compareBits(together[group][i], alone.front()[i]);
  }
}

static void checkKernel(KernelHarness &harness, func::FuncOp kernel, bool withPtxas) {
  std::string text = target::printKernel(kernel);
  INFO(text);
  std::vector<Tensor> inputs;
  bool isNarrow = StringRef(text).contains("bf16");
  for (Type type : kernel.getArgumentTypes())
    inputs.push_back(harness.random(cast<RankedTensorType>(type)));
  auto got = runEmulated(kernel, {inputs}, {});
  REQUIRE(got.size() == 1);
  auto expected = interpreter::evaluate(kernel->getParentOfType<ModuleOp>(), kernel.getSymName(),
                                        inputs);
  REQUIRE(succeeded(expected));
  for (size_t i = 0; i < expected->size(); ++i) {
    INFO("result " << i);
    checkNear(got.front()[i], (*expected)[i], isNarrow ? 1.0 / 64 : 2e-5);
  }
  if (!withPtxas)
    return;
  cuda::PtxCompiler generator;
  auto code = generator.compile(text, {});
  REQUIRE(succeeded(code));
  for (const char *arch : {"sm_80", "sm_120"}) {
    PtxasReport report = assemble(code->ptx, arch);
    INFO(arch << ": " << report.text);
    REQUIRE(report.accepted);
    CHECK(report.localBytes == 0);
  }
}

TEST_CASE("every kernel of the models") {
  if (!hasPtxas())
    WARN("no ptxas in the path: kernels are emulated, and not assembled");
  KernelHarness harness;
  harness.low = 0.25, harness.high = 2; // no sums near zero, no roots of what is negative
  std::set<std::string> known;
  for (const char *model : {"--preset nano", "--preset nano --set training.precision=bf16",
                            "--preset minigpt-tiny"}) {
    INFO(model);
    OwningOpRef<ModuleOp> module = harness.parse(compileModel(model));
    int count = 0;
    for (func::FuncOp kernel : target::findKernels(*module))
      if (known.insert(target::printKernel(kernel)).second) {
        checkKernel(harness, kernel, hasPtxas());
        ++count;
      }
    CHECK(count > 5);
    std::set<std::string> grouped;
    SymbolTable symbols(*module);
    module->walk([&](exec::LaunchOp launch) {
      if (launch.getGroups() > 1 && grouped.insert(launch.getKernel().str()).second)
        checkGrouped(harness, symbols.lookup<func::FuncOp>(launch.getKernel()));
    });
    CHECK(grouped.size() > 2); // updates of parameters, norms of gradients
  }
}
