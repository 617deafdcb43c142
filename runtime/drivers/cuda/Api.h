//===- Api.h - the functions of NVIDIA's libraries that we use --*- C++ -*-===//
//
// Our own declarations of a few functions of libcuda, cuBLASLt and NCCL, as tables of
// pointers: nothing of NVIDIA's is needed to build, and a test may put its own functions
// in. What they mean stands in NVIDIA's manuals; a test compares types and values with the
// toolkit's headers where there is one.
//
//   StatusOr<std::shared_ptr<const CudaApi>> api = CudaApi::load();   // the machine's own
//   int count = 0;
//   (*api)->driver.deviceGetCount(&count);
//
//   auto fake = std::make_shared<CudaApi>();                          // a test's
//   fake->driver.deviceGetCount = [](int *count) { *count = 2; return Result::success; };
//
// The CPU machine must use the common 64-bit ABI of Linux: enumerations are 32 bits.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_API_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_API_H

#include "minigptc/runtime/Status.h"
#include "runtime/drivers/cuda/ApiTypes.h"

#include <functional>
#include <memory>
#include <string>

namespace minigptc::runtime::cuda {

// Each list: X(member, symbol, result, parameters).

#define MINIGPTC_CUDA_DRIVER_FUNCTIONS(X)                                                          \
  X(init, cuInit, Result, (unsigned flags))                                                        \
  X(driverGetVersion, cuDriverGetVersion, Result, (int *version))                                  \
  X(getErrorName, cuGetErrorName, Result, (Result error, const char **text))                       \
  X(getErrorString, cuGetErrorString, Result, (Result error, const char **text))                   \
  X(deviceGetCount, cuDeviceGetCount, Result, (int *count))                                        \
  X(deviceGet, cuDeviceGet, Result, (DeviceId * device, int ordinal))                              \
  X(deviceGetName, cuDeviceGetName, Result, (char *name, int length, DeviceId device))             \
  X(deviceTotalMem, cuDeviceTotalMem_v2, Result, (size_t * bytes, DeviceId device))                \
  X(deviceGetAttribute, cuDeviceGetAttribute, Result,                                              \
    (int *value, DeviceAttribute attribute, DeviceId device))                                      \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain, Result, (Context * context, DeviceId device))      \
  X(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, Result, (DeviceId device))                    \
  X(ctxSetCurrent, cuCtxSetCurrent, Result, (Context context))                                     \
  X(ctxSynchronize, cuCtxSynchronize, Result, ())                                                  \
  X(memGetInfo, cuMemGetInfo_v2, Result, (size_t * free, size_t * total))                          \
  X(memAlloc, cuMemAlloc_v2, Result, (DevicePtr * pointer, size_t bytes))                          \
  X(memFree, cuMemFree_v2, Result, (DevicePtr pointer))                                            \
  X(memHostAlloc, cuMemHostAlloc, Result, (void **pointer, size_t bytes, unsigned flags))          \
  X(memFreeHost, cuMemFreeHost, Result, (void *pointer))                                           \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2, Result,                                                 \
    (DevicePtr target, const void *source, size_t bytes, Stream stream))                           \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2, Result,                                                 \
    (void *target, DevicePtr source, size_t bytes, Stream stream))                                 \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2, Result,                                                 \
    (DevicePtr target, DevicePtr source, size_t bytes, Stream stream))                             \
  X(memcpy2DAsync, cuMemcpy2DAsync_v2, Result, (const Copy2D *copy, Stream stream))                \
  X(memsetD8Async, cuMemsetD8Async, Result,                                                        \
    (DevicePtr target, unsigned char value, size_t count, Stream stream))                          \
  X(streamCreate, cuStreamCreate, Result, (Stream * stream, unsigned flags))                       \
  X(streamDestroy, cuStreamDestroy_v2, Result, (Stream stream))                                    \
  X(streamSynchronize, cuStreamSynchronize, Result, (Stream stream))                               \
  X(streamQuery, cuStreamQuery, Result, (Stream stream))                                           \
  X(streamWaitEvent, cuStreamWaitEvent, Result,                                                    \
    (Stream stream, EventHandle event, unsigned flags))                                            \
  X(streamBeginCapture, cuStreamBeginCapture_v2, Result, (Stream stream, CaptureMode mode))        \
  X(streamEndCapture, cuStreamEndCapture, Result, (Stream stream, Graph * graph))                  \
  X(eventCreate, cuEventCreate, Result, (EventHandle * event, unsigned flags))                     \
  X(eventDestroy, cuEventDestroy_v2, Result, (EventHandle event))                                  \
  X(eventRecord, cuEventRecord, Result, (EventHandle event, Stream stream))                        \
  X(eventQuery, cuEventQuery, Result, (EventHandle event))                                         \
  X(eventSynchronize, cuEventSynchronize, Result, (EventHandle event))                             \
  X(eventElapsedTime, cuEventElapsedTime, Result,                                                  \
    (float *milliseconds, EventHandle start, EventHandle end))                                     \
  X(moduleLoadDataEx, cuModuleLoadDataEx, Result,                                                  \
    (Module * module, const void *image, unsigned count, JitOption *options, void **values))       \
  X(moduleUnload, cuModuleUnload, Result, (Module module))                                         \
  X(moduleGetFunction, cuModuleGetFunction, Result,                                                \
    (Function * function, Module module, const char *name))                                        \
  X(funcGetAttribute, cuFuncGetAttribute, Result,                                                  \
    (int *value, FunctionAttribute attribute, Function function))                                  \
  X(funcSetAttribute, cuFuncSetAttribute, Result,                                                  \
    (Function function, FunctionAttribute attribute, int value))                                   \
  X(launchKernel, cuLaunchKernel, Result,                                                          \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,           \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream, void **parameters,     \
     void **extra))                                                                                \
  X(graphInstantiate, cuGraphInstantiateWithFlags, Result,                                         \
    (GraphExec * executable, Graph graph, unsigned long long flags))                               \
  X(graphLaunch, cuGraphLaunch, Result, (GraphExec executable, Stream stream))                     \
  X(graphExecDestroy, cuGraphExecDestroy, Result, (GraphExec executable))                          \
  X(graphDestroy, cuGraphDestroy, Result, (Graph graph))

