#include "runtime/drivers/Builtin.h"

#ifdef MINIGPTC_HOST_DRIVER
#include "runtime/drivers/host/HostDriver.h"
#endif

namespace minigptc::runtime {

void registerBuiltinDrivers() {
  static const bool once = [] {
#ifdef MINIGPTC_HOST_DRIVER
    registerDriver(createHostDriver());
#endif
    return true;
  }();
  (void)once;
}

} // namespace minigptc::runtime
