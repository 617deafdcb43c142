//===- EmulatorAbi.h - between emulated kernels and the emulator -*- C++ -*-===//
//
// What machine code made from a CUDA kernel (`compiler/target/cuda/Emulation.h`) and the
// emulator that runs it know of each other: plain structures and enumerations, no LLVM.
//
// For each kernel the object exports one `KernelRecord` under the name
// `kernelSymbolPrefix + kernel`. Its entry runs one GPU thread: it reads special registers
// from the `ThreadState` and reports every memory access, barrier and warp operation through
// the table of functions there, with the number of the *site* (the instruction) it stands
// for. Nothing else is shared: an object has no state of its own, so that one may serve
// several emulators.
//
//   auto *record = static_cast<const KernelRecord *>(object.find("minigptc_emulated.softmax"));
//   record->entry(thread, parameters);
//
// A change of anything here is a change of `abiVersion`.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_EMULATORABI_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_EMULATORABI_H

#include <cstddef>
#include <cstdint>

namespace minigptc::runtime::emulator {

inline constexpr uint32_t abiVersion = 2;
inline constexpr const char *kernelSymbolPrefix = "minigptc_emulated.";
inline constexpr uint32_t warpSize = 32;

/// What a site is; together they say how its accesses are checked.
enum SiteFlags : uint32_t {
  siteReads = 1,
  siteWrites = 2,
  siteAtomic = 4,    ///< atomic accesses do not race with each other
  siteConstant = 8,  ///< read through the cache of constants: nothing may write there
  siteShared = 16,   ///< an address of shared memory, by its type
  siteGlobal = 32,   ///< an address of device memory, by its type
  siteBarrier = 64,  ///< a barrier of the block
  siteWarp = 128,    ///< an operation of the lanes of a warp
  siteAsync = 256,   ///< an asynchronous copy or a wait for some
};

/// An instruction of a kernel.
struct Site {
  const char *what;   ///< in words: "store of 16 bytes", "shuffle down"
  const char *file;   ///< of the source line; empty if there is none
  uint32_t line;      ///< 0 if there is none
  uint32_t flags;     ///< SiteFlags
  uint32_t alignment; ///< that the instruction needs, in bytes
  int32_t parameter;  ///< the pointer parameter that the address comes from; -1: not known
};

/// Operations in which lanes of a warp meet. Words in and out: see WarpOperations.h.
enum class WarpOp : uint32_t {
  sync, // no words
  shuffleUp, shuffleDown, shuffleXor, shuffleIndex, // value, offset, clamp -> value, valid
  voteAll, voteAny, voteUniform, ballot,            // predicate -> word
  matchAny, matchAll,                               // low, high -> lanes, valid
  reduceAdd, reduceMin, reduceMax, reduceUnsignedMin, reduceUnsignedMax,
  reduceAnd, reduceOr, reduceXor, // word -> word
  mmaM16N8K16Bf16, mmaM16N8K16F16, // 4 of A, 2 of B, 4 of C -> 4 of D (f32)
  mmaM16N8K8Bf16, mmaM16N8K8F16,   // 2 of A, 1 of B, 4 of C -> 4 of D (f32)
  mmaM16N8K4Tf32,                  // 2 of A, 1 of B, 4 of C -> 4 of D
  mmaM16N8K8Tf32,                  // 4 of A, 2 of B, 4 of C -> 4 of D
  loadMatrix1, loadMatrix2, loadMatrix4, // low, high of the address of a row -> 1, 2, 4 words
  loadMatrixTransposed1, loadMatrixTransposed2, loadMatrixTransposed4,
  count
};

/// Scalar functions of f32 that have no counterpart in LLVM's language.
enum class UnaryOp : uint32_t {
  ex2, ex2Ftz, lg2, lg2Ftz, rsqrt, rsqrtFtz, sqrt, sqrtFtz, rcp, rcpFtz, sin, cos, tanh,
  rcpDown, rcpUp, rcpZero, sqrtDown, sqrtUp, sqrtZero,
  saturate, saturateFtz, flush, roundToTf32,
  count
};
enum class BinaryOp : uint32_t {
  min, minFtz, minNan, minFtzNan, max, maxFtz, maxNan, maxFtzNan, // NaN: is passed on
  divide, divideFtz, divideDown, divideUp, divideZero,
  addDown, addUp, addZero, addFtz, multiplyDown, multiplyUp, multiplyZero, multiplyFtz,
  count
};
enum class TernaryOp : uint32_t {
  fma, fmaFtz, fmaSaturate, fmaFtzSaturate, fmaDown, fmaUp, fmaZero,
  count
};

struct ThreadState;

/// What a kernel calls. Functions that find a fault after which the GPU would not go on
/// do not return.
struct Calls {
  /// Before `bytes` at `address` are read or written, as the site's flags say.
  void (*access)(ThreadState *, const void *address, uint64_t bytes, uint32_t site);
  /// The same for an array of the thread's own of `size` bytes at `base`.
  void (*localAccess)(ThreadState *, const void *base, uint64_t size, const void *address,
                      uint64_t bytes, uint32_t site);
  void (*barrier)(ThreadState *, uint32_t site);
  /// `in` and `out`: words of this lane. `mask`: the lanes that take part.
  void (*warp)(ThreadState *, uint32_t op, uint32_t mask, const uint32_t *in, uint32_t *out,
               uint32_t site);
  /// All lanes of the warp, as if none had gone another way: where some have, the operation
  /// that uses the mask finds them missing.
  uint32_t (*activeMask)(ThreadState *);
  /// Copies `sourceBytes` and zeros up to `bytes`, when waited for.
  void (*copyAsync)(ThreadState *, void *target, const void *source, uint32_t bytes,
                    uint32_t sourceBytes, uint32_t site);
  void (*commitCopies)(ThreadState *);
  /// Waits for all but the last `pending` groups; `all`: also for what is not in a group.
  void (*waitForCopies)(ThreadState *, uint32_t pending, uint32_t all, uint32_t site);
  void (*trap)(ThreadState *, uint32_t site);
  /// A loop of a thread that has no turns left.
  void (*endless)(ThreadState *, uint32_t site);
  float (*unary)(uint32_t op, float);
  float (*binary)(uint32_t op, float, float);
  float (*ternary)(uint32_t op, float, float, float);
};

/// A GPU thread, as its code sees it.
struct ThreadState {
  const Calls *calls;
  char *shared; ///< the block's shared memory; variables lie at their offsets
  uint32_t thread[3], block[3], blockSize[3], gridSize[3];
  uint32_t lane, warp;
  uint64_t turnsLeft; ///< of all its loops; its code counts down
};

/// A variable in shared memory.
struct SharedVariable {
  const char *name;
  uint64_t offset; ///< into the block's shared memory as the emulator lays it out, with gaps
  uint64_t bytes;  ///< 0: as many as the launch asks for
};

struct KernelParameter {
  uint32_t bytes;
  uint32_t isPointer;
};

struct KernelRecord {
  uint32_t version; ///< abiVersion
  uint32_t maxThreads; ///< of a block; 0: the kernel does not say
  const char *name;
  /// `parameters`: the address of each parameter's value, as for cuLaunchKernel.
  void (*entry)(ThreadState *, const void *const *parameters);
  uint64_t sharedBytes; ///< of the static variables on a GPU, without gaps
  const Site *sites;
  const SharedVariable *shared;
  const KernelParameter *parameters;
  uint32_t siteCount, sharedCount, parameterCount, reserved;
};

// The compiler writes these structures field by field.
static_assert(sizeof(void *) != 8 || (sizeof(Site) == 32 && sizeof(KernelRecord) == 72 &&
                                      sizeof(ThreadState) == 80 && sizeof(SharedVariable) == 24));

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_EMULATORABI_H
