//===- CudaContext.h - a GPU's primary context ------------------*- C++ -*-===//
//
// Shared by all that a device makes, so that it is released last.
//
//   StatusOr<std::shared_ptr<CudaContext>> context = CudaContext::create(api, 0);
//   MINIGPTC_RETURN_IF_ERROR(context->enter());              // for this thread's calls
//   return context->check(context->driver().memFree(p), "cuMemFree");
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACONTEXT_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACONTEXT_H

#include "runtime/drivers/cuda/Api.h"

#include <memory>
#include <string>

namespace minigptc::runtime::cuda {

class CudaContext {
public:
  static StatusOr<std::shared_ptr<const CudaContext>> create(std::shared_ptr<const CudaApi> api,
                                                             int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const CudaApi &api() const { return *api_; }
  const DriverApi &driver() const { return api_->driver; }
  /// Makes it this thread's current one.
  Status enter() const;
  /// resourceExhausted, or internal: "CALL failed: CUDA_ERROR_… (…)", and what to do about it.
  Status check(Result result, const char *call) const;
  /// "NVIDIA H200"; "emulated …" if no GPU stands behind it.
  const std::string &name() const { return name_; }
  int arch() const { return arch_; } ///< 90: sm_90
  int ordinal() const { return ordinal_; }

private:
  CudaContext(std::shared_ptr<const CudaApi> api, int ordinal)
      : api_(std::move(api)), ordinal_(ordinal) {}
  Status open();

  std::shared_ptr<const CudaApi> api_;
  int ordinal_;
  DeviceId device_ = 0;
  Context context_ = nullptr;
  std::string name_;
  int arch_ = 0;
};

inline DevicePtr devicePtr(const void *pointer) { return reinterpret_cast<DevicePtr>(pointer); }
inline void *hostPtr(DevicePtr pointer) { return reinterpret_cast<void *>(pointer); }

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACONTEXT_H
