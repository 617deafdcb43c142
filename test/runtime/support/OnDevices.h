//===- OnDevices.h - a thread for each device of a world --------*- C++ -*-===//
//
//   Status status = onDevices(world, {0, 4}, [](Communicator &end, Queue &queue) {
//     return end.run(queue, problem, inputs, outputs, site);
//   });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_RUNTIME_SUPPORT_ONDEVICES_H
#define MINIGPTC_TEST_RUNTIME_SUPPORT_ONDEVICES_H

#include "minigptc/runtime/Mesh.h"
#include "runtime/drivers/host/HostDriver.h"
#include "runtime/hal/Communicator.h"
#include "runtime/hal/Driver.h"

#include <functional>
#include <thread>

namespace minigptc::runtime::test {

/// One run of these devices of the world, which use the host's memory; the world's failure.
inline Status onDevices(World &world, DeviceRange devices,
                        const std::function<Status(Communicator &, Queue &)> &body) {
  std::unique_ptr<Device> device = *createHostDriver()->open(0, {.threads = 1});
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<std::thread> threads;
  world.begin();
  for (int64_t d = devices.first; d < devices.end(); ++d)
    queues.push_back(*device->createQueue());
  for (int64_t d = devices.first; d < devices.end(); ++d)
    threads.emplace_back(
        [&, d] { world.finish(d, body(world.end(d), *queues[size_t(d - devices.first)])); });
  for (std::thread &thread : threads)
    thread.join();
  return world.failure();
}

} // namespace minigptc::runtime::test

#endif // MINIGPTC_TEST_RUNTIME_SUPPORT_ONDEVICES_H
