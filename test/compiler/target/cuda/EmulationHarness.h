//===- EmulationHarness.h - kernels for tests of the emulator ---*- C++ -*-===//
//
//   EmulatedKernels kernels = EmulatedKernels::fromFile("kernels.ll");
//   DeviceBuffer<float> x(kernels, "x", values);
//   Report report = kernels.launch({.kernel = "scale", .block = {256}}, arguments(x, 2.0f, n));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CUDA_EMULATIONHARNESS_H
#define MINIGPTC_TEST_COMPILER_TARGET_CUDA_EMULATIONHARNESS_H

#include "compiler/target/cuda/Emulation.h"
#include "runtime/drivers/cuda/emulator/Emulator.h"
#include "llvm/IR/LLVMContext.h"

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace minigptc::test {

using namespace runtime::emulator;

/// A module of NVPTX kernels from LLVM's text; `text` may leave out target and declarations.
std::unique_ptr<llvm::Module> parseKernels(llvm::LLVMContext &context, const std::string &text);
std::string readInput(const std::string &name);

/// Compiled kernels and a device to run them on.
class EmulatedKernels {
public:
  explicit EmulatedKernels(std::unique_ptr<llvm::Module> module);
  static EmulatedKernels fromText(const std::string &text);
  static EmulatedKernels fromFile(const std::string &name) { return fromText(readInput(name)); }

  /// Fails the test if the launch does not fit the kernel.
  Report launch(Launch launch, const LaunchOptions &options = {});
  Emulator &device() { return *emulator; }
  const EmulatedModule &module() const { return *loaded; }

private:
  std::unique_ptr<EmulatedModule> loaded;
  std::unique_ptr<Emulator> emulator;
};

/// The error of kernels that do not compile for the emulator; empty if they do.
std::string compileError(const std::string &text);

/// Memory of the device with its contents.
template <typename T> class DeviceBuffer {
public:
  DeviceBuffer(EmulatedKernels &kernels, const std::string &name, std::vector<T> contents)
      : kernels(kernels), values(std::move(contents)), pointer(values.data()) {
    (void)kernels.device().memory().add(pointer, values.size() * sizeof(T), name).ok();
  }
  DeviceBuffer(const DeviceBuffer &) = delete;
  ~DeviceBuffer() {
    if (pointer)
      (void)kernels.device().memory().remove(pointer).ok();
  }
  const std::vector<T> &contents() const { return values; }
  std::vector<T> &contents() { return values; }
  T *const *parameter() const { return &pointer; }

private:
  EmulatedKernels &kernels;
  std::vector<T> values;
  T *pointer;
};

/// The addresses of parameters: buffers and scalars, which must outlive the launch.
template <typename T> const void *addressOf(const DeviceBuffer<T> &buffer) {
  return buffer.parameter();
}
template <typename T> const void *addressOf(const T &scalar) { return &scalar; }
template <typename... Parameters>
std::vector<const void *> parameters(const Parameters &...values) {
  return {addressOf(values)...};
}

/// Values between -1 and 1, the same at every call.
std::vector<float> someValues(size_t count, uint32_t seed = 1);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_EMULATIONHARNESS_H
