//===- EntryMemory.h - an entry's arguments on a device ---------*- C++ -*-===//
//
// Where an entry computes on a device with memory of its own. Arrays stay there from run to
// run. Until the entry is recorded it works in the memory that its inputs lie in; a recording
// holds addresses, and so what lies elsewhere is copied to them. What has few bytes (a count, a
// loss, a key) lives on the host, which reads it anyway: all of it goes up in one copy before a
// run and comes down in one after it.
//
//   MINIGPTC_RETURN_IF_ERROR(memory.bind(arguments, queue));   // inputs go where they belong
//   ... submit the entry's work on memory.addresses() ...
//   MINIGPTC_RETURN_IF_ERROR(memory.readSmall(queue));
//   MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
//   memory.giveOutputs(arguments);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_ENTRYMEMORY_H
#define MINIGPTC_RUNTIME_EXEC_ENTRYMEMORY_H

#include "runtime/exec/Program.h"
#include "runtime/exec/RecordedScalars.h"
#include "runtime/exec/ResidentMemory.h"

#include <optional>
#include <set>

namespace minigptc::runtime {

/// One run's arrays on one device.
struct DeviceArguments {
  std::vector<std::shared_ptr<ArrayBuffer>> inputs;
  std::vector<bool> owned;                           ///< by input: nobody else has its array
  std::vector<std::shared_ptr<ArrayBuffer>> outputs; ///< made by the run
};

class EntryMemory {
public:
  /// What has no more bytes is small; so many apart, as kernels want their operands aligned.
  static constexpr uint64_t kSmall = 64;
  /// Inputs that come from the host again and again, batches, have pinned memory of their own,
  /// from which a queue copies; larger ones are sent in pieces.
  static constexpr uint64_t kMaxStaged = uint64_t(4) << 20;

  /// `entry` outlives it. Parameters on other stages have no buffers and no memory.
  EntryMemory(const Entry &entry, std::shared_ptr<Device> device, int64_t stage = 0);

  /// Submits what takes the inputs to `addresses`, and moves arrays away that lie in what the
  /// run overwrites: a donated input that somebody else has, too, keeps its value elsewhere. An
  /// input that is owned stays as it is until `giveOutputs`, so that a run can still be given up.
  Status bind(DeviceArguments &arguments, Queue &queue);
  /// Submits the copy of small outputs.
  Status readSmall(Queue &queue);
  /// After a run that ended well: arrays that lie where it has written.
  void giveOutputs(DeviceArguments &arguments);
  /// After one that did not: donated inputs that lie where it has written are lost.
  void abandon();

  /// Inputs, then outputs. Those of the last run, if there is a recording.
  const std::vector<void *> &addresses() const { return addresses_; }
  /// Has run with these addresses, and so each instruction with its operands.
  bool repeats() const { return repeated_ > 0; }
  void forgetRecording();

  std::optional<bool> recordable = {}; ///< null: nobody has asked; see Recordable.h
  std::unique_ptr<Recording> recording;
  std::unique_ptr<RecordedScalars> scalars; ///< of the recording

private:
  size_t numInputs() const { return entry_->inputs.size(); }
  bool isDonated(size_t input) const { return entry_->inputs[input].donatedTo >= 0; }
  bool isSmall(size_t argument) const { return smallAt_[argument] >= 0; }
  bool isHere(size_t argument) const { return declOf(argument).isOn(stage_); }
  void planSmall();
  Status provideSmall();
  Status writeSmall(DeviceArguments &arguments, Queue &queue);
  /// Memory for an argument, apart from what others of this run have; its value is undefined.
  Status provide(size_t argument, Queue &queue);
  Status placeInput(size_t input, const std::shared_ptr<ArrayBuffer> &buffer, bool owned,
                    Queue &queue);
  Status upload(size_t input, ArrayBuffer &buffer, Queue &queue);
  void noteAddresses();
  const ParameterDecl &declOf(size_t argument) const;

  const Entry *entry_;
  std::shared_ptr<Device> device_;
  int64_t stage_;
  /// By argument. None for small ones and for outputs that are donated inputs.
  std::vector<std::shared_ptr<ResidentMemory>> places_;
  std::set<const ResidentMemory *> claimed_;     ///< by arguments of this run, so far
  std::vector<std::unique_ptr<Buffer>> staging_; ///< by input, made when first needed
  bool submitted_ = false;                       ///< copies of this run are in the queue
  /// Small arguments lie beside each other: inputs, donated ones, outputs.
  std::vector<int64_t> smallAt_;                              ///< by argument; -1: it is not small
  uint64_t smallKept_ = 0, smallInputs_ = 0, smallBytes_ = 0; ///< ends of these three
  std::unique_ptr<Buffer> small_, smallStaging_;
  std::vector<void *> addresses_;
  uint64_t runs_ = 0, repeated_ = 0; ///< that have ended well; at these addresses
  int moves_ = 0;                    ///< how often inputs have been found elsewhere
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_ENTRYMEMORY_H
