#include "runtime/drivers/cuda/test/TestDevice.h"

#include "runtime/base/Log.h"
#include "runtime/drivers/cuda/test/Machine.h"

namespace minigptc::runtime::cuda::test {

const char *describe(HazardKind kind) {
  switch (kind) {
  case HazardKind::race: return "race";
  case HazardKind::uninitialised: return "read of uninitialised memory";
  case HazardKind::useAfterFree: return "use after free";
  case HazardKind::freeWhilePending: return "free while work is pending";
  case HazardKind::outOfBounds: return "no memory of the device";
  case HazardKind::misaligned: return "misaligned address";
  case HazardKind::pageableHost: return "asynchronous copy with pageable memory";
  case HazardKind::hostAccess: return "host access without synchronisation";
  case HazardKind::kernel: return "kernel";
  case HazardKind::captureRule: return "not allowed in a stream capture";
  case HazardKind::refusedCall: return "refused call";
  case HazardKind::collectiveMismatch: return "ranks disagree";
  case HazardKind::missingRank: return "a collective that not every rank enters";
  case HazardKind::guardOverwritten: return "memory beside an allocation was written";
  case HazardKind::leak: return "leak";
  }
  return "finding";
}

std::string Hazard::toString() const {
  return std::string("emulated CUDA: ") + describe(kind) + ": " + text +
         (count > 1 ? " (" + std::to_string(count) + " times)" : "");
}

struct TestDevices::State {
  explicit State(const TestDeviceOptions &options) : machine(options) {}
  Machine machine;
  std::shared_ptr<CudaApi> api = std::make_shared<CudaApi>();
  bool finished = false;
};

TestDevices::TestDevices(std::unique_ptr<State> state) : state(std::move(state)) {
  CudaApi &api = *this->state->api;
  api.emulated = true;
  fillDeviceCalls(api.driver);
  fillMemoryCalls(api.driver);
  fillStreamCalls(api.driver);
  fillGraphCalls(api.driver);
  fillModuleCalls(api.driver);
  fillBlasCalls(api.blas);
  fillNcclCalls(api.nccl);
}

static Status checkCount(int devices) {
  if (devices >= 1 && devices <= kMaxTestDevices)
    return {};
  return Status(StatusCode::invalidArgument, std::to_string(devices) + " emulated devices; 1 to " +
                                                 std::to_string(kMaxTestDevices) + " are possible")
      .withHelp("choose a mesh of that many devices, or --target cpu");
}

StatusOr<std::unique_ptr<TestDevices>> TestDevices::create(const TestDeviceOptions &options) {
  MINIGPTC_RETURN_IF_ERROR(checkCount(options.devices));
  if (Machine::current())
    return Status(StatusCode::failedPrecondition, "there are emulated devices in use already");
  return std::unique_ptr<TestDevices>(new TestDevices(std::make_unique<State>(options)));
}

TestDevices::~TestDevices() {
  size_t seen = state->machine.hazardsSeen;
  std::vector<Hazard> hazards = finish();
  for (size_t i = seen; i < hazards.size(); ++i)
    logWarning(hazards[i].toString());
}

std::shared_ptr<const CudaApi> TestDevices::api() const { return state->api; }

std::vector<Hazard> TestDevices::findings() const {
  Lock lock(state->machine.mutex);
  state->machine.hazardsSeen = state->machine.hazards.size();
  return state->machine.hazards;
}

std::vector<Hazard> TestDevices::finish() {
  enterOr(0, [&](Machine &machine, Lock &lock) {
    if (!state->finished)
      machine.finish(lock);
    return 0;
  });
  state->finished = true;
  return findings();
}

StatusOr<std::shared_ptr<const CudaApi>> TestDevices::load(const TestDeviceOptions &options) {
  StatusOr<std::unique_ptr<TestDevices>> devices = create(options);
  if (!devices)
    return devices.status();
  auto api = std::make_shared<CudaApi>(*(*devices)->api());
  api->provide = [](int count) {
    MINIGPTC_RETURN_IF_ERROR(checkCount(count));
    return enterOr(Status(StatusCode::failedPrecondition, "the emulated devices are gone"),
                   [&](Machine &machine, Lock &) {
                     machine.provide(count);
                     return Status();
                   });
  };
  api->owner = std::shared_ptr<TestDevices>(std::move(*devices));
  return std::shared_ptr<const CudaApi>(std::move(api));
}

} // namespace minigptc::runtime::cuda::test
