#include "test/compiler/target/cuda/Saboteur.h"

#include <chrono>
#include <thread>

namespace minigptc::runtime::cuda::test {

/// Whose context the thread has entered.
static thread_local Context entered = nullptr;
/// Calls of the thread, for its pauses.
static thread_local uint64_t callsOfThread = 0;

const char *describe(Edit edit) {
  switch (edit) {
  case Edit::record: return "cuEventRecord left out";
  case Edit::wait: return "cuStreamWaitEvent left out";
  case Edit::synchronize: return "cuStreamSynchronize left out";
  case Edit::waitOnHost: return "cuEventSynchronize left out";
  case Edit::upload: return "copy from the host behind the next call";
  case Edit::download: return "copy to the host behind the next call";
  }
  return "";
}

std::string Site::toString() const {
  return std::string(describe(edit)) + ", device " + std::to_string(device) + ", number " +
         std::to_string(number);
}

Saboteur &Saboteur::get() {
  static Saboteur saboteur;
  return saboteur;
}

void Saboteur::start(std::optional<Site> site, uint64_t seed) {
  std::lock_guard lock(mutex);
  wrong = site;
  pauses = seed;
  devices.clear();
  calls.clear();
  counts.clear();
  records.clear();
  collectiveStreams.clear();
  held.clear();
}

std::vector<Site> Saboteur::sites() const {
  std::lock_guard lock(mutex);
  std::vector<Site> result;
  for (const auto &[site, call] : calls)
    result.push_back(site);
  return result;
}

std::vector<Site> Saboteur::sitesOfCollectives() const {
  std::lock_guard lock(mutex);
  // Events that are recorded on, or waited for by, a queue of collectives.
  std::set<uint64_t> between;
  for (const auto &[site, call] : calls)
    if (call.event != 0 && collectiveStreams.contains(call.stream))
      between.insert(call.event);
  std::vector<Site> result;
  for (const auto &[site, call] : calls)
    if (between.contains(call.event))
      result.push_back(site);
  return result;
}

int Saboteur::currentDevice() const {
  auto found = devices.find(entered);
  return found == devices.end() ? -1 : found->second;
}

void Saboteur::enter(Context context) {
  entered = context;
  pause();
}

/// One call in four waits for some of the others' work, one in fifty for much of it.
void Saboteur::pause() {
  uint64_t bits;
  {
    std::lock_guard lock(mutex);
    if (pauses == 0)
      return;
    bits = (pauses * 64 + uint64_t(currentDevice() + 1)) * 0x9E3779B97F4A7C15u + ++callsOfThread;
  }
  bits = (bits ^ (bits >> 31)) * 0xBF58476D1CE4E5B9u;
  bits ^= bits >> 29;
  if (bits % 4 == 0)
    std::this_thread::sleep_for(
        std::chrono::microseconds((bits >> 8) % (bits / 4 % 50 == 0 ? 5000 : 200)));
}

bool Saboteur::hits(Edit edit, Stream stream, EventHandle event) {
  std::lock_guard lock(mutex);
  int device = currentDevice();
  Site site{edit, device, counts[{edit, device}]++};
  if (edit == Edit::record)
    records[event] = ++lastRecord;
  auto record = records.find(event);
  calls[site] = {stream, record == records.end() ? 0 : record->second};
  return wrong == site;
}

void Saboteur::hold(std::function<void()> call) {
  std::lock_guard lock(mutex);
  held[currentDevice()] = std::move(call);
}

/// Behind every call that submits work or waits for some.
void Saboteur::release() {
  std::function<void()> call;
  {
    std::lock_guard lock(mutex);
    call.swap(held[currentDevice()]);
  }
  if (call)
    call();
}

/// What stands in the tables.
struct Hooks {
  static inline Saboteur &s = Saboteur::get();