#define MINIGPTC_CUDA_BLAS_FUNCTIONS(X)                                                            \
  X(getVersion, cublasLtGetVersion, size_t, ())                                                    \
  X(getStatusString, cublasLtGetStatusString, const char *, (BlasStatus status))                   \
  X(create, cublasLtCreate, BlasStatus, (BlasHandle * handle))                                     \
  X(destroy, cublasLtDestroy, BlasStatus, (BlasHandle handle))                                     \
  X(matmulDescCreate, cublasLtMatmulDescCreate, BlasStatus,                                        \
    (MatmulDesc * desc, ComputeType compute, DataType scale))                                      \
  X(matmulDescDestroy, cublasLtMatmulDescDestroy, BlasStatus, (MatmulDesc desc))                   \
  X(matmulDescSetAttribute, cublasLtMatmulDescSetAttribute, BlasStatus,                            \
    (MatmulDesc desc, MatmulDescAttribute attribute, const void *value, size_t bytes))             \
  X(matrixLayoutCreate, cublasLtMatrixLayoutCreate, BlasStatus,                                    \
    (MatrixLayoutDesc * layout, DataType type, uint64_t rows, uint64_t columns,                    \
     int64_t leadingDimension))                                                                    \
  X(matrixLayoutDestroy, cublasLtMatrixLayoutDestroy, BlasStatus, (MatrixLayoutDesc layout))       \
  X(matrixLayoutSetAttribute, cublasLtMatrixLayoutSetAttribute, BlasStatus,                        \
    (MatrixLayoutDesc layout, MatrixLayoutAttribute attribute, const void *value, size_t bytes))   \
  X(preferenceCreate, cublasLtMatmulPreferenceCreate, BlasStatus, (Preference * preference))       \
  X(preferenceDestroy, cublasLtMatmulPreferenceDestroy, BlasStatus, (Preference preference))       \
  X(preferenceSetAttribute, cublasLtMatmulPreferenceSetAttribute, BlasStatus,                      \
    (Preference preference, PreferenceAttribute attribute, const void *value, size_t bytes))       \
  X(algoGetHeuristic, cublasLtMatmulAlgoGetHeuristic, BlasStatus,                                  \
    (BlasHandle handle, MatmulDesc desc, MatrixLayoutDesc a, MatrixLayoutDesc b,                   \
     MatrixLayoutDesc c, MatrixLayoutDesc d, Preference preference, int wanted,                    \
     HeuristicResult *results, int *count))                                                        \
  X(algoConfigGetAttribute, cublasLtMatmulAlgoConfigGetAttribute, BlasStatus,                      \
    (const MatmulAlgo *algo, AlgoConfigAttribute attribute, void *value, size_t bytes,             \
     size_t *written))                                                                             \
  X(algoInit, cublasLtMatmulAlgoInit, BlasStatus,                                                  \
    (BlasHandle handle, ComputeType compute, DataType scale, DataType a, DataType b, DataType c,   \
     DataType d, int id, MatmulAlgo *algo))                                                        \
  X(algoConfigSetAttribute, cublasLtMatmulAlgoConfigSetAttribute, BlasStatus,                      \
    (MatmulAlgo * algo, AlgoConfigAttribute attribute, const void *value, size_t bytes))           \
  X(algoCheck, cublasLtMatmulAlgoCheck, BlasStatus,                                                \
    (BlasHandle handle, MatmulDesc desc, MatrixLayoutDesc a, MatrixLayoutDesc b,                   \
     MatrixLayoutDesc c, MatrixLayoutDesc d, const MatmulAlgo *algo, HeuristicResult *result))     \
  X(matmul, cublasLtMatmul, BlasStatus,                                                            \
    (BlasHandle handle, MatmulDesc desc, const void *alpha, const void *aData, MatrixLayoutDesc a, \
     const void *bData, MatrixLayoutDesc b, const void *beta, const void *cData,                   \
     MatrixLayoutDesc c, void *dData, MatrixLayoutDesc d, const MatmulAlgo *algo, void *workspace, \
     size_t workspaceBytes, Stream stream))

