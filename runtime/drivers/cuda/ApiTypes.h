//===- ApiTypes.h - types of NVIDIA's libraries -----------------*- C++ -*-===//
//
// Handles, enumerations and structures as the ABIs of libcuda, cuBLASLt and NCCL have them,
// as far as Api.h uses them. Enumerations list the values that we name; the libraries may
// return others.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_APITYPES_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_APITYPES_H

#include <cstddef>
#include <cstdint>

namespace minigptc::runtime::cuda {

//===--- libcuda ----------------------------------------------------------===//

using DevicePtr = unsigned long long;
using DeviceId = int;
using Context = struct ContextHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Stream = struct StreamHandle *; ///< also cudaStream_t; null: the default stream
using EventHandle = struct EventHandleStruct *;
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;

enum class Result : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  deinitialized = 4,
  stubLibrary = 34,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGpu = 209,
  invalidPtx = 218,
  jitCompilerNotFound = 221,
  unsupportedPtxVersion = 222,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  illegalAddress = 700,
  launchOutOfResources = 701,
  illegalInstruction = 715,
  misalignedAddress = 716,
  launchFailed = 719,
  notPermitted = 800,
  notSupported = 801,
  systemNotReady = 802,
  systemDriverMismatch = 803,
  captureUnsupported = 900,
  captureInvalidated = 901,
  captureMerge = 902,
  captureUnmatched = 903,
  captureUnjoined = 904,
  captureIsolation = 905,
  captureImplicit = 906,
  capturedEvent = 907,
  captureWrongThread = 908,
  unknown = 999,
};

enum class DeviceAttribute : int {
  maxThreadsPerBlock = 1,
  maxGridX = 5,
  maxGridY = 6,
  multiprocessors = 16,
  capabilityMajor = 75,
  capabilityMinor = 76,
  maxSharedPerBlockOptin = 97,
};

enum class FunctionAttribute : int {
  maxThreadsPerBlock = 0,
  sharedBytes = 1, ///< static
  localBytes = 3,
  registers = 4,
  maxDynamicSharedBytes = 8,
};

enum class CaptureMode : int { global = 0, threadLocal = 1, relaxed = 2 };

enum class JitOption : int { errorLogBuffer = 5, errorLogBufferSizeBytes = 6 };

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1; ///< pinned for all contexts

enum class MemoryType : int { host = 1, device = 2 };

/// Rows of bytes in memory: one side of a copy of them. `array` is not used.
struct CopySide {
  size_t x = 0, y = 0;
  MemoryType type = MemoryType::device;
  const void *host = nullptr;
  DevicePtr device = 0;
  void *array = nullptr;
  size_t pitch = 0; ///< bytes from row to row
};
struct Copy2D {
  CopySide source, target;
  size_t widthBytes = 0, height = 0;
};
inline constexpr size_t kMaxPitch = 0x7fffffff;

//===--- cuBLASLt ---------------------------------------------------------===//

using BlasHandle = struct BlasHandleStruct *;
using MatmulDesc = struct MatmulDescStruct *;
using MatrixLayoutDesc = struct MatrixLayoutStruct *;
using Preference = struct PreferenceStruct *;

enum class BlasStatus : int {
  success = 0,
  notInitialized = 1,
  allocFailed = 3,
  invalidValue = 7,
  archMismatch = 8,
  executionFailed = 13,
  internalError = 14,
  notSupported = 15,
};

enum class DataType : int { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 };

enum class ComputeType : int { f32 = 68, f32FastTf32 = 77, f64 = 70 };

enum class MatmulDescAttribute : int {
  computeType = 0,
  scaleType = 1,
  pointerMode = 2,
  transA = 3,
  transB = 4,
  transC = 5,
  epilogue = 7,
  biasPointer = 8,
  epilogueAuxPointer = 11,
  epilogueAuxLd = 12,
};

/// cublasLtEpilogue_t: with a bias for each row of D; with the sum over the depth of each row of A.
enum class Epilogue : uint32_t { none = 1, bias = 4, bgradA = 256 };

enum class Operation : int { none = 0, transpose = 1 }; ///< cublasOperation_t

enum class MatrixLayoutAttribute : int {
  type = 0,
  order = 1,
  rows = 2,
  columns = 3,
  leadingDimension = 4,
  batchCount = 5, ///< int32_t
  batchStride = 6 ///< int64_t, elements
};

enum class MatrixOrder : int { columnMajor = 0, rowMajor = 1 };

enum class PreferenceAttribute : int {
  searchMode = 0,
  maxWorkspaceBytes = 1,   ///< uint64_t
  reductionSchemeMask = 3, ///< uint32_t
  minAlignmentA = 5,       ///< uint32_t bytes; so are the three below
  minAlignmentB = 6,
  minAlignmentC = 7,
  minAlignmentD = 8,
};

enum class AlgoConfigAttribute : int {
  id = 0, ///< int32_t
  tileId = 1,
  splitK = 2,
  reductionScheme = 3,
  swizzling = 4,
  customOption = 5,
  stagesId = 6,
  innerShapeId = 7,  ///< uint16_t
  clusterShapeId = 8 ///< uint16_t
};

/// Split sums are added in the type of the computation, in a fixed order.
inline constexpr uint32_t kReduceInComputeType = 2;

struct MatmulAlgo {
  uint64_t data[8];
};

struct HeuristicResult {
  MatmulAlgo algo;
  size_t workspaceBytes;
  BlasStatus state;
  float waves;
  int reserved[4];
};

//===--- NCCL -------------------------------------------------------------===//

using NcclComm = struct NcclCommStruct *;

struct NcclUniqueId {
  char bytes[128];
};

enum class NcclResult : int {
  success = 0,
  unhandledCudaError = 1,
  systemError = 2,
  internalError = 3,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7,
};

/// ncclConfig_t as NCCL 2.18 has it: later ones see by `size` and `version` what they have to add.
struct NcclConfig {
  static constexpr int kUndefined = -2147483647 - 1;
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21800;
  int blocking = kUndefined;
  int cgaClusterSize = kUndefined, minCtas = kUndefined, maxCtas = kUndefined;
  const char *netName = nullptr;
  int splitShare = kUndefined;
};

enum class NcclType : int {
  i8 = 0,
  u8 = 1,
  i32 = 2,
  u32 = 3,
  i64 = 4,
  u64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  bf16 = 9,
};

enum class NcclReduce : int { sum = 0, prod = 1, max = 2, min = 3 };

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_APITYPES_H
