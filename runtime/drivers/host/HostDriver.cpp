#include "runtime/drivers/host/HostDriver.h"

#include "runtime/base/Cpu.h"
#include "runtime/base/Log.h"
#include "runtime/base/Memory.h"
#include "runtime/base/MemoryLimits.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/drivers/host/GemmEpilogue.h"
#include "runtime/drivers/host/HostGemm.h"
#include "runtime/drivers/host/SharedObject.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime {
namespace {

class HostBuffer final : public Buffer {
public:
  HostBuffer(std::shared_ptr<std::byte[]> block, uint64_t size)
      : block_(std::move(block)), size_(size) {}
  std::byte *data() override { return block_.get(); }
  uint64_t size() const override { return size_; }

private:
  std::shared_ptr<std::byte[]> block_;
  uint64_t size_;
};

struct HostKernel {
  void (*run)(void *const *buffers, int64_t begin, int64_t end, void *scratch);
  int64_t items, grain;
  uint64_t scratch;
};

class HostExecutable final : public Executable {
public:
  HostExecutable(SharedObject object, std::vector<HostKernel> kernels)
      : object_(std::move(object)), kernels_(std::move(kernels)) {}
  size_t kernels() const override { return kernels_.size(); }
  const HostKernel &kernel(uint32_t number) const { return kernels_[number]; }

private:
  SharedObject object_; // keeps the code mapped
  std::vector<HostKernel> kernels_;
};

/// Work is done when a call returns, so every event is past.
class HostEvent final : public Event {
public:
  bool reached() const override { return true; }
  Status wait() override { return {}; }
};

class HostQueue final : public Queue {
public:
  explicit HostQueue(ThreadPool &pool) : pool_(pool), gemm_(pool), scratch_(pool.threads()) {}

  Status launch(const Executable &executable, const Launch &launch) override {
    const auto &code = static_cast<const HostExecutable &>(executable);
    if (launch.kernel >= code.kernels() || launch.groups < 1 ||
        launch.buffers.size() % size_t(launch.groups) != 0)
      return Status(StatusCode::invalidArgument, "a launch of no kernel, or of no sensible size");
    const HostKernel &kernel = code.kernel(launch.kernel);
    MINIGPTC_RETURN_IF_ERROR(provideScratch(kernel.scratch));
    int64_t tasks = kernel.items / kernel.grain + (kernel.items % kernel.grain != 0);
    size_t buffers = launch.buffers.size() / size_t(launch.groups);
    pool_.run(tasks * launch.groups, [&](int64_t task, int worker) {
      int64_t group = task / tasks, begin = task % tasks * kernel.grain;
      kernel.run(launch.buffers.data() + size_t(group) * buffers, begin,
                 begin + std::min(kernel.grain, kernel.items - begin), scratch_[worker].get());
    });
    return {};
  }

  Status gemm(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
              void *vector) override {
    return problem.epilogue == GemmEpilogue::none
               ? gemm_.run(problem, lhs, rhs, out)
               : runWithEpilogue(gemm_, problem, lhs, rhs, out, vector);
  }

  Status copy(void *target, const void *source, uint64_t bytes) override {
    constexpr uint64_t piece = 1 << 20;
    auto *to = static_cast<std::byte *>(target);
    auto *from = static_cast<const std::byte *>(source);
    if (to < from + bytes && from < to + bytes) {
      if (to != from)
        std::memmove(to, from, bytes);
      return {};
    }
    pool_.run(int64_t((bytes + piece - 1) / piece), [&](int64_t task) {
      uint64_t begin = uint64_t(task) * piece;
      std::memcpy(to + begin, from + begin, std::min(piece, bytes - begin));
    });
    return {};
  }

  Status write(void *target, const void *staging, uint64_t bytes) override {
    return copy(target, staging, bytes);
  }
  Status read(void *staging, const void *source, uint64_t bytes) override {
    return copy(staging, source, bytes);
  }

  StatusOr<std::unique_ptr<Event>> record() override {
    return std::unique_ptr<Event>(std::make_unique<HostEvent>());
  }
  Status waitFor(Event &event) override { return event.wait(); }
  Status synchronize() override { return {}; }
  void recordThreads(ThreadLog *log) override { pool_.record(log); }

private:
  /// Grows every thread's scratch memory to `bytes`.
  Status provideScratch(uint64_t bytes) {
    if (bytes <= scratchBytes_)
      return {};
    for (std::shared_ptr<std::byte[]> &block : scratch_)
      if (!(block = allocateAligned(bytes)))
        return Status(StatusCode::resourceExhausted, "no memory for " + std::to_string(bytes) +
                                                         " bytes of scratch for each thread");
    scratchBytes_ = bytes;
    return {};
  }

