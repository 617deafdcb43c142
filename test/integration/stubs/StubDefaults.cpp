// The functions of which a stub is asked nothing but their result; others override them.
#include "runtime/drivers/cuda/Api.h"
#include "test/integration/stubs/StubSettings.h"

using namespace minigptc::runtime::cuda;

#define STUB(member, symbol, result, parameters)                                                   \
  extern "C" __attribute__((weak, visibility("default"))) result symbol parameters {               \
    return (result)(long)(minigptc::stubs::answer(#symbol));                                       \
  }

#if defined(MINIGPTC_STUB_DRIVER)
MINIGPTC_CUDA_DRIVER_FUNCTIONS(STUB)
#elif defined(MINIGPTC_STUB_BLAS)
MINIGPTC_CUDA_BLAS_FUNCTIONS(STUB)
#elif defined(MINIGPTC_STUB_NCCL)
MINIGPTC_CUDA_NCCL_FUNCTIONS(STUB)
#endif