#define MINIGPTC_CUDA_NCCL_FUNCTIONS(X)                                                            \
  X(getVersion, ncclGetVersion, NcclResult, (int *version))                                        \
  X(getErrorString, ncclGetErrorString, const char *, (NcclResult result))                         \
  X(getLastError, ncclGetLastError, const char *, (NcclComm comm))                                 \
  X(getUniqueId, ncclGetUniqueId, NcclResult, (NcclUniqueId * id))                                 \
  X(commInitRank, ncclCommInitRank, NcclResult,                                                    \
    (NcclComm * comm, int ranks, NcclUniqueId id, int rank))                                       \
  X(commInitRankConfig, ncclCommInitRankConfig, NcclResult,                                        \
    (NcclComm * comm, int ranks, NcclUniqueId id, int rank, NcclConfig *config))                   \
  X(commDestroy, ncclCommDestroy, NcclResult, (NcclComm comm))                                     \
  X(commAbort, ncclCommAbort, NcclResult, (NcclComm comm))                                         \
  X(commGetAsyncError, ncclCommGetAsyncError, NcclResult, (NcclComm comm, NcclResult * error))     \
  X(groupStart, ncclGroupStart, NcclResult, ())                                                    \
  X(groupEnd, ncclGroupEnd, NcclResult, ())                                                        \
  X(allReduce, ncclAllReduce, NcclResult,                                                          \
    (const void *input, void *output, size_t count, NcclType type, NcclReduce combine,             \
     NcclComm comm, Stream stream))                                                                \
  X(allGather, ncclAllGather, NcclResult,                                                          \
    (const void *input, void *output, size_t partCount, NcclType type, NcclComm comm,              \
     Stream stream))                                                                               \
  X(reduceScatter, ncclReduceScatter, NcclResult,                                                  \
    (const void *input, void *output, size_t partCount, NcclType type, NcclReduce combine,         \
     NcclComm comm, Stream stream))                                                                \
  X(send, ncclSend, NcclResult,                                                                    \
    (const void *input, size_t count, NcclType type, int peer, NcclComm comm, Stream stream))      \
  X(recv, ncclRecv, NcclResult,                                                                    \
    (void *output, size_t count, NcclType type, int peer, NcclComm comm, Stream stream))

