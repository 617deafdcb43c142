//===- TestDevice.h - CUDA's libraries, emulated on the CPU -----*- C++ -*-===//
//
// Function tables (Api.h) behind which stands no GPU: memory, streams, events, graphs,
// kernels in the emulator, matrix products by the host's GEMM, collectives between devices
// of this process. Work is deferred to the points where the program synchronises, in an order
// drawn from a seed, and everything that a real driver leaves undefined is a finding.
//
//   StatusOr<std::unique_ptr<TestDevices>> gpus = TestDevices::create({.devices = 2, .seed = 7});
//   std::shared_ptr<const CudaApi> api = (*gpus)->api();
//   … // a CUDA program, by these tables
//   for (const Hazard &hazard : (*gpus)->finish())   // leaks, too
//     std::cerr << hazard.toString() << "\n";
//
// After a finding about what has run, every synchronisation fails with launchFailed, and
// getErrorString says what was found. All names and messages say "emulated".
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_TESTDEVICE_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_TESTDEVICE_H

#include "runtime/drivers/cuda/Api.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace minigptc::runtime::cuda::test {

/// The most devices that can be emulated.
inline constexpr int kMaxTestDevices = 64;

struct TestDeviceOptions {
  int devices = 1;
  /// Of one device; 0: 4 GiB, or less where the host's memory, of which an emulated byte and what
  /// is known of it take about eight, would not do for all devices.
  uint64_t memoryBytes = 0;
  /// 0: work runs in the order of its submission. Else an order drawn from the seed, in which
  /// streams run far ahead of each other.
  uint64_t seed = 0;
  /// How long a rank waits for the others to enter a collective, when nothing else can run.
  int patienceMilliseconds = 60000;
  int threads = 0; ///< of matrix products; 0: all cores
  /// What the library prefers: 0, to compute products as the host does; else to split their
  /// sums, one way or another, which changes the last bits, as another version of it may.
  uint64_t taste = 0;
  /// Whether the library has no algorithm for products with an epilogue.
  bool plainProducts = false;
};

enum class HazardKind {
  race,             ///< accesses that no stream order, event or synchronisation orders
  uninitialised,    ///< read of memory that nobody has written
  useAfterFree,     ///< also of handles
  freeWhilePending, ///< memory or code given back before the host knows its work done
  outOfBounds,      ///< beyond an allocation, or no memory of the device
  misaligned,
  pageableHost,       ///< an asynchronous copy with memory that is not from memHostAlloc
  hostAccess,         ///< the host reads a copy's target or writes its source before it is done
  kernel,             ///< found in a kernel by the emulator
  captureRule,        ///< a call that a stream capture does not allow
  refusedCall,        ///< other calls that the library refuses: limits, wrong arguments
  collectiveMismatch, ///< ranks call different collectives
  missingRank,        ///< some rank never enters
  guardOverwritten,   ///< memory beside an allocation was written
  leak,               ///< an object that was not given back
};

/// "race", "free while work is pending", …
const char *describe(HazardKind kind);

struct Hazard {
  HazardKind kind;
  std::string text;
  uint64_t count = 1;
  /// "emulated CUDA: race: …".
  std::string toString() const;
};

/// The devices. The tables are functions without a state of their own, so that a process has
/// one such object at a time; any thread may call them.
class TestDevices {
public:
  /// failedPrecondition where there are devices already, or no emulator for this processor.
  static StatusOr<std::unique_ptr<TestDevices>> create(const TestDeviceOptions &options = {});
  /// Finishes; findings that nobody has seen are warnings in the log.
  ~TestDevices();

  /// Must not be called through after this object has gone.
  std::shared_ptr<const CudaApi> api() const;
  /// So far, in the order of their discovery.
  std::vector<Hazard> findings() const;
  /// Runs what is pending, looks for leaks, and returns all findings.
  std::vector<Hazard> finish();

  /// Tables that own their devices, and provide as many as are wanted: for those who need no
  /// findings beyond errors and the log.
  static StatusOr<std::shared_ptr<const CudaApi>> load(const TestDeviceOptions &options = {});

private:
  struct State;
  explicit TestDevices(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_TESTDEVICE_H
