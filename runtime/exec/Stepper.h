//===- Stepper.h - runs a program's blocks on a device ----------*- C++ -*-===//
//
//   StatusOr<Stepper> stepper = Stepper::create(program, *device);
//   stepper->run(entry, arguments, {.observer = nullptr, .cancellable = true});
//
// Owns what a step needs besides its arguments: the loaded code, the arena (one frame,
// as large as the largest entry's that has run), space for operand pointers. Nothing is
// allocated while blocks run.
//
// On a device with memory of its own the first run of an entry waits for each instruction,
// so that a failure names it; the second one is recorded if it can be, on all devices, and those
// after it are replays. MINIGPTC_SYNCHRONOUS=1 in the environment makes all runs like the first.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_STEPPER_H
#define MINIGPTC_RUNTIME_EXEC_STEPPER_H

#include "runtime/exec/CollectiveQueue.h"
#include "runtime/exec/DeviceState.h"
#include "runtime/exec/MessageQueue.h"
#include "runtime/exec/Prefetcher.h"
#include "runtime/exec/Program.h"
#include "runtime/exec/UndoLog.h"
#include "runtime/hal/Communicator.h"
#include "runtime/hal/Device.h"

namespace minigptc::runtime {

/// An instruction with the addresses of its operands, inputs then outputs.
struct BoundInstruction {
  const Block &block;
  const Instruction &instruction;
  std::span<void *const> operands;

  std::span<void *const> inputs() const { return operands.first(instruction.numInputs); }
  std::span<void *const> outputs() const { return operands.subspan(instruction.numInputs); }
};

/// Sees every instruction, and calls from `enter` to `leave`, with what is inside in
/// between. A failed status ends the run.
class StepObserver {
public:
  virtual ~StepObserver() = default;
  /// Gets the times of the device's threads; null: they are not wanted.
  virtual ThreadLog *threadLog() { return nullptr; }
  virtual void enter(const Instruction &) {}
  virtual void leave(const Instruction &) {}
  virtual Status before(const BoundInstruction &) { return {}; }
  /// Wants the outputs' values: after `before`, operands are copies in the host's memory.
  virtual bool readsOutputs() const { return false; }
  /// The instruction's work is done.
  virtual Status after(const BoundInstruction &) { return {}; }
};

struct StepOptions {
  StepObserver *observer = nullptr; ///< with one, each instruction is waited for
  bool cancellable = false;         ///< the process-wide request ends the run half-way
  UndoLog *undo = nullptr;          ///< ... while this can take back what was written
  StepVote *vote = nullptr;         ///< ... if all devices of the step agree; with `undo`
  bool repeats = false;             ///< as it is bound, the entry has run before on all devices
  /// Done while the device works, where it has memory of its own; throws nothing.
  const std::function<void()> *meanwhile = nullptr;
};

class Stepper {
public:
  /// `program` and `communicator` (null: there are no other devices, nor collectives) outlive
  /// the stepper.
  static StatusOr<Stepper> create(const Program &program, std::shared_ptr<Device> device,
                                  Communicator *communicator);

  /// On a device that shares the host's memory. `arguments` are the entry's inputs, then outputs;
  /// null where they are on other stages.
  /// After `cancelled` the caller undoes what was written, once all devices have ended. Throws
  /// nothing: memory that is short is a failure that names the instruction.
  Status run(const Entry &entry, std::span<void *const> arguments, const StepOptions &options);
  /// On a device with memory of its own, in two parts, each on all of a program's devices:
  /// all that can be short of memory, or be given up, comes before any of them runs.
  Status bind(const Entry &entry, DeviceArguments &arguments);
  /// ... and after it either `run`, or
  void giveUp();
  /// As it is bound, the entry has run before: it can be recorded, if that is so everywhere.
  bool repeats(const Entry &entry);
  /// Sends an input of a run to come; see Prefetcher. Does nothing where memory is shared.
  Status prefetch(const std::shared_ptr<ArrayBuffer> &buffer);
  Status run(const Entry &entry, DeviceArguments &arguments, const StepOptions &options);
  /// The next run of each entry is like the first one. To be called of all devices where one
  /// has failed, so that all go on alike.
  void forgetRuns();

  /// Of product `number` of the program; see Queue.
  std::string algorithmOf(size_t number) const;
  Status useAlgorithm(size_t number, const std::string &algorithm);

private:
  Stepper(const Program &program, std::shared_ptr<Device> device, Communicator *communicator)
      : program_(&program), device_(std::move(device)), communicator_(communicator) {}
  void findMessages(int64_t device);
  template <typename Body> Status guarded(Body body);
  Status synchronize();

