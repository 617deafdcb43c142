#include "test/compiler/target/cuda/KernelCase.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/target/common/KernelText.h"
#include "compiler/target/cuda/PtxCompiler.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;
using Tensor = KernelCase::Tensor;

/// No loop of a small kernel turns so often; one made wrong may.
static constexpr uint64_t kMaxTurns = 1 << 16;

/// Positive numbers, so that no sum is near zero and no root is of what is negative; ids that
/// every table has; any bits for keys.
static Tensor randomTensor(RankedTensorType type, std::mt19937 &generator) {
  Tensor tensor(type);
  Type element = type.getElementType();
  std::uniform_real_distribution<double> numbers(0.25, 2);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    if (isa<FloatType>(element))
      tensor.setFloat(i, numbers(generator));
    else if (element.isUnsignedInteger())
      tensor.setInt(i, int64_t(generator()));
    else
      tensor.setInt(i, int64_t(generator() % (element.isInteger(1) ? 2 : 3)));
  return tensor;
}

KernelCase::KernelCase(func::FuncOp kernel, int64_t groups, int sets, std::mt19937 &generator)
    : name(kernel.getSymName()), launchPlan(cuda::planKernel(kernel)) {
  std::string text = target::printKernel(kernel);
  tolerance = StringRef(text).contains("bf16") ? 1.0 / 64 : 2e-5;
  cuda::PtxCompiler compiler;
  code = compiler.generate(text, {.grouped = groups > 1, .lines = true}, context);
  if (!code) {
    message = compiler.error();
    return;
  }
  inputs.resize(size_t(sets)), expected.resize(size_t(sets));
  for (int64_t i = 0; i < groups * sets; ++i) {
    std::vector<Tensor> &tensors = inputs[size_t(i / groups)].emplace_back();
    for (Type type : kernel.getArgumentTypes())
      tensors.push_back(randomTensor(cast<RankedTensorType>(type), generator));
    auto results = interpreter::evaluate(kernel->getParentOfType<ModuleOp>(), name, tensors);
    if (failed(results)) {
      message = "the interpreter refuses kernel '" + name + "'";
      return;
    }
    expected[size_t(i / groups)].emplace_back(results->begin(), results->end());
  }
}

void KernelCase::shareMemory(EmulatedKernels &kernels, uint64_t seeds) {
  const std::vector<Tensor> &in = inputs[0][0], &out = expected[0][0];
  std::vector<bool> taken(in.size());
  auto works = [&] {
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      Outcome outcome = run(kernels, seed, 0, /*inPlace=*/true);
      if (!outcome.report.clean() || !difference(outcome.results).empty())
        return false;
    }
    return true;
  };
  for (size_t result = 0; result < out.size(); ++result)
    for (size_t input = 0; input < in.size(); ++input) {
      if (taken[input] || in[input].getType() != out[result].getType() || shared.count(result))
        continue;
      shared[result] = input;
      if (works())
        taken[input] = true;
      else
        shared.erase(result);
    }
}

namespace {
/// Memory of a size to the byte, so that the emulator sees what goes past its end.
class Memory {
public:
  explicit Memory(runtime::emulator::DeviceMemory &device) : device(device) {}
  Memory(const Memory &) = delete;
  ~Memory() {
    for (void *buffer : buffers) {
      (void)device.remove(buffer).ok();
      std::free(buffer);
    }
  }
  void *add(size_t bytes, const void *from, const std::string &name) {
    void *buffer = buffers.emplace_back(std::aligned_alloc(64, (bytes + 64) / 64 * 64));
    if (from)
      std::memcpy(buffer, from, bytes);
    else
      std::memset(buffer, 0x7f, bytes); // every element must be written
    REQUIRE((bytes == 0 || device.add(buffer, bytes, name).ok()));
    return buffer;
  }

private:
  runtime::emulator::DeviceMemory &device;
  std::vector<void *> buffers;
};
} // namespace

Outcome KernelCase::run(EmulatedKernels &kernels, uint64_t seed, size_t set, bool inPlace) const {
  Memory memory(kernels.device().memory());
  std::vector<void *> table;
  std::vector<std::pair<void *, size_t>> outputs;
  for (size_t group = 0; group < inputs[set].size(); ++group) {
    size_t first = table.size();
    for (auto [i, input] : llvm::enumerate(inputs[set][group]))
      table.push_back(
          memory.add(input.getNumBytes(), input.data(), "input " + std::to_string(i)));
    for (auto [i, output] : llvm::enumerate(expected[set][group])) {
      auto place = shared.find(i);
      table.push_back(inPlace && place != shared.end()
                          ? table[first + place->second]
                          : memory.add(output.getNumBytes(), nullptr,
                                       "output " + std::to_string(i)));
      outputs.push_back({table.back(), output.getNumBytes()});
    }
  }
  Launch launch;
  launch.kernel = name;
  launch.grid = {uint32_t(launchPlan.grid), uint32_t(groups()), 1};
  launch.block = {uint32_t(launchPlan.block), 1, 1};
  launch.sharedBytes = uint32_t(launchPlan.sharedBytes);
  void *tableAddress = nullptr;
  if (groups() > 1) {
    tableAddress = memory.add(table.size() * sizeof(void *), table.data(), "table");
    launch.parameters = {&tableAddress};
  } else {
    for (void *&pointer : table)
      launch.parameters.push_back(&pointer);
  }
  Outcome outcome;
  outcome.report = kernels.launch(launch, {.seed = seed, .maxTurns = kMaxTurns});
  for (auto [address, bytes] : outputs) {
    auto *begin = static_cast<unsigned char *>(address);
    outcome.results.insert(outcome.results.end(), begin, begin + bytes);
  }
  return outcome;
}

/// As near as sums in another order come; what overflows or has no value does so in both.
static std::string compare(const Tensor &got, const Tensor &expected, double tolerance) {
  bool isFloat = isa<FloatType>(got.getType().getElementType());
  double largest = 0;
  for (int64_t i = 0; isFloat && i < got.getNumElements(); ++i)
    if (std::isfinite(expected.getFloat(i)))
      largest = std::max(largest, std::abs(expected.getFloat(i)));
  for (int64_t i = 0; i < got.getNumElements(); ++i) {
    double a = isFloat ? got.getFloat(i) : double(got.getInt(i));
    double b = isFloat ? expected.getFloat(i) : double(expected.getInt(i));
    bool near = isFloat && std::isfinite(b)
                    ? std::abs(a - b) <= tolerance * (largest + std::abs(b))
                    : a == b || (std::isnan(a) && std::isnan(b));
    if (!near)
      return "element " + std::to_string(i) + " is " + std::to_string(a) + " instead of " +
             std::to_string(b);
  }
  return "";
}

std::string KernelCase::difference(const std::vector<unsigned char> &results, size_t set) const {
  size_t at = 0;
  for (size_t group = 0; group < expected[set].size(); ++group)
    for (auto [i, output] : llvm::enumerate(expected[set][group])) {
      Tensor got(output.getType());
      std::memcpy(got.mutableData(), results.data() + at, got.getNumBytes());
      at += got.getNumBytes();
      if (std::string wrong = compare(got, output, tolerance); !wrong.empty())
        return "group " + std::to_string(group) + ", result " + std::to_string(i) + ": " + wrong;
    }
  return "";
}
