//===- CudaDriver.h - devices that CUDA's functions reach -------*- C++ -*-===//
//
//   registerDriver(createCudaDriver());                 // "cuda": the machine's GPUs
//   registerDriver(createCudaDriver(api, "cuda:test")); // whatever is behind these tables
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDADRIVER_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDADRIVER_H

#include "runtime/drivers/cuda/Api.h"
#include "runtime/hal/Driver.h"

namespace minigptc::runtime {

/// The machine's libraries are opened when it is first asked for devices.
std::unique_ptr<const Driver> createCudaDriver();
std::unique_ptr<const Driver> createCudaDriver(std::shared_ptr<const cuda::CudaApi> api,
                                               std::string name);
/// The tables are loaded when the driver is first asked for devices, once.
using LoadCudaApi = StatusOr<std::shared_ptr<const cuda::CudaApi>> (*)();
std::unique_ptr<const Driver> createCudaDriver(LoadCudaApi load, std::string name);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDADRIVER_H