  Status runEntry(const Entry &entry, std::span<void *const> arguments, const StepOptions &options);
  Status runOnDevice(const Entry &entry, DeviceArguments &arguments, const StepOptions &options);
  /// Submits all work of an entry whose arguments are bound.
  Status submit(const Entry &entry, EntryMemory &memory, const DeviceArguments &arguments,
                const StepOptions &options);
  Status replay(const Entry &entry, const EntryMemory &memory, const DeviceArguments &arguments);
  bool isRecordable(const Entry &entry, EntryMemory &memory) const;
  /// Leaves no recording if it fails.
  Status recordEntry(const Entry &entry, EntryMemory &memory);
  Status recordWhole(const Entry &entry, EntryMemory &memory);
  /// Whether it ended well or not.
  void stopRecording();
  Status observe(const BoundInstruction &bound, StepObserver &observer);
  /// The failure of an instruction that has been waited for.
  Status failureOf(Status status) const;
  /// " in launch of 'add' at models/lm.cpp:42": where a run that has thrown was.
  std::string placeOfRun() const;
  Status outOfMemory() const;
  Status provideArena(const Entry &entry);

  /// All that this device does of an entry.
  Status runWhole(const Entry &entry, std::span<void *const> arguments, const StepOptions &options);
  Status runBlock(const Block &block, std::span<void *const> arguments, std::byte *frame,
                  std::span<void *> scratch, const StepOptions &options);
  Status runLoop(const Loop &loop, std::span<void *const> operands, std::byte *frame,
                 std::span<void *> scratch, const StepOptions &options);
  Status runBranch(const BoundInstruction &bound, std::byte *frame, std::span<void *> scratch,
                   const StepOptions &options);
  Status runWhile(const BoundInstruction &bound, std::byte *frame, std::span<void *> scratch,
                  const StepOptions &options);
  /// Runs the blocks that an instruction calls.
  Status runCalls(const BoundInstruction &bound, std::byte *frame, std::span<void *> scratch,
                  const StepOptions &options);
  /// An i1 scalar of the device, once all work before is done. There is none while recording.
  StatusOr<bool> readPredicate(const void *place);
  /// Ends a run that the user interrupts, while it can be taken back.
  Status checkCancellation(const StepOptions &options);
  /// To be called before an instruction writes.
  Status prepareToWrite(const BoundInstruction &bound, const StepOptions &options);
  Status runInstruction(const BoundInstruction &bound);
  Status multiply(const BoundInstruction &bound);
  /// A launch's buffer tables: the inputs and outputs of a group beside each other.
  std::span<void *const> tablesOf(const BoundInstruction &bound, const KernelInfo &kernel);
  void bind(const Block &block, std::span<void *const> arguments, std::byte *frame,
            std::span<void *> operands) const;
  Status runScalars(const BoundInstruction &bound);
  Status runCollective(const BoundInstruction &bound);
  Status runMessage(const BoundInstruction &bound);
  Status writeDeviceIndex(const BoundInstruction &bound);
  /// Once all work before is done.
  Status runPrint(const BoundInstruction &bound);
  /// Its number in the mesh.
  int64_t thisDevice() const { return communicator_ ? communicator_->device() : 0; }
  /// What this device does of an entry.
  const Block &blockOf(const Entry &entry) const { return program_->blocks[entry.blockOf(stage_)]; }

  const Program *program_;
  std::shared_ptr<Device> device_;
  Communicator *communicator_;
  int64_t stage_ = 0;
  bool isStaged_ = false;                ///< the entry that runs has a block for each stage
  std::vector<MessageProblem> messages_; ///< by number; of those that this device has an end of
  std::unique_ptr<Executable> code_;     ///< null if there are no kernels
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<CollectiveQueue> link_; ///< null: there are no collectives, or `queue_` does them
  std::unique_ptr<MessageQueue> mail_;    ///< null: there are no messages, or `queue_` has them
  std::unique_ptr<Buffer> arena_;
  std::unique_ptr<Prefetcher> prefetcher_;
  std::unique_ptr<DeviceState> state_;   ///< null: the device shares the host's memory
  RecordedScalars *recording_ = nullptr; ///< while an entry is recorded
  bool waits_ = false;                   ///< for each instruction
  std::vector<void *> scratch_, tables_;
  const Instruction *running_ = nullptr; ///< the instruction that was begun last
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_STEPPER_H
