//===- Machine.h - the state behind the emulated tables ---------*- C++ -*-===//
//
// All devices of the process, their pending work, and what was found. Functions of the tables
// reach it through `enter`, which holds its mutex for the length of the call; while a call
// waits for other threads (a rank that has yet to enter a collective) it lets go.
//
//   Result streamSynchronize(Stream stream) {
//     return enter([&](Machine &machine, Lock &lock) { … });
//   }
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_MACHINE_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_MACHINE_H

#include "runtime/drivers/cuda/test/Capture.h"
#include "runtime/drivers/cuda/test/DeviceHeap.h"
#include "runtime/drivers/cuda/test/Handles.h"
#include "runtime/drivers/cuda/test/Pinned.h"
#include "runtime/drivers/cuda/test/TestDevice.h"

#include <condition_variable>
#include <mutex>

namespace minigptc::runtime::cuda::test {

using Lock = std::unique_lock<std::mutex>;

struct EmulatedDevice {
  EmulatedDevice(int number, uint64_t bytes) : number(number), heap(number, bytes) {}
  int number;
  int retained = 0; ///< of the primary context
  int streamsMade = 0;
  DeviceHeap heap;
  StreamState defaultStream;
};

inline constexpr int kMaxSharedBytes = 163 * 1024; ///< of a block, as on an A100

struct LoadedModule {
  explicit LoadedModule(emulator::EmulatedModule code, int device)
      : code(std::move(code)), device(device) {}
  emulator::EmulatedModule code;
  int device;
  bool unloaded = false;
  std::vector<std::shared_ptr<Operation>> uses; ///< some of which the host knows done
};

struct KernelFunction {
  std::shared_ptr<LoadedModule> module;
  const emulator::KernelRecord *record = nullptr;
  int maxDynamicShared = 48 * 1024;
};

struct BlasState;
struct ProductDesc;
struct ProductLayout;
struct ProductPreference;
struct ProductEngine;
struct CommState;
struct Clique;
class Neighbours;

class Machine {
public:
  explicit Machine(const TestDeviceOptions &options);
  ~Machine();

  /// The one of this process, or null.
  static Machine *current();
  /// There are at least so many devices from now on.
  void provide(int count);

  // Findings. -----------------------------------------------------------------
  /// About what has run: synchronisations fail from now on.
  void report(HazardKind kind, const std::string &text);
  /// About a call, which fails with that code.
  Result refuse(Result code, const std::string &text, HazardKind kind = HazardKind::refusedCall);
  void note(HazardKind kind, const std::string &text); ///< only keeps it

  // Submitting and running. ---------------------------------------------------
  std::shared_ptr<Lane> makeLane(int device, const std::string &name);
  /// Into the stream's lane, or its capture.
  Result enqueue(StreamState &stream, Work work,
                 std::vector<std::shared_ptr<Operation>> after = {});
  std::shared_ptr<Operation> submit(Lane &lane, std::shared_ptr<const Work> work,
                                    const std::vector<std::shared_ptr<Operation>> &after);
  /// What the legacy default stream orders before the stream's next operation.
  std::vector<std::shared_ptr<Operation>> implicitOrder(const StreamState &stream);
  /// Runs work until the operation is done (null: it is), and the host knows.
  Result synchronise(Lock &lock, const std::shared_ptr<Operation> &operation);
  /// Runs work until these devices have none.
  void awaitDevices(Lock &lock, const std::vector<int> &numbers);
  /// All that can run without another thread's help.
  void drain();
  /// The next operation, if any can run.
  bool step();
  void hostKnows(const VectorClock &clock);
  void reportHostAccess(const Operation &operation, bool write);
  /// Lets other threads call until `reached`, or the patience is at its end.
  bool waitFor(Lock &lock, const std::function<bool()> &reached);
  bool waitFor(Lock &lock, const std::function<bool()> &reached, std::chrono::milliseconds time);
  /// Something that other threads may wait for has changed.
  void wake() { changed.notify_all(); }
  /// Another process has done something.
  void heard() { ++messages, wake(); }
  /// What this process has done so far.
  uint64_t work() const { return submissions + executions; }

