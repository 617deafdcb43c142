//===- CudaCode.h - kernels loaded into a GPU -------------------*- C++ -*-===//
//
// Of the forms that a program brings, the best for the GPU at hand: machine code for the
// very architecture, machine code for an earlier one of its ten, else the driver compiles
// each kernel's PTX. Machine code that the driver refuses is as if it were not there.
//
//   StatusOr<std::unique_ptr<CudaCode>> code = CudaCode::load(context, deviceCode);
//   const CudaKernel &kernel = (*code)->kernel(3);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACODE_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACODE_H

#include "runtime/drivers/cuda/CudaMemory.h"

namespace minigptc::runtime::cuda {

struct CudaKernel {
  Function function = nullptr;
  std::string symbol;
  CudaLaunch launch; ///< its `ptx` is not to be read
};

class CudaCode final : public Executable {
public:
  static StatusOr<std::unique_ptr<CudaCode>> load(ContextRef context, const DeviceCode &code);
  ~CudaCode() override;
  size_t kernels() const override { return kernels_.size(); }
  const CudaKernel &kernel(uint32_t number) const { return kernels_[number]; }

private:
  explicit CudaCode(ContextRef context) : context_(std::move(context)) {}
  Status loadAll(const DeviceCode &code);
  /// `image` is of the form that the driver finds out. `outcome` gets what the driver returns.
  StatusOr<Module> loadModule(const void *image, const std::string &what,
                              Result *outcome = nullptr);
  StatusOr<Module> loadWhole(const DeviceCode &code);
  Status addKernel(Module module, const KernelFacts &facts);

  ContextRef context_;
  std::vector<Module> modules_;
  std::vector<CudaKernel> kernels_;
};

/// The cubin for a GPU of this architecture (90: sm_90), or null.
const Cubin *findCubin(std::span<const Cubin> cubins, int arch);

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACODE_H
