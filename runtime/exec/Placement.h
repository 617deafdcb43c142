//===- Placement.h - an entry's arrays on the devices -----------*- C++ -*-===//
//
// Inputs come whole or sharded; each device gets a buffer that holds its part. Donated
// ones become outputs; the others are used in place where they lie right.
//
//   StatusOr<Placement> placement =
//       Placement::create(entry, mesh, DeviceRange::all(mesh), inputs, Memory::host);
//   stepper.run(entry, placement->arguments(device), ...);
//   return placement->takeOutputs();
//
// On devices with memory of their own a run gets buffers, and makes those of its outputs:
//
//   auto placement = Placement::create(entry, mesh, here, inputs, Memory::devices);
//   std::vector<DeviceArguments> arguments = placement->deviceArguments();
//   stepper.run(entry, arguments[device], ...);
//   placement->setOutputs(arguments, mesh, inputs);
//
// Of several processes each places what its devices need; devices have the mesh's numbers, and
// arguments are those of the devices here, in their order.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_PLACEMENT_H
#define MINIGPTC_RUNTIME_EXEC_PLACEMENT_H

#include "minigptc/runtime/Session.h"
#include "runtime/exec/EntryMemory.h"

#include <span>
#include <vector>

namespace minigptc::runtime {

/// Where an entry works.
enum class Memory { host, devices };

/// Keeps the arrays of one run.
class Placement {
public:
  /// In the host's memory, donated inputs that have one owner lose their buffers to outputs,
  /// others a copy's; `inputs` then hold what the step overwrites. resourceExhausted names what
  /// is too large.
  static StatusOr<Placement> create(const EntryInfo &entry, const Mesh &mesh, DeviceRange here,
                                    std::vector<Array> &inputs, Memory memory);

  /// Inputs, then outputs, on one device; null: it has no part.
  std::vector<void *> arguments(int64_t device);
  /// The donated inputs' memory on one device.
  std::vector<std::span<std::byte>> donated(int64_t device);
  /// By device; Memory::devices.
  std::vector<DeviceArguments> deviceArguments() const;
  /// The outputs of a run that ended well; donated `inputs` then are these.
  void setOutputs(std::span<const DeviceArguments> arguments, const Mesh &mesh,
                  std::vector<Array> &inputs);
  const std::vector<Array> &outputs() const { return outputs_; }
  std::vector<Array> takeOutputs() { return std::move(outputs_); }

private:
  Placement(const EntryInfo &entry, DeviceRange here, bool many)
      : entry_(&entry), here_(here), many_(many) {}
  Array placed(const Array &array, const ParameterInfo &info, const Mesh &mesh) const;
  Status placeInputs(const Mesh &mesh, std::vector<Array> &inputs);
  Status placeOnDevices(const Mesh &mesh, const std::vector<Array> &inputs);
  Status makeOutputs(const Mesh &mesh);

  const EntryInfo *entry_;
  std::vector<Array> inputs_, outputs_;
  std::vector<bool> owned_; ///< by input: a donated one that nobody else has; on devices
  DeviceRange here_;
  bool many_; ///< the mesh has several devices, wherever they are
};

/// internal: the first output of which two devices hold different bytes where they should
/// hold the same.
Status checkReplicas(const EntryInfo &entry, std::span<const Array> outputs);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_PLACEMENT_H