  // Memory. -------------------------------------------------------------------
  DeviceAllocation *findMemory(DevicePtr pointer, uint64_t bytes, int *device = nullptr);
  /// Empty, or why these bytes are not to be used: "8 bytes after the end of …".
  std::string whyNoMemory(DevicePtr pointer, uint64_t bytes, int device, HazardKind &kind);
  /// The operation accesses memory: reports what is wrong with it; false if it must not.
  bool touch(const Operation &operation, DevicePtr pointer, uint64_t bytes, bool write,
             bool mayBeUnwritten = false);
  void touchPinned(const Operation &operation, const PinnedUse &use);
  void logAccess(AccessLog &log, const std::string &name, const Operation &operation,
                 uintptr_t begin, uintptr_t end, bool write);
  void checkGuards();

  // Threads' contexts. --------------------------------------------------------
  EmulatedDevice *currentDevice();
  void setCurrentDevice(int device);
  /// Null and a finding if there is no such stream; a null handle is the default stream.
  StreamState *findStream(Stream handle, const char *call, std::shared_ptr<StreamState> &owner);
  /// Whether a capture forbids this thread calls that may synchronise.
  bool captureForbids(const char *call, Result &code);

  /// Leaks, guard zones and whatever is pending.
  void finish(Lock &lock);

  std::mutex mutex;
  const TestDeviceOptions options;
  std::vector<std::unique_ptr<EmulatedDevice>> devices;
  std::vector<Hazard> hazards;
  size_t hazardsSeen = 0;
  bool failed = false;
  std::string failure; ///< the first one, for getErrorString
  std::string lastRefusal;
  VectorClock host;
  PinnedMemory pinned;
  HandleTable<Stream, StreamState> streams;
  HandleTable<EventHandle, EventState> events;
  HandleTable<Module, LoadedModule> modules;
  HandleTable<Function, KernelFunction> functions;
  HandleTable<Graph, GraphState> graphs;
  HandleTable<GraphExec, GraphExecState> executables;
  std::vector<std::weak_ptr<CaptureState>> captures;
  HandleTable<BlasHandle, BlasState> blasHandles;
  HandleTable<MatmulDesc, ProductDesc> productDescs;
  HandleTable<MatrixLayoutDesc, ProductLayout> productLayouts;
  HandleTable<Preference, ProductPreference> productPreferences;
  std::shared_ptr<ProductEngine> engine; ///< once there is a product
  HandleTable<NcclComm, CommState> comms;
  std::map<std::string, std::shared_ptr<Clique>> cliques; ///< by unique id
  int cliquesMade = 0;
  std::unique_ptr<Neighbours> neighbours; ///< null: no communicator is of several processes

private:
  /// One operation, here or in another thread's call; after a time of neither, a finding.
  void progress(Lock &lock);
  bool isAtHead(const Operation &operation) const;
  bool canRun(Operation &operation, std::vector<Operation *> &together);
  void run(const std::vector<Operation *> &together);
  uint64_t priority(const Lane &lane, const Operation &operation) const;
  void reportStuck();
  void reportLeaks();

  std::vector<std::shared_ptr<Lane>> lanes;
  uint32_t lanesMade = 0;
  uint64_t submissions = 0, executions = 0, messages = 0;
  std::condition_variable changed;
};

/// Runs the body with the machine locked; `gone` if there is no machine.
template <typename Value, typename Body> Value enterOr(Value gone, Body body) {
  Machine *machine = Machine::current();
  if (!machine)
    return gone;
  Lock lock(machine->mutex);
  machine->pinned.collectFaults([&](const Operation &operation, bool write) {
    machine->reportHostAccess(operation, write);
  });
  return body(*machine, lock);
}
template <typename Body> Result enter(Body body) {
  return enterOr(Result::deinitialized,
                 [&](Machine &machine, Lock &lock) -> Result { return body(machine, lock); });
}
/// The same, with the thread's current device.
template <typename Body> Result enterDevice(const char *call, Body body) {
  return enter([&](Machine &machine, Lock &lock) -> Result {
    EmulatedDevice *device = machine.currentDevice();
    if (!device)
      return machine.refuse(Result::invalidContext,
                            std::string(call) + ": the thread has no current context");
    return body(machine, lock, *device);
  });
}

uint64_t mixBits(uint64_t value); ///< to draw from seeds

// What fills the tables.
void fillDeviceCalls(DriverApi &api);
void fillMemoryCalls(DriverApi &api);
void fillStreamCalls(DriverApi &api);
void fillGraphCalls(DriverApi &api);
void fillModuleCalls(DriverApi &api);
void fillBlasCalls(BlasApi &api);
void fillNcclCalls(NcclApi &api);

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_MACHINE_H
