#include "runtime/drivers/cuda/CudaContext.h"

namespace minigptc::runtime::cuda {

StatusOr<std::shared_ptr<const CudaContext>> CudaContext::create(std::shared_ptr<const CudaApi> api,
                                                                 int ordinal) {
  std::shared_ptr<CudaContext> context(new CudaContext(std::move(api), ordinal));
  MINIGPTC_RETURN_IF_ERROR(context->open());
  return std::shared_ptr<const CudaContext>(std::move(context));
}

Status CudaContext::open() {
  const DriverApi &cu = driver();
  char name[256] = {};
  int major = 0, minor = 0;
  MINIGPTC_RETURN_IF_ERROR(check(cu.deviceGet(&device_, ordinal_), "cuDeviceGet"));
  MINIGPTC_RETURN_IF_ERROR(
      check(cu.deviceGetName(name, sizeof(name) - 1, device_), "cuDeviceGetName"));
  for (auto [attribute, value] : {std::pair(DeviceAttribute::capabilityMajor, &major),
                                  std::pair(DeviceAttribute::capabilityMinor, &minor)})
    MINIGPTC_RETURN_IF_ERROR(
        check(cu.deviceGetAttribute(value, attribute, device_), "cuDeviceGetAttribute"));
  name_ = name;
  if (api_->emulated && !name_.starts_with("emulated"))
    name_.insert(0, "emulated: ");
  arch_ = 10 * major + minor;
  if (arch_ < 80)
    return Status(StatusCode::failedPrecondition,
                  name_ + " is too old: it is sm_" + std::to_string(arch_) + ", needed is sm_80")
        .withHelp("use a GPU of 2020 (Ampere) or later, or compile for the CPU: --target cpu");
  return check(cu.primaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
}

CudaContext::~CudaContext() {
  if (context_)
    driver().primaryCtxRelease(device_);
}

Status CudaContext::enter() const {
  return check(driver().ctxSetCurrent(context_), "cuCtxSetCurrent");
}

/// What to do after an error, where that is known.
static const char *helpFor(Result result) {
  switch (result) {
  case Result::outOfMemory:
    return "`nvidia-smi` lists who uses the GPU's memory; a smaller batch or context, or a smaller "
           "model, needs less";
  case Result::illegalAddress:
  case Result::illegalInstruction:
  case Result::misalignedAddress:
  case Result::launchFailed:
    return "the GPU has given up what it had; a run goes on from its last checkpoint (--resume). "
           "Running it under compute-sanitizer tells which access is wrong";
  default: return "";
  }
}

Status CudaContext::check(Result result, const char *call) const {
  if (result == Result::success)
    return {};
  StatusCode code =
      result == Result::outOfMemory ? StatusCode::resourceExhausted : StatusCode::internal;
  return Status(code, std::string(call) + " failed: " + describe(driver(), result))
      .withHelp(api_->emulated ? "" : helpFor(result));
}

} // namespace minigptc::runtime::cuda
