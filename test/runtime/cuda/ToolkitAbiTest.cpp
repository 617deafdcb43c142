// Our declarations against the toolkit's headers: signatures and values, at compile time.
#include "runtime/drivers/cuda/Api.h"

#include <cublasLt.h>
#include <cuda.h>
#ifdef MINIGPTC_HAVE_NCCL_HEADER
#include <nccl.h>
#endif

#include <catch2/catch.hpp>
#include <type_traits>

using namespace minigptc::runtime::cuda;

namespace {

/// Both are passed alike: pointers, numbers of one size, or structures of one size.
template <typename Ours, typename Theirs> constexpr bool alike() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>)
    return std::is_void_v<Ours> == std::is_void_v<Theirs>;
  else
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
           std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
           std::is_class_v<Ours> == std::is_class_v<Theirs> &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
}

template <typename Ours, typename Theirs> struct SameAbi : std::false_type {};
template <typename R, typename... P, typename S, typename... Q>
requires(sizeof...(P) == sizeof...(Q)) struct SameAbi<R (*)(P...), S (*)(Q...)>
    : std::bool_constant<alike<R, S>() && (alike<P, Q>() && ...)> {
};

// What points to a number or a structure must point to one of its size.
static_assert(sizeof(DevicePtr) == sizeof(CUdeviceptr));
static_assert(sizeof(DeviceId) == sizeof(CUdevice));
static_assert(sizeof(HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(HeuristicResult, workspaceBytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(HeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(HeuristicResult, waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

#define CHECK_DRIVER(member, symbol, result, parameters)                                           \
  static_assert(SameAbi<decltype(DriverApi::member), decltype(&symbol)>::value, #symbol);
MINIGPTC_CUDA_DRIVER_FUNCTIONS(CHECK_DRIVER)

#define CHECK_BLAS(member, symbol, result, parameters)                                             \
  static_assert(SameAbi<decltype(BlasApi::member), decltype(&symbol)>::value, #symbol);
MINIGPTC_CUDA_BLAS_FUNCTIONS(CHECK_BLAS)

#define SAME(ours, theirs) static_assert(int(ours) == int(theirs), #theirs)

SAME(Result::success, CUDA_SUCCESS);
SAME(Result::invalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(Result::outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(Result::notInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(Result::deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(Result::stubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(Result::noDevice, CUDA_ERROR_NO_DEVICE);
SAME(Result::invalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(Result::invalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(Result::invalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(Result::noBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(Result::invalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(Result::jitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(Result::unsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(Result::invalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(Result::notFound, CUDA_ERROR_NOT_FOUND);
SAME(Result::notReady, CUDA_ERROR_NOT_READY);
SAME(Result::illegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(Result::launchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(Result::illegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(Result::misalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(Result::launchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(Result::notPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(Result::notSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(Result::systemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(Result::systemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(Result::captureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(Result::captureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(Result::captureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SAME(Result::captureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(Result::captureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(Result::captureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(Result::captureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(Result::capturedEvent, CUDA_ERROR_CAPTURED_EVENT);
SAME(Result::captureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(Result::unknown, CUDA_ERROR_UNKNOWN);

SAME(DeviceAttribute::maxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(DeviceAttribute::maxGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(DeviceAttribute::maxGridY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
SAME(DeviceAttribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(DeviceAttribute::capabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(DeviceAttribute::capabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(DeviceAttribute::maxSharedPerBlockOptin,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(FunctionAttribute::maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(FunctionAttribute::sharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(FunctionAttribute::localBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(FunctionAttribute::maxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(CaptureMode::threadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(JitOption::errorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(JitOption::errorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(MemoryType::host, CU_MEMORYTYPE_HOST);
SAME(MemoryType::device, CU_MEMORYTYPE_DEVICE);
static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D));
static_assert(offsetof(Copy2D, source.device) == offsetof(CUDA_MEMCPY2D, srcDevice));
static_assert(offsetof(Copy2D, source.pitch) == offsetof(CUDA_MEMCPY2D, srcPitch));
static_assert(offsetof(Copy2D, target.type) == offsetof(CUDA_MEMCPY2D, dstMemoryType));
static_assert(offsetof(Copy2D, target.device) == offsetof(CUDA_MEMCPY2D, dstDevice));
static_assert(offsetof(Copy2D, target.pitch) == offsetof(CUDA_MEMCPY2D, dstPitch));
static_assert(offsetof(Copy2D, widthBytes) == offsetof(CUDA_MEMCPY2D, WidthInBytes));
static_assert(offsetof(Copy2D, height) == offsetof(CUDA_MEMCPY2D, Height));
SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(kEventDefault, CU_EVENT_DEFAULT);
SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);

SAME(BlasStatus::success, CUBLAS_STATUS_SUCCESS);
SAME(BlasStatus::notInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(BlasStatus::allocFailed, CUBLAS_STATUS_ALLOC_FAILED);
SAME(BlasStatus::invalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME(BlasStatus::archMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(BlasStatus::executionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(BlasStatus::internalError, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(BlasStatus::notSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(DataType::f32, CUDA_R_32F);
SAME(DataType::f64, CUDA_R_64F);
SAME(DataType::f16, CUDA_R_16F);
SAME(DataType::bf16, CUDA_R_16BF);
SAME(ComputeType::f32, CUBLAS_COMPUTE_32F);
SAME(ComputeType::f32FastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(ComputeType::f64, CUBLAS_COMPUTE_64F);
SAME(MatmulDescAttribute::computeType, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
SAME(MatmulDescAttribute::scaleType, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
SAME(MatmulDescAttribute::pointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
SAME(MatmulDescAttribute::transA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(MatmulDescAttribute::transB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(MatmulDescAttribute::transC, CUBLASLT_MATMUL_DESC_TRANSC);
SAME(MatmulDescAttribute::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(MatmulDescAttribute::biasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(MatmulDescAttribute::epilogueAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
SAME(MatmulDescAttribute::epilogueAuxLd, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
SAME(Epilogue::none, CUBLASLT_EPILOGUE_DEFAULT);
SAME(Epilogue::bias, CUBLASLT_EPILOGUE_BIAS);
SAME(Epilogue::bgradA, CUBLASLT_EPILOGUE_BGRADA);
SAME(Operation::none, CUBLAS_OP_N);
SAME(Operation::transpose, CUBLAS_OP_T);
SAME(MatrixLayoutAttribute::type, CUBLASLT_MATRIX_LAYOUT_TYPE);
SAME(MatrixLayoutAttribute::order, CUBLASLT_MATRIX_LAYOUT_ORDER);
SAME(MatrixLayoutAttribute::rows, CUBLASLT_MATRIX_LAYOUT_ROWS);
SAME(MatrixLayoutAttribute::columns, CUBLASLT_MATRIX_LAYOUT_COLS);
SAME(MatrixLayoutAttribute::leadingDimension, CUBLASLT_MATRIX_LAYOUT_LD);
SAME(MatrixLayoutAttribute::batchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(MatrixLayoutAttribute::batchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(MatrixOrder::columnMajor, CUBLASLT_ORDER_COL);
SAME(MatrixOrder::rowMajor, CUBLASLT_ORDER_ROW);
SAME(PreferenceAttribute::searchMode, CUBLASLT_MATMUL_PREF_SEARCH_MODE);
SAME(PreferenceAttribute::maxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(PreferenceAttribute::reductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(kReduceInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(PreferenceAttribute::minAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(PreferenceAttribute::minAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(PreferenceAttribute::minAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(PreferenceAttribute::minAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(AlgoConfigAttribute::id, CUBLASLT_ALGO_CONFIG_ID);
SAME(AlgoConfigAttribute::tileId, CUBLASLT_ALGO_CONFIG_TILE_ID);
SAME(AlgoConfigAttribute::splitK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
SAME(AlgoConfigAttribute::reductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
SAME(AlgoConfigAttribute::swizzling, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
SAME(AlgoConfigAttribute::customOption, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
SAME(AlgoConfigAttribute::stagesId, CUBLASLT_ALGO_CONFIG_STAGES_ID);
SAME(AlgoConfigAttribute::innerShapeId, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
SAME(AlgoConfigAttribute::clusterShapeId, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);

#ifdef MINIGPTC_HAVE_NCCL_HEADER
#define CHECK_NCCL(member, symbol, result, parameters)                                             \
  static_assert(SameAbi<decltype(NcclApi::member), decltype(&symbol)>::value, #symbol);
MINIGPTC_CUDA_NCCL_FUNCTIONS(CHECK_NCCL)
static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
// Later libraries have more behind what is ours.
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(NcclConfig, maxCtas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(NcclConfig, netName) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(NcclConfig, splitShare) == offsetof(ncclConfig_t, splitShare));
static_assert(NcclConfig::kUndefined == NCCL_CONFIG_UNDEF_INT);
static_assert(NcclConfig().magic == (ncclConfig_t NCCL_CONFIG_INITIALIZER).magic);
SAME(NcclResult::success, ncclSuccess);
SAME(NcclResult::unhandledCudaError, ncclUnhandledCudaError);
SAME(NcclResult::systemError, ncclSystemError);
SAME(NcclResult::internalError, ncclInternalError);
SAME(NcclResult::invalidArgument, ncclInvalidArgument);
SAME(NcclResult::invalidUsage, ncclInvalidUsage);
SAME(NcclResult::remoteError, ncclRemoteError);
SAME(NcclResult::inProgress, ncclInProgress);
SAME(NcclType::i8, ncclInt8);
SAME(NcclType::u8, ncclUint8);
SAME(NcclType::i32, ncclInt32);
SAME(NcclType::u32, ncclUint32);
SAME(NcclType::i64, ncclInt64);
SAME(NcclType::u64, ncclUint64);
SAME(NcclType::f16, ncclFloat16);
SAME(NcclType::f32, ncclFloat32);
SAME(NcclType::f64, ncclFloat64);
SAME(NcclType::bf16, ncclBfloat16);
SAME(NcclReduce::sum, ncclSum);
SAME(NcclReduce::prod, ncclProd);
SAME(NcclReduce::max, ncclMax);
SAME(NcclReduce::min, ncclMin);
#endif

} // namespace

TEST_CASE("declarations agree with the toolkit's headers") {
  // What the compiler has checked above; here, against which toolkit.
  INFO("CUDA " << CUDA_VERSION << ", cuBLAS " << CUBLAS_VERSION);
  CHECK(CUDA_VERSION >= kOldestDriver);
}