  template <typename T> static T then(T result) {
    s.release();
    return result;
  }
  static Result primaryCtxRetain(Context *context, DeviceId device) {
    Result result = s.real.driver.primaryCtxRetain(context, device);
    std::lock_guard lock(s.mutex);
    if (result == Result::success)
      s.devices[*context] = int(device);
    return result;
  }
  static Result ctxSetCurrent(Context context) {
    s.enter(context);
    return s.real.driver.ctxSetCurrent(context);
  }
  static Result eventRecord(EventHandle event, Stream stream) {
    return s.hits(Edit::record, stream, event) ? Result::success
                                               : s.real.driver.eventRecord(event, stream);
  }
  static Result streamWaitEvent(Stream stream, EventHandle event, unsigned flags) {
    return s.hits(Edit::wait, stream, event) ? Result::success
                                             : s.real.driver.streamWaitEvent(stream, event, flags);
  }
  static Result streamSynchronize(Stream stream) {
    return s.hits(Edit::synchronize, stream, nullptr)
               ? Result::success
               : then(s.real.driver.streamSynchronize(stream));
  }
  static Result eventSynchronize(EventHandle event) {
    return s.hits(Edit::waitOnHost, nullptr, event) ? Result::success
                                                    : then(s.real.driver.eventSynchronize(event));
  }
  static Result memcpyHtoDAsync(DevicePtr to, const void *from, size_t bytes, Stream stream) {
    if (!s.hits(Edit::upload, stream, nullptr))
      return then(s.real.driver.memcpyHtoDAsync(to, from, bytes, stream));
    s.hold([=] { (void)s.real.driver.memcpyHtoDAsync(to, from, bytes, stream); });
    return Result::success;
  }
  static Result memcpyDtoHAsync(void *to, DevicePtr from, size_t bytes, Stream stream) {
    if (!s.hits(Edit::download, stream, nullptr))
      return then(s.real.driver.memcpyDtoHAsync(to, from, bytes, stream));
    s.hold([=] { (void)s.real.driver.memcpyDtoHAsync(to, from, bytes, stream); });
    return Result::success;
  }
  static Result launchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                             unsigned blockX, unsigned blockY, unsigned blockZ,
                             unsigned sharedBytes, Stream stream, void **parameters, void **extra) {
    return then(s.real.driver.launchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ,
                                           sharedBytes, stream, parameters, extra));
  }
  static Result graphLaunch(GraphExec graph, Stream stream) {
    return then(s.real.driver.graphLaunch(graph, stream));
  }

  static void seen(Stream stream) {
    std::lock_guard lock(s.mutex);
    s.collectiveStreams.insert(stream);
  }
  static NcclResult allReduce(const void *input, void *output, size_t count, NcclType type,
                              NcclReduce combine, NcclComm comm, Stream stream) {
    seen(stream);
    return s.real.nccl.allReduce(input, output, count, type, combine, comm, stream);
  }
  static NcclResult allGather(const void *input, void *output, size_t count, NcclType type,
                              NcclComm comm, Stream stream) {
    seen(stream);
    return s.real.nccl.allGather(input, output, count, type, comm, stream);
  }
  static NcclResult reduceScatter(const void *input, void *output, size_t count, NcclType type,
                                  NcclReduce combine, NcclComm comm, Stream stream) {
    seen(stream);
    return s.real.nccl.reduceScatter(input, output, count, type, combine, comm, stream);
  }
  static NcclResult send(const void *input, size_t count, NcclType type, int peer, NcclComm comm,
                         Stream stream) {
    seen(stream);
    return s.real.nccl.send(input, count, type, peer, comm, stream);
  }
};

std::shared_ptr<const CudaApi> Saboteur::wrap(const CudaApi &tables) {
  real = tables;
  auto api = std::make_shared<CudaApi>(tables);
  DriverApi &driver = api->driver;
  driver.primaryCtxRetain = Hooks::primaryCtxRetain;
  driver.ctxSetCurrent = Hooks::ctxSetCurrent;
  driver.eventRecord = Hooks::eventRecord;
  driver.streamWaitEvent = Hooks::streamWaitEvent;
  driver.streamSynchronize = Hooks::streamSynchronize;
  driver.eventSynchronize = Hooks::eventSynchronize;
  driver.memcpyHtoDAsync = Hooks::memcpyHtoDAsync;
  driver.memcpyDtoHAsync = Hooks::memcpyDtoHAsync;
  driver.launchKernel = Hooks::launchKernel;
  driver.graphLaunch = Hooks::graphLaunch;
  api->nccl.allReduce = Hooks::allReduce;
  api->nccl.allGather = Hooks::allGather;
  api->nccl.reduceScatter = Hooks::reduceScatter;
  api->nccl.send = Hooks::send;
  return api;
}

} // namespace minigptc::runtime::cuda::test
