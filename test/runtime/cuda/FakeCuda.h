//===- FakeCuda.h - CUDA's functions on the host's memory -------*- C++ -*-===//
//
// Tables of functions for tests of the driver: memory is the host's, streams work at once,
// graphs are lists of functions, a kernel is a callback that a module's text names, products
// are three loops. Every call is noted, every object counted, and any call can be made to
// fail.
//
//   FakeCuda fake;
//   fake.kernels["scale"] = {3, [](std::vector<void *> buffers) { ... }};
//   auto driver = createCudaDriver(fake.api(), "cuda:fake");
//   fake.failing = "cuMemcpyHtoDAsync_v2";
//   CHECK(fake.alive() == "");
//
// One at a time.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_RUNTIME_CUDA_FAKECUDA_H
#define MINIGPTC_TEST_RUNTIME_CUDA_FAKECUDA_H

#include "runtime/drivers/cuda/Api.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace minigptc::runtime::test {

/// A kernel's parameters are pointers: a callback gets these.
struct FakeKernel {
  size_t parameters;
  std::function<void(std::vector<void *>)> run;
};

struct FakeLaunch {
  std::string kernel;
  unsigned grid, groups, block, shared;
  cuda::Stream stream;
};

struct FakeCuda {
  FakeCuda();
  ~FakeCuda();
  FakeCuda(const FakeCuda &) = delete;
  FakeCuda &operator=(const FakeCuda &) = delete;
  std::shared_ptr<const cuda::CudaApi> api() const { return table; }
  /// What was created and not destroyed: "2 cuMemAlloc_v2, 1 cuStreamCreate".
  std::string alive() const;
  /// How often a function was called.
  int calls(const std::string &symbol) const;

  std::shared_ptr<cuda::CudaApi> table;
  int gpus = 2, arch = 90;
  size_t memory = size_t(1) << 30; ///< of a GPU
  std::map<std::string, FakeKernel> kernels;
  std::string failing;  ///< this function fails: outOfMemory of allocations, else launchFailed
  std::string throwing; ///< this function finds no memory of the host
  bool heuristicFinds = true;
  cuda::Result cubins = cuda::Result::success; ///< of loading "machine code …"
  std::string log; ///< what the driver says about code that it does not load

  uint64_t uploaded = 0, downloaded = 0, copied = 0; ///< bytes of copies done
  std::vector<std::string> called;
  std::vector<FakeLaunch> launches;
  std::map<std::string, std::set<void *>> objects; ///< by the function that made them
  size_t allocated = 0;
  /// Work of a stream that is being captured.
  std::map<cuda::Stream, std::vector<std::function<void()>>> captured;
};

} // namespace minigptc::runtime::test

#endif // MINIGPTC_TEST_RUNTIME_CUDA_FAKECUDA_H
