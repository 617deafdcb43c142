#include "runtime/hal/Driver.h"

#include "runtime/base/Log.h"

#include <mutex>

namespace minigptc::runtime {

Buffer::~Buffer() = default;
Executable::~Executable() = default;
Event::~Event() = default;
Queue::~Queue() = default;
void Queue::recordThreads(ThreadLog *) {}
Recording::~Recording() = default;

static Status cannotRecord() {
  return Status(StatusCode::internal, "a recording on a device that keeps none");
}
Status Queue::prepare(std::span<const GemmProblem>) { return {}; }
Status Queue::beginRecording() { return cannotRecord(); }
StatusOr<std::unique_ptr<Recording>> Queue::endRecording() { return cannotRecord(); }
Status Queue::replay(const Recording &) { return cannotRecord(); }

Device::~Device() = default;
std::string Queue::algorithmOf(const GemmProblem &) const { return ""; }
Status Queue::useAlgorithm(const GemmProblem &, const std::string &) {
  return Status(StatusCode::failedPrecondition, "products have no algorithms to choose from");
}
std::optional<MemoryLimits> Device::memory() const { return std::nullopt; }
uint64_t Device::queueMemory(std::span<const GemmProblem>, uint64_t) const { return 0; }
uint64_t Device::collectiveMemory(std::span<const CollectiveProblem>) const { return 0; }
Communicator::~Communicator() = default;

std::string MessageProblem::describe() const {
  return "message " + std::to_string(number) + " (" + what + ") from device " +
         std::to_string(from) + " to device " + std::to_string(to);
}

World::~World() = default;

Driver::~Driver() = default;
Status Driver::checkProcesses(int64_t) const { return {}; }
int Driver::indexOf(int64_t device) const { return int(device); }
StatusOr<std::unique_ptr<World>> Driver::connect(std::span<Device *const>, WorldOptions) const {
  return std::unique_ptr<World>();
}

Status Driver::provide(int64_t devices) const {
  StatusOr<int> count = countDevices();
  if (!count)
    return count.status();
  if (devices <= *count)
    return {};
  return Status(StatusCode::failedPrecondition, "the program is for " + std::to_string(devices) +
                                                    " devices; " + std::string(name()) + " has " +
                                                    std::to_string(*count));
}

namespace {

struct Registry {
  std::mutex mutex;
  /// Replaced ones stay: somebody may hold a pointer.
  std::vector<std::unique_ptr<const Driver>> owned;
  std::vector<const Driver *> current;
};

Registry &registry() {
  static Registry instance;
  return instance;
}

} // namespace

void registerDriver(std::unique_ptr<const Driver> driver) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.current, [&](const Driver *old) { return old->name() == driver->name(); });
  all.current.push_back(driver.get());
  all.owned.push_back(std::move(driver));
}

std::vector<const Driver *> drivers() {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  return all.current;
}

const Driver *findDriver(std::string_view name) {
  for (const Driver *driver : drivers())
    if (driver->name() == name)
      return driver;
  return nullptr;
}

StatusOr<std::unique_ptr<Device>> openDevice(std::string_view name, int index,
                                             const DeviceOptions &options) {
  if (const Driver *driver = findDriver(name))
    return driver->open(index, options);
  std::string known;
  for (const Driver *driver : drivers())
    known += (known.empty() ? "" : ", ") + std::string(driver->name());
  return Status(StatusCode::notFound, "no driver is called " + quote(name))
      .withHelp(known.empty() ? "this runtime was built without any driver"
                              : "this runtime has: " + known);
}

} // namespace minigptc::runtime
