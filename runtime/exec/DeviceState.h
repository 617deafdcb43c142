//===- DeviceState.h - a program on a device with its own memory -*- C++ -*-===//
//
// What a program keeps on a device that does not share the host's memory: constants, uploaded
// once; and for each entry its arguments' memory (EntryMemory.h).
//
//   StatusOr<std::unique_ptr<DeviceState>> state = DeviceState::create(program, device);
//   EntryMemory &memory = (*state)->memoryOf(entry);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_DEVICESTATE_H
#define MINIGPTC_RUNTIME_EXEC_DEVICESTATE_H

#include "runtime/exec/EntryMemory.h"

#include <map>

namespace minigptc::runtime {

class DeviceState {
public:
  /// `program` outlives it.
  static StatusOr<std::unique_ptr<DeviceState>> create(const Program &program,
                                                       std::shared_ptr<Device> device,
                                                       int64_t stage = 0);

  std::byte *constant(uint32_t number) const { return constants_[number]; }
  EntryMemory &memoryOf(const Entry &entry);
  /// Addresses that recordings hold are no longer right, or something else of them: the next
  /// run of each entry is like the first.
  void forgetRecordings();

private:
  DeviceState(const Program &program, std::shared_ptr<Device> device, int64_t stage)
      : program_(program), device_(std::move(device)), stage_(stage) {}
  Status uploadConstants();

  const Program &program_;
  std::shared_ptr<Device> device_;
  int64_t stage_;
  std::unique_ptr<Buffer> constantMemory_;
  std::vector<std::byte *> constants_;
  std::map<const Entry *, EntryMemory> entries_;
};

/// What the plan says an entry's memory consists of, largest first: ", of which 2 GiB are
/// 'state.w', …"; "" if it says nothing.
std::string describePeak(const Program &program, const Entry &entry);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_DEVICESTATE_H
