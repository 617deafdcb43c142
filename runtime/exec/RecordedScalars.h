//===- RecordedScalars.h - the host's part of a recorded step ---*- C++ -*-===//
//
// The host evaluates scalar programs (a learning rate, say). Where a step is recorded, it does
// so before each replay, and the recording copies the results from the host's memory. That
// works where a program reads only what the step gets as input, or what such programs
// compute; a step that computes on the device what the host must know is not recorded
// (Recordable.h).
//
//   RecordedScalars scalars(device, inputs);              // where the entry's inputs lie
//   queue.beginRecording();
//   Status status = scalars.record(hostProgram, sources, targets, queue);
//   scalars.wrote(address, bytes);                        // by any other instruction
//   ...
//   scalars.evaluate(hostInputs);                         // before each replay
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_RECORDEDSCALARS_H
#define MINIGPTC_RUNTIME_EXEC_RECORDEDSCALARS_H

#include "runtime/exec/HostProgram.h"
#include "runtime/hal/Device.h"

#include <optional>
#include <set>

namespace minigptc::runtime {

/// Which of a device's values the host knows, as instructions write one after the other.
class KnownValues {
public:
  /// An entry's input in the device's memory.
  struct Input {
    const std::byte *address;
    uint64_t bytes;
  };
  /// Where a value lies on the host: at `place`, or in an entry's input.
  struct Source {
    const std::byte *place = nullptr;
    size_t input = 0;
    uint64_t offset = 0;
  };
  explicit KnownValues(std::vector<Input> inputs) : inputs_(std::move(inputs)) {}

  /// The host has what is written at `place`; null: only the device knows it.
  void wrote(const void *address, uint64_t bytes, const std::byte *place = nullptr);
  std::optional<Source> find(const void *address, uint64_t bytes) const;

private:
  struct Write {
    const std::byte *begin, *end, *place;
  };
  std::vector<Input> inputs_;
  std::vector<Write> writes_; ///< the latest last
};

class RecordedScalars {
public:
  RecordedScalars(Device &device, std::vector<KnownValues::Input> inputs)
      : device_(device), known_(std::move(inputs)) {}

  /// Submits copies of the results. What the program reads is known before the step: the entry
  /// can be recorded.
  Status record(const HostProgram &program, std::span<void *const> sources,
                std::span<void *const> targets, Queue &queue);
  /// Submits the copy of a number that is always the same.
  Status recordConstant(int64_t value, void *target, Queue &queue);
  void wrote(const void *address, uint64_t bytes) { known_.wrote(address, bytes); }

  /// Numbers of the entry's inputs that programs read.
  std::set<size_t> inputsRead() const;
  /// `inputs`: the entry's, in the host's memory; those that are not read may be null.
  void evaluate(std::span<const std::byte *const> inputs) const;

private:
  struct Evaluation {
    const HostProgram *program;
    std::vector<KnownValues::Source> sources;
    std::vector<std::byte *> results;
  };
  StatusOr<std::byte *> allocate(uint64_t bytes);

  Device &device_;
  KnownValues known_;
  std::vector<Evaluation> evaluations_;
  std::vector<std::unique_ptr<Buffer>> memory_;
};

/// From operands to results, in the host's memory.
void evaluateScalars(const HostProgram &program, std::span<const std::byte *const> sources,
                     std::span<std::byte *const> results);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_RECORDEDSCALARS_H
