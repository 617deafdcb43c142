//===- Findings.h - what the emulator has to object -------------*- C++ -*-===//
//
//   Report report = *emulator.launch(*module, launch);
//   for (const Finding &finding : report.findings)
//     std::cerr << finding.toString() << "\n";
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_FINDINGS_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_FINDINGS_H

#include "minigptc/runtime/Status.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace minigptc::runtime::emulator {

/// Those marked with a star end the launch, as they would on a GPU (or leave it undefined).
enum class FindingKind {
  outOfBounds,         ///< * no memory, or not the variable's or parameter's
  useAfterFree,        ///< * memory that was given back
  misaligned,          ///< * an address that the instruction cannot use
  readOnly,            ///< * a write to a parameter that is only read
  uninitialised,       ///< read of memory that nobody has written
  race,                ///< two threads, no barrier between, and one of them writes
  staleConstant,       ///< read through the constant cache of what this launch writes
  pendingCopy,         ///< use of what an asynchronous copy has yet to bring
  divergentBarrier,    ///< * threads of a block wait at different barriers
  exitedBeforeBarrier, ///< * some threads of a block have ended, others wait at a barrier
  divergentWarp,       ///< * lanes meet at different operations or with different masks
  badMask,             ///< * a lane that is not in its own mask, or one in it that has ended
  deadlock,            ///< * nobody can go on
  trap,                ///< * the kernel gave up
  endlessLoop,         ///< * a thread has more turns of loops than a launch allows
  unsupported,         ///< * allowed on a GPU, but the checks do not understand it
};

/// "race", "out of bounds", …
const char *describe(FindingKind kind);

struct Finding {
  FindingKind kind;
  std::string kernel;
  std::string site;   ///< "store of 16 bytes at softmax.cpp:12"
  std::string detail; ///< what is wrong, with the variable or allocation named
  std::array<uint32_t, 3> block = {}, thread = {};
  /// The other thread of a race or a divergence, if `hasOther`.
  bool hasOther = false;
  std::array<uint32_t, 3> otherBlock = {}, otherThread = {};
  std::string otherSite;
  uint64_t address = 0;
  uint64_t count = 1; ///< how often it occurred between these sites

  std::string toString() const;
};

/// Bytes of device memory that a launch has accessed.
struct TouchedRange {
  uintptr_t begin = 0, end = 0;
  bool read = false, written = false;
};

/// What a launch came to.
struct Report {
  std::vector<Finding> findings; ///< the first ones, equal ones counted
  uint64_t total = 0;            ///< all of them
  uint64_t threads = 0;          ///< that ran
  /// By address; granules of 4 bytes where none was accessed in part. Filled if the launch
  /// asks for it.
  std::vector<TouchedRange> touched;
  bool clean() const { return total == 0; }
  /// Success, or the first finding as a failure.
  Status status() const;
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_FINDINGS_H
