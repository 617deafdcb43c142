#include "runtime/drivers/Builtin.h"

#include "runtime/drivers/cuda/CudaDriver.h"

#ifdef MINIGPTC_HOST_DRIVER
#include "runtime/drivers/cuda/test/TestDevice.h"
#include "runtime/drivers/host/HostDriver.h"
#endif

namespace minigptc::runtime {

void registerBuiltinDrivers() {
  static const bool once = [] {
#ifdef MINIGPTC_HOST_DRIVER
    registerDriver(createHostDriver());
#endif
    registerDriver(createCudaDriver());
#ifdef MINIGPTC_HOST_DRIVER // Its GEMM makes the test device's products.
    registerDriver(createCudaDriver([] { return cuda::test::TestDevices::load(); }, "cuda:test"));
#endif
    return true;
  }();
  (void)once;
}

} // namespace minigptc::runtime
