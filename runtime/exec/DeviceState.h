//===- DeviceState.h - a program on a device with its own memory -*- C++ -*-===//
//
// What a program keeps on a device that does not share the host's memory: constants, uploaded
// once; and for each entry its arguments' buffers, always the same, so that a run of it can
// be recorded and replayed.
//
//   StatusOr<std::unique_ptr<DeviceState>> state = DeviceState::create(program, device);
//   StatusOr<EntryMemory *> memory = (*state)->memoryOf(entry);
//   (*state)->upload(**memory, entry, hostArguments);
//   ... run with (*memory)->addresses ...
//   (*state)->download(**memory, entry, hostArguments);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_DEVICESTATE_H
#define MINIGPTC_RUNTIME_EXEC_DEVICESTATE_H

#include "runtime/exec/Program.h"
#include "runtime/exec/RecordedScalars.h"
#include "runtime/hal/Device.h"

#include <map>

namespace minigptc::runtime {

/// An entry's arguments on the device. A donated input and its output share a buffer.
struct EntryMemory {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<void *> addresses; ///< inputs, then outputs
  uint64_t runs = 0;             ///< that have ended well
  bool recordable = true;        ///< not known to be otherwise
  std::unique_ptr<Recording> recording;
  std::unique_ptr<RecordedScalars> scalars; ///< of the recording

  void forgetRecording() {
    recording.reset();
    scalars.reset();
  }
};

class DeviceState {
public:
  /// Both outlive it.
  static StatusOr<std::unique_ptr<DeviceState>> create(const Program &program, Device &device);

  std::byte *constant(uint32_t number) const { return constants_[number]; }
  /// Allocates it when it is first asked for.
  StatusOr<EntryMemory *> memoryOf(const Entry &entry);
  Status upload(const EntryMemory &memory, const Entry &entry, std::span<void *const> host);
  Status download(const EntryMemory &memory, const Entry &entry, std::span<void *const> host);
  /// Addresses that recordings hold are no longer right.
  void forgetRecordings();
  /// No entry has run before.
  void forgetRuns();

private:
  DeviceState(const Program &program, Device &device) : program_(program), device_(device) {}
  Status uploadConstants();

  const Program &program_;
  Device &device_;
  std::unique_ptr<Buffer> constantMemory_;
  std::vector<std::byte *> constants_;
  std::map<const Entry *, EntryMemory> entries_;
};

/// What the plan says an entry's memory consists of, largest first: ", of which 2 GiB are
/// 'state.w', …"; "" if it says nothing.
std::string describePeak(const Program &program, const Entry &entry);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_DEVICESTATE_H
