//===- Driver.h - kinds of devices, by name ---------------------*- C++ -*-===//
//
//   registerBuiltinDrivers();                             // drivers/Builtin.h
//   StatusOr<std::unique_ptr<Device>> device = openDevice("host", 0, {.threads = 2});
//   for (const Driver *driver : drivers()) ...
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_DRIVER_H
#define MINIGPTC_RUNTIME_HAL_DRIVER_H

#include "runtime/hal/Communicator.h"
#include "runtime/hal/Device.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

/// A kind of device. Drivers live as long as the process.
class Driver {
public:
  virtual ~Driver();
  virtual std::string_view name() const = 0;
  /// The devices of this machine; failedPrecondition says why there are none.
  virtual StatusOr<int> countDevices() const = 0;
  virtual StatusOr<std::unique_ptr<Device>> open(int index, const DeviceOptions &options) const = 0;

  /// Fails with a line that says why unless programs for so many devices can run here. Those
  /// that are made up come into being now.
  virtual Status provide(int64_t devices) const;
  /// Fails unless such devices work together over several processes, so many in each.
  virtual Status checkProcesses(int64_t devices) const;
  /// What a program's device is opened as; by default one of its own.
  virtual int indexOf(int64_t device) const;
  /// Communicators between devices of this driver, numbered as in `devices`, which outlive
  /// the world's last run. Null, the default: they share the host's memory.
  virtual StatusOr<std::unique_ptr<World>> connect(std::span<Device *const> devices,
                                                   WorldOptions options) const;
};

/// Adds a driver; one of that name is replaced. Thread-safe.
void registerDriver(std::unique_ptr<const Driver> driver);
std::vector<const Driver *> drivers();
/// Null if there is none of that name.
const Driver *findDriver(std::string_view name);

/// notFound names the drivers that exist.
StatusOr<std::unique_ptr<Device>> openDevice(std::string_view driver, int index,
                                             const DeviceOptions &options = {});

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_DRIVER_H
