//===- CudaProgram.h - small CUDA programs on emulated devices --*- C++ -*-===//
//
//   CudaProgram cuda({.devices = 1, .seed = 3});
//   Stream stream = cuda.stream();
//   DevicePtr x = cuda.memory(64);
//   cuda.driver.memsetD8Async(x, 0, 64, stream);
//   cuda.check(cuda.driver.streamSynchronize(stream));
//   CHECK(cuda.finish().empty());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_RUNTIME_CUDA_CUDAPROGRAM_H
#define MINIGPTC_TEST_RUNTIME_CUDA_CUDAPROGRAM_H

#include "runtime/drivers/cuda/test/TestDevice.h"

#include <functional>
#include <string>
#include <vector>

namespace minigptc::test {

using namespace runtime::cuda;
using runtime::cuda::test::Hazard;
using runtime::cuda::test::HazardKind;
using runtime::cuda::test::TestDeviceOptions;

/// Emulated devices with a current context on the first one, and objects that are given back
/// at the end.
class CudaProgram {
public:
  explicit CudaProgram(TestDeviceOptions options = {});
  ~CudaProgram();

  /// Fails the test unless the call succeeded.
  void check(Result result);
  void useDevice(int device);
  Stream stream(unsigned flags = kStreamNonBlocking);
  EventHandle event();
  DevicePtr memory(size_t bytes);
  float *pinned(size_t count);
  /// The kernel out[i] = in[i] * factor of the current device.
  Function scaleKernel();
  /// Launches it for `count` elements.
  Result scale(DevicePtr out, DevicePtr in, float factor, int count, Stream stream);
  /// A graph of what `body` submits.
  GraphExec capture(Stream origin, const std::function<void()> &body);

  /// ... which ends here, before the communicators that it knows.
  void giveBackGraphs();

  /// Synchronises all, gives everything back, and returns what was found.
  std::vector<Hazard> finish();
  /// What was found so far.
  std::vector<Hazard> findings() const { return devices->findings(); }
  bool found(HazardKind kind) const { return count(kind) > 0; }
  size_t count(HazardKind kind) const;
  /// All findings, a line each.
  std::string text() const;

private:
  std::unique_ptr<runtime::cuda::test::TestDevices> devices;
  std::shared_ptr<const CudaApi> api;

public:
  const DriverApi &driver;
  const BlasApi &blas;
  const NcclApi &nccl;

private:
  int device = -1;
  std::vector<Context> contexts;
  std::vector<Module> modules;
  std::vector<Function> kernels;
  std::vector<GraphExec> graphs;
  std::vector<std::function<void()>> giveBack;
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_RUNTIME_CUDA_CUDAPROGRAM_H