#define MINIGPTC_CUDA_MEMBER(member, symbol, result, parameters)                                   \
  result(*member) parameters = nullptr;

/// libcuda, the driver.
struct DriverApi {
  MINIGPTC_CUDA_DRIVER_FUNCTIONS(MINIGPTC_CUDA_MEMBER)
};
/// libcublasLt.
struct BlasApi {
  MINIGPTC_CUDA_BLAS_FUNCTIONS(MINIGPTC_CUDA_MEMBER)
};
/// libnccl.
struct NcclApi {
  MINIGPTC_CUDA_NCCL_FUNCTIONS(MINIGPTC_CUDA_MEMBER)
};

#undef MINIGPTC_CUDA_MEMBER

/// The oldest versions that do: CUDA 12.0 reads the PTX that the compiler writes.
inline constexpr int kOldestDriver = 12000;   ///< as cuDriverGetVersion says it
inline constexpr size_t kOldestBlas = 120000; ///< as cublasLtGetVersion
inline constexpr int kOldestNccl = 21800;     ///< as ncclGetVersion

/// How libraries are found: by dlopen, or by a test's own means.
class LibrarySource {
public:
  virtual ~LibrarySource() = default;
  /// A handle of the library with that soname, or null and the reason.
  virtual void *open(const std::string &soname, std::string &reason) const = 0;
  virtual void *find(void *library, const char *symbol) const = 0;
};
/// The loader's usual places, then $CUDA_HOME/lib64 and /usr/local/cuda/lib64. What is
/// opened stays open: CUDA's libraries do not like to be unloaded.
const LibrarySource &systemLibraries();

/// The tables, filled, and immutable once a driver has them. cuBLASLt is needed for matrix
/// products only and NCCL for several devices only: each may be absent, with the reason.
struct CudaApi {
  DriverApi driver;
  BlasApi blas;
  Status blasStatus; ///< ok: `blas` is there
  NcclApi nccl;
  Status ncclStatus;
  /// No GPU stands behind these tables: names and figures must say so.
  bool emulated = false;
  /// Emulated devices come into being as they are wanted: there are so many from now on.
  std::function<Status(int devices)> provide = {};
  /// Whatever must live as long as the functions.
  std::shared_ptr<void> owner;

  /// Opens the machine's libraries. failedPrecondition, one line and a help, if there is no
  /// driver, if it is too old, or if it finds no GPU.
  static StatusOr<std::shared_ptr<const CudaApi>>
  load(const LibrarySource &libraries = systemLibraries());
};

/// What an emulated device loads modules from: this, then the bytes of a shared object.
struct EmulatedImage {
  static constexpr char kMagic[8] = {'M', 'G', 'P', 'T', 'E', 'M', 'U', '1'};
  char magic[8];
  uint64_t bytes;
};

/// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
std::string describe(const DriverApi &driver, Result error);

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_API_H