  ThreadPool &pool_;
  HostGemm gemm_;
  std::vector<std::shared_ptr<std::byte[]>> scratch_; // by worker
  uint64_t scratchBytes_ = 0;
};

/// What the compiler says beside the code (KernelEmitter.cpp) against what the tables say: code
/// that gets less memory than it takes, or other items than it has, would write anywhere.
Status checkFacts(const SharedObject &object, const KernelFacts &facts) {
  auto differs = [&](const std::string &what) {
    return Status(StatusCode::dataLoss, "kernel " + quote(facts.symbol) + " " + what);
  };
  auto *items = static_cast<const int64_t *>(object.find(facts.symbol + ".items"));
  auto *scratch = static_cast<const uint64_t *>(object.find(facts.symbol + ".scratch"));
  if (items && facts.items != *items)
    return differs("has code for " + std::to_string(*items) + " work items, not for " +
                   std::to_string(facts.items));
  if (scratch && facts.scratch < *scratch)
    return differs("takes " + std::to_string(*scratch) + " bytes of scratch memory; it is lent " +
                   std::to_string(facts.scratch));
  return {};
}

class HostDevice final : public Device {
public:
  explicit HostDevice(const DeviceOptions &options) : pool_(options.threads) {
    int threads = pool_.threads();
    info_ = {"host",
             std::to_string(threads) + (threads == 1 ? " thread of " : " threads of ") + cpuName(),
             threads, /*sharesHostMemory=*/true, /*records=*/false};
  }
  const DeviceInfo &info() const override { return info_; }

  StatusOr<std::unique_ptr<Buffer>> allocate(uint64_t bytes) override {
    std::shared_ptr<std::byte[]> block = allocateAligned(bytes);
    if (!block)
      return Status(StatusCode::resourceExhausted,
                    "no memory for a block of " + std::to_string(bytes) + " bytes; there are " +
                        readableBytes(memoryLimits().total))
          .withHelp("a smaller batch or context, or a smaller model, needs less");
    return std::unique_ptr<Buffer>(std::make_unique<HostBuffer>(std::move(block), bytes));
  }

  StatusOr<std::unique_ptr<Executable>> load(const DeviceCode &code) override {
    StatusOr<SharedObject> object = SharedObject::load(code.elf);
    if (!object)
      return object.status();
    std::vector<HostKernel> kernels;
    for (const KernelFacts &facts : code.kernels) {
      if (facts.items < 0 || facts.grain < 1)
        return Status(StatusCode::invalidArgument,
                      "kernel " + quote(facts.symbol) + " has no sensible size");
      void *symbol = object->find(facts.symbol);
      if (!symbol)
        return Status(StatusCode::dataLoss, "the code has no kernel " + quote(facts.symbol));
      MINIGPTC_RETURN_IF_ERROR(checkFacts(*object, facts));
      kernels.push_back({reinterpret_cast<decltype(HostKernel::run)>(symbol), facts.items,
                         facts.grain, facts.scratch});
    }
    return std::unique_ptr<Executable>(
        std::make_unique<HostExecutable>(std::move(*object), std::move(kernels)));
  }

  StatusOr<std::unique_ptr<Buffer>> allocateStaging(uint64_t bytes) override {
    return allocate(bytes);
  }
  StatusOr<std::unique_ptr<Queue>> createQueue() override {
    return std::unique_ptr<Queue>(std::make_unique<HostQueue>(pool_));
  }
  uint64_t queueMemory(std::span<const GemmProblem> products, uint64_t scratch) const override {
    return hostQueueMemory(products, scratch, pool_.threads());
  }

  Status upload(void *target, std::span<const std::byte> source) override {
    if (!source.empty())
      std::memcpy(target, source.data(), source.size());
    return {};
  }
  Status download(std::span<std::byte> target, const void *source) override {
    if (!target.empty())
      std::memcpy(target.data(), source, target.size());
    return {};
  }

private:
  ThreadPool pool_;
  DeviceInfo info_;
};

class HostDriver final : public Driver {
public:
  std::string_view name() const override { return "host"; }
  StatusOr<int> countDevices() const override { return 1; }
  StatusOr<std::unique_ptr<Device>> open(int index, const DeviceOptions &options) const override {
    if (index != 0)
      return Status(StatusCode::notFound,
                    "the host driver has device 0 only, not " + std::to_string(index));
    if (options.threads < 0 || options.threads > kMaxThreads)
      return Status(StatusCode::invalidArgument,
                    "a device of " + std::to_string(options.threads) + " threads")
          .withHelp("0 (all cores) to " + std::to_string(kMaxThreads));
    checkGemmSplits();
    return std::unique_ptr<Device>(std::make_unique<HostDevice>(options));
  }

  /// A program's devices are threads of the machine.
  Status provide(int64_t) const override { return {}; }
  int indexOf(int64_t) const override { return 0; }

private:
  static constexpr int kMaxThreads = 1024;
};

} // namespace

uint64_t hostQueueMemory(std::span<const GemmProblem> products, uint64_t scratch, int threads) {
  return HostGemm::memoryFor(products, threads) + uint64_t(threads) * scratch;
}

std::unique_ptr<const Driver> createHostDriver() { return std::make_unique<HostDriver>(); }

} // namespace minigptc::runtime
