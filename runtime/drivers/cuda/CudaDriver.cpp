#include "runtime/drivers/cuda/CudaDriver.h"

#include "runtime/drivers/cuda/CudaCollective.h"
#include "runtime/drivers/cuda/CudaQueue.h"
#include "runtime/drivers/cuda/CudaWorld.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace minigptc::runtime {
namespace {

using namespace cuda;

class CudaDevice final : public Device {
public:
  static StatusOr<std::unique_ptr<Device>> create(ContextRef context, std::string driver) {
    auto device = std::make_unique<CudaDevice>();
    device->context_ = context;
    device->info_ = {std::move(driver),
                     context->name(),
                     0,
                     /*sharesHostMemory=*/false,
                     /*records=*/true,
                     CudaGemm::libraryOf(*context),
                     context->api().emulated};
    StatusOr<std::unique_ptr<Transfer>> transfer = Transfer::create(context);
    if (!transfer)
      return transfer.status();
    device->transfer_ = std::move(*transfer);
    return std::unique_ptr<Device>(std::move(device));
  }
  const DeviceInfo &info() const override { return info_; }
  const ContextRef &context() const { return context_; }

  std::optional<MemoryLimits> memory() const override {
    size_t free = 0, total = 0;
    if (!context_->enter() || context_->driver().memGetInfo(&free, &total) != Result::success)
      return std::nullopt;
    return MemoryLimits{total, free};
  }
  StatusOr<std::unique_ptr<Buffer>> allocate(uint64_t bytes) override {
    return allocateOnDevice(context_, bytes);
  }
  StatusOr<std::unique_ptr<Buffer>> allocateStaging(uint64_t bytes) override {
    return allocatePinned(context_, bytes);
  }
  StatusOr<std::unique_ptr<Executable>> load(const DeviceCode &code) override {
    StatusOr<std::unique_ptr<CudaCode>> loaded = CudaCode::load(context_, code);
    if (!loaded)
      return loaded.status();
    return std::unique_ptr<Executable>(std::move(*loaded));
  }
  StatusOr<std::unique_ptr<Queue>> createQueue() override {
    StatusOr<std::unique_ptr<CudaQueue>> queue = CudaQueue::create(context_);
    if (!queue)
      return queue.status();
    return std::unique_ptr<Queue>(std::move(*queue));
  }
  uint64_t queueMemory(std::span<const GemmProblem> products, uint64_t) const override {
    return products.empty() ? 0 : CudaGemm::kWorkspace;
  }
  uint64_t collectiveMemory(std::span<const CollectiveProblem> collectives) const override {
    return stagingBytes(collectives);
  }
  Status upload(void *target, std::span<const std::byte> source) override {
    std::lock_guard lock(mutex_);
    return transfer_->upload(target, source);
  }
  Status download(std::span<std::byte> target, const void *source) override {
    std::lock_guard lock(mutex_);
    return transfer_->download(target, source);
  }

private:
  ContextRef context_;
  DeviceInfo info_;
  std::mutex mutex_;
  std::unique_ptr<Transfer> transfer_;
};

class CudaDriver final : public Driver {
public:
  CudaDriver(std::shared_ptr<const CudaApi> api, std::string name)
      : name_(std::move(name)), api_(std::move(api)) {}
  CudaDriver(LoadCudaApi load, std::string name) : name_(std::move(name)), load_(load) {}
  std::string_view name() const override { return name_; }

  StatusOr<int> countDevices() const override {
    StatusOr<std::shared_ptr<const CudaApi>> found = api();
    if (!found)
      return found.status();
    int count = 0;
    if (Result result = (*found)->driver.deviceGetCount(&count); result != Result::success)
      return Status(StatusCode::failedPrecondition,
                    "cuDeviceGetCount failed: " + describe((*found)->driver, result));
    return count;
  }

  Status provide(int64_t devices) const override {
    StatusOr<std::shared_ptr<const CudaApi>> found = api();
    if (!found)
      return found.status();
    if ((*found)->provide)
      return (*found)->provide(int(devices));
    StatusOr<int> count = countDevices();
    if (!count)
      return count.status();
    if (devices > *count)
      return Status(StatusCode::failedPrecondition,
                    "the program's mesh has " + std::to_string(devices) +
                        " devices; this machine has " + std::to_string(*count) +
                        (*count == 1 ? " GPU" : " GPUs"))
          .withHelp("choose a mesh of that many devices, or compile for the CPU: --target cpu");
    return devices > 1 ? (*found)->ncclStatus : Status();
  }

  Status checkProcesses(int64_t devices) const override {
    return devices == 1 ? Status() : oneForEach(devices);
  }

  StatusOr<std::unique_ptr<World>> connect(std::span<Device *const> devices,
                                           WorldOptions options) const override {
    if (options.process.store && devices.size() != 1)
      return oneForEach(int64_t(devices.size()));
    std::vector<ContextRef> contexts;
    for (Device *device : devices)
      contexts.push_back(static_cast<CudaDevice *>(device)->context());
    StatusOr<std::unique_ptr<CudaWorld>> world =
        CudaWorld::create(std::move(contexts), std::move(options));
    if (!world)
      return world.status();
    return std::unique_ptr<World>(std::move(*world));
  }

  StatusOr<std::unique_ptr<Device>> open(int index, const DeviceOptions &) const override {
    StatusOr<int> count = countDevices();
    if (!count)
      return count.status();
    if (index < 0 || index >= *count)
      return Status(StatusCode::notFound, "there is no " + name_ + ":" + std::to_string(index) +
                                              ": the machine has " + std::to_string(*count) +
                                              (*count == 1 ? " GPU" : " GPUs"));
    StatusOr<std::shared_ptr<const CudaApi>> found = api();
    if (!found)
      return found.status();
    StatusOr<ContextRef> context = CudaContext::create(*found, index);
    return context ? CudaDevice::create(*context, name_) : context.status();
  }

private:
  static Status oneForEach(int64_t devices) {
    return Status(StatusCode::failedPrecondition,
                  "each process would have " + std::to_string(devices) +
                      " GPUs of the mesh; of several processes each has one")
        .withHelp("start as many processes as the mesh has devices, or one for all of them");
  }

  StatusOr<std::shared_ptr<const CudaApi>> api() const {
    std::lock_guard lock(mutex_);
    if (!api_)
      api_.emplace(load_());
    return *api_;
  }

  std::string name_;
  LoadCudaApi load_ = nullptr; ///< without it `api_` is there
  mutable std::mutex mutex_;
  mutable std::optional<StatusOr<std::shared_ptr<const CudaApi>>> api_;
};

} // namespace

std::unique_ptr<const Driver> createCudaDriver() {
  return createCudaDriver([] { return CudaApi::load(); }, "cuda");
}
std::unique_ptr<const Driver> createCudaDriver(std::shared_ptr<const cuda::CudaApi> api,
                                               std::string name) {
  return std::make_unique<CudaDriver>(std::move(api), std::move(name));
}
std::unique_ptr<const Driver> createCudaDriver(LoadCudaApi load, std::string name) {
  return std::make_unique<CudaDriver>(load, std::move(name));
}

} // namespace minigptc::runtime
