// libcublasLt.so.12 and .13: takes any product and computes none.
#include "runtime/drivers/cuda/Api.h"
#include "test/integration/stubs/StubSettings.h"

#include <cstring>

using namespace minigptc::runtime::cuda;
using minigptc::stubs::answer;
using minigptc::stubs::number;

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED size_t cublasLtGetVersion() { return size_t(number("blas", 120300)); }
EXPORTED const char *cublasLtGetStatusString(BlasStatus) { return "said by a stub"; }
EXPORTED BlasStatus cublasLtMatmulAlgoGetHeuristic(BlasHandle, MatmulDesc, MatrixLayoutDesc,
                                                   MatrixLayoutDesc, MatrixLayoutDesc,
                                                   MatrixLayoutDesc, Preference, int,
                                                   HeuristicResult *results, int *count) {
  *count = 1;
  std::memset(results, 0, sizeof(*results));
  return BlasStatus(answer("cublasLtMatmulAlgoGetHeuristic"));
}
EXPORTED BlasStatus cublasLtMatmulAlgoConfigGetAttribute(const MatmulAlgo *, AlgoConfigAttribute,
                                                         void *value, size_t bytes,
                                                         size_t *written) {
  std::memset(value, 0, bytes);
  *written = bytes;
  return BlasStatus(answer("cublasLtMatmulAlgoConfigGetAttribute"));
}
